package figure

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unit says what the values of a sample are and how people read them.
type Unit int

const (
	// Count is a number of things.
	Count Unit = iota
	// Seconds are times.
	Seconds
	// Bytes are sizes.
	Bytes
	// PerSecond is a rate.
	PerSecond
	// PerMinute is a rate.
	PerMinute
	// Ratio is one figure divided by another.
	Ratio
	// Percent is a share, from 0 to 1.
	Percent
)

// Sample is one figure, measured as often as it has values.
//
//nolint:recvcheck // it is a value, but for Add
type Sample struct {
	Unit   Unit
	Values []float64
}

// Of makes a sample of values.
func Of(unit Unit, values ...float64) Sample { return Sample{Unit: unit, Values: values} }

// Counted makes a sample of counts.
func Counted[N ~int | ~int64](values ...N) Sample {
	s := Sample{Unit: Count}
	for _, v := range values {
		s.Values = append(s.Values, float64(v))
	}

	return s
}

// Took makes a sample of times.
func Took(times ...time.Duration) Sample {
	s := Sample{Unit: Seconds}
	for _, t := range times {
		s.Values = append(s.Values, t.Seconds())
	}

	return s
}

// Add measures once more.
func (s *Sample) Add(value float64) { s.Values = append(s.Values, value) }

// Median is the middle value, 0 if nothing was measured.
func (s Sample) Median() float64 { return s.Quantile(0.5) } //nolint:mnd // the definition of a median

// Quantile is the value that a share of q of all are not above, between two of
// them by their distance.
func (s Sample) Quantile(q float64) float64 {
	if len(s.Values) == 0 {
		return 0
	}

	sorted := slices.Sorted(slices.Values(s.Values))
	at := q * float64(len(sorted)-1)
	below := int(math.Floor(at))
	above := min(below+1, len(sorted)-1)

	return sorted[below] + (at-float64(below))*(sorted[above]-sorted[below])
}

// Worst is the highest value.
func (s Sample) Worst() float64 {
	if len(s.Values) == 0 {
		return 0
	}

	return slices.Max(s.Values)
}

// Over divides the medians. It is 0 where there is nothing to divide by.
func (s Sample) Over(other Sample) float64 {
	if other.Median() == 0 {
		return 0
	}

	return s.Median() / other.Median()
}

// String is the median, and the spread where values differ by what is shown.
func (s Sample) String() string {
	if len(s.Values) == 0 {
		return "–"
	}

	median := s.Unit.Format(s.Median())
	low, high := s.Unit.number(slices.Min(s.Values), s.Median()), s.Unit.number(slices.Max(s.Values), s.Median())

	if low == high {
		return median
	}

	return fmt.Sprintf("%s (%s–%s)", median, low, high)
}

// Format shows one value with its unit.
func (u Unit) Format(value float64) string {
	return strings.TrimSpace(u.number(value, value) + " " + u.symbol(value))
}

const (
	second      = 1.0
	millisecond = 1e-3
	mebibyte    = 1 << 20
	// whole is from where on a fraction is of no interest.
	whole   = 100
	percent = 100
)

// number shows a value as beside one of the size of like.
func (u Unit) number(value, like float64) string {
	switch u {
	case Seconds:
		switch {
		case like >= second:
			return digits(value)
		case like >= millisecond:
			return digits(value / millisecond)
		default:
			return digits(value / (millisecond * millisecond))
		}
	case Bytes:
		return digits(value / mebibyte)
	case Percent:
		return strconv.FormatFloat(value*percent, 'f', 0, 64)
	case Count, PerSecond, PerMinute, Ratio:
	}

	return digits(value)
}

func (u Unit) symbol(like float64) string {
	switch u {
	case Seconds:
		switch {
		case like >= second:
			return "s"
		case like >= millisecond:
			return "ms"
		default:
			return "µs"
		}
	case Bytes:
		return "MiB"
	case PerSecond:
		return "/s"
	case PerMinute:
		return "/min"
	case Percent:
		return "%"
	case Count, Ratio:
	}

	return ""
}

// digits shows three digits that count, and no zeros that do not.
func digits(value float64) string {
	switch size := math.Abs(value); {
	case size >= whole || value == math.Trunc(value):
		return strconv.FormatFloat(value, 'f', 0, 64)
	case size >= whole/10:
		return strconv.FormatFloat(value, 'f', 1, 64)
	default:
		return strconv.FormatFloat(value, 'f', 2, 64)
	}
}
