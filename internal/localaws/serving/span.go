package serving

import (
	"slices"
	"time"
)

// Span is the time from From until just before To.
type Span struct{ From, To time.Time }

func (s Span) empty() bool { return !s.From.Before(s.To) }

// Spans are in the order of time, and neither overlap nor touch.
type Spans []Span

// Unite returns the spans in which any of the given ones is.
func Unite(all ...Span) Spans {
	sorted := slices.DeleteFunc(slices.Clone(all), Span.empty)
	slices.SortFunc(sorted, func(a, b Span) int { return a.From.Compare(b.From) })

	var united Spans

	for _, next := range sorted {
		last := len(united) - 1

		switch {
		case last < 0 || next.From.After(united[last].To):
			united = append(united, next)
		case next.To.After(united[last].To):
			united[last].To = next.To
		}
	}

	return united
}

// Contains reports whether a moment is in one of the spans.
func (s Spans) Contains(moment time.Time) bool {
	return slices.ContainsFunc(s, func(one Span) bool { return !moment.Before(one.From) && moment.Before(one.To) })
}

// Without returns what of s is in none of the others.
func (s Spans) Without(others Spans) Spans {
	var left Spans

	for _, one := range s {
		for _, other := range others {
			if !other.To.After(one.From) || !other.From.Before(one.To) {
				continue
			}

			if before := (Span{one.From, other.From}); !before.empty() {
				left = append(left, before)
			}

			one.From = other.To
		}

		if !one.empty() {
			left = append(left, one)
		}
	}

	return left
}
