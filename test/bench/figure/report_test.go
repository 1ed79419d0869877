package figure_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/test/bench/figure"
)

func TestGoals(t *testing.T) {
	t.Parallel()

	one, mixed, slow := figure.Counted(1, 1), figure.Counted(1, 1, 2), figure.Of(figure.Ratio, 0.2, 0.24, 0.9)

	cases := []struct {
		name         string
		goal         figure.Goal
		met, counted bool
		limit        string
	}{
		{name: "every count is within", goal: figure.AtMost("processes", one, 1), met: true, counted: true, limit: "≤ 1"},
		{name: "one count is not", goal: figure.AtMost("processes", mixed, 1), counted: true, limit: "≤ 1"},
		{name: "nothing was counted", goal: figure.AtMost("processes", figure.Sample{}, 1), counted: true, limit: "≤ 1"},
		{name: "the median is within", goal: figure.Typically("ratio", slow, 0.25), met: true, limit: "≤ 0.25"},
		{name: "the median is not", goal: figure.Typically("ratio", slow, 0.23), limit: "≤ 0.23"},
		{name: "nothing was measured", goal: figure.Typically("ratio", figure.Sample{Unit: figure.Ratio}, 0.23), limit: "≤ 0.23"},
	}

	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, c.met, c.goal.Met)
			require.Equal(t, c.counted, c.goal.Counted)
			require.Equal(t, c.limit, c.goal.Limit)
		})
	}
}

func TestReport(t *testing.T) {
	t.Parallel()

	table := figure.Table{Columns: []string{"what", "plain", "lessor"}, Note: "as it is"}
	table.Row("create", figure.Counted(8), figure.Counted(2))

	late := figure.Typically("ratio", figure.Of(figure.Ratio, 0.3), 0.25)
	late.Why = "The CLI starts for that long."

	r := figure.Report{
		Command: "make bench", Machine: "two processors", Revision: "abc", Took: "1m0s", Date: "2026-01-02",
		Goals:    []figure.Goal{figure.AtMost("processes", figure.Counted(1), 1), late},
		Sections: []figure.Section{{Title: "One operation", Text: "\nBoth do the same.\n", Tables: []figure.Table{table}}},
	}
	require.Empty(t, r.Missed(), "a time fails no build")

	var b strings.Builder

	n, err := r.WriteTo(&b)
	require.NoError(t, err)
	require.Equal(t, int64(b.Len()), n)

	text := b.String()
	for _, part := range []string{
		"`make bench` on 2026-01-02, in 1m0s", "Revision abc, on two processors",
		"| processes | ≤ 1 | 1 | reached |", "| ratio | ≤ 0.25 | 0.30 | **falls short** |", "**ratio**: The CLI starts for that long.",
		"## One operation\n\nBoth do the same.\n\n| what | plain | lessor |\n| --- | --: | --: |\n| create | 8 | 2 |\n\nas it is\n",
	} {
		require.Contains(t, text, part)
	}

	r.Goals = append(r.Goals, figure.AtMost("requests", figure.Counted(9), 8))
	require.Len(t, r.Missed(), 1)
	require.Equal(t, "requests", r.Missed()[0].What)

	_, err = r.WriteTo(full{})
	require.ErrorIs(t, err, errFull)
}

var errFull = errors.New("no space left")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
