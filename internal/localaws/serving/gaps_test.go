package serving_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/internal/localaws/serving"
)

// horizon is how many seconds the made-up histories have.
const horizon = 24

func at(second int) time.Time { return time.Unix(int64(second), 0).UTC() }

func span(from, to int) serving.Span { return serving.Span{From: at(from), To: at(to)} }

// spans are any, empty and backward ones too.
func spans() *rapid.Generator[[]serving.Span] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) serving.Span {
		return span(rapid.IntRange(0, horizon).Draw(t, "from"), rapid.IntRange(0, horizon).Draw(t, "to"))
	}), 0, 6)
}

// within is the plain meaning of a list of spans.
func within(all []serving.Span, second int) bool {
	for _, one := range all {
		if !at(second).Before(one.From) && at(second).Before(one.To) {
			return true
		}
	}

	return false
}

func requireOrdered(t require.TestingT, all serving.Spans) {
	for i, one := range all {
		require.True(t, one.From.Before(one.To), "%v", all)
		require.True(t, i == 0 || all[i-1].To.Before(one.From), "%v", all)
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		one, other := spans().Draw(t, "one"), spans().Draw(t, "other")
		united, left := serving.Unite(one...), serving.Unite(one...).Without(serving.Unite(other...))
		requireOrdered(t, united)
		requireOrdered(t, left)

		for second := range horizon + 1 {
			require.Equal(t, within(one, second), united.Contains(at(second)), "%d of %v", second, united)
			require.Equal(t, within(one, second) && !within(other, second), left.Contains(at(second)), "%d of %v", second, left)
		}
	})
}

func TestSpansThatTouchAreOne(t *testing.T) {
	t.Parallel()
	require.Equal(t, serving.Spans{span(1, 3), span(4, 5)}, serving.Unite(span(4, 5), span(2, 3), span(1, 2), span(7, 7)))
}

// A moment is in a gap exactly if it is asked about, and outputs that someone may
// have read then name something that does not serve, or nothing.
func TestGaps(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		during := span(rapid.IntRange(0, horizon).Draw(t, "start"), rapid.IntRange(0, horizon).Draw(t, "end"))
		served := map[string]serving.Spans{
			"old": serving.Unite(spans().Draw(t, "old")...), "new": serving.Unite(spans().Draw(t, "new")...),
		}

		var named []serving.Naming

		for _, topology := range []string{"old", "new", "unheard-of"} {
			for _, one := range spans().Draw(t, "named "+topology) {
				named = append(named, serving.Naming{Span: one, Topology: topology})
			}
		}

		gaps := serving.Gaps(during, named, served)

		for i, gap := range gaps {
			require.True(t, gap.From.Before(gap.To))
			require.True(t, i == 0 || !gap.From.Before(gaps[i-1].From), "in the order of time: %v", gaps)
		}

		for second := range horizon + 1 {
			want, nobody := map[string]bool{}, true

			for _, naming := range named {
				if within([]serving.Span{naming.Span}, second) {
					nobody = false
					want[naming.Topology] = want[naming.Topology] || !served[naming.Topology].Contains(at(second))
				}
			}

			want[""] = nobody

			for _, topology := range []string{"old", "new", "unheard-of", ""} {
				var found []serving.Span

				for _, gap := range gaps {
					if gap.Topology == topology {
						found = append(found, gap.Span)
					}
				}

				require.Equal(t, within([]serving.Span{during}, second) && want[topology], within(found, second),
					"%q at %d: %v", topology, second, gaps)
			}
		}
	})
}

// Each row is a tier change: when the old topology served until, the new one from,
// and when the outputs switched.
func TestGapsOfATierChange(t *testing.T) {
	t.Parallel()

	const start, end = 0, 20

	for name, tc := range map[string]struct {
		oldUntil, newFrom, asked, done int
		want                           []serving.Gap
	}{
		"make before break":            {15, 5, 8, 10, nil},
		"at the very moments":          {10, 8, 8, 10, nil},
		"old gone during the switch":   {9, 5, 8, 10, []serving.Gap{{Span: span(9, 10), Topology: "old"}}},
		"new late for the switch":      {15, 9, 8, 10, []serving.Gap{{Span: span(8, 9), Topology: "new"}}},
		"break before make":            {6, 9, 10, 11, []serving.Gap{{Span: span(6, 11), Topology: "old"}}},
		"switched before it was ready": {15, 14, 8, 10, []serving.Gap{{Span: span(8, 14), Topology: "new"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			named := []serving.Naming{{Span: span(start, tc.done), Topology: "old"}, {Span: span(tc.asked, end), Topology: "new"}}
			served := map[string]serving.Spans{
				"old": serving.Unite(span(start, tc.oldUntil)), "new": serving.Unite(span(tc.newFrom, end)),
			}
			require.Equal(t, tc.want, serving.Gaps(span(start, end), named, served))
		})
	}
}
