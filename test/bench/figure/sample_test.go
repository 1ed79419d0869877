package figure_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/test/bench/figure"
)

func TestQuantiles(t *testing.T) {
	t.Parallel()

	cases := []struct {
		name        string
		values      []float64
		median, p95 float64
		worst       float64
	}{
		{name: "nothing"},
		{name: "one", values: []float64{3}, median: 3, p95: 3, worst: 3},
		{name: "two", values: []float64{4, 2}, median: 3, p95: 3.9, worst: 4},
		{name: "unsorted", values: []float64{5, 1, 4, 2, 3}, median: 3, p95: 4.8, worst: 5},
	}

	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			s := figure.Of(figure.Count, c.values...)
			require.InDelta(t, c.median, s.Median(), 1e-9)
			require.InDelta(t, c.p95, s.Quantile(0.95), 1e-9)
			require.InDelta(t, c.worst, s.Worst(), 1e-9)
		})
	}
}

func TestASampleIsReadByPeople(t *testing.T) {
	t.Parallel()

	const mebibyte = 1 << 20

	cases := []struct {
		sample figure.Sample
		want   string
	}{
		{sample: figure.Sample{}, want: "–"},
		{sample: figure.Counted(7, 7), want: "7"},
		{sample: figure.Counted(7, 9, 8), want: "8 (7–9)"},
		{sample: figure.Of(figure.Count, 8, 9), want: "8.50 (8–9)"},
		{sample: figure.Took(354*time.Millisecond, 263*time.Millisecond, 454*time.Millisecond), want: "354 ms (263–454)"},
		{sample: figure.Took(1300*time.Millisecond, 900*time.Millisecond, 15*time.Second), want: "1.30 s (0.90–15)"},
		{sample: figure.Took(12500 * time.Nanosecond), want: "12.5 µs"},
		{sample: figure.Of(figure.Bytes, 105.4*mebibyte, 138*mebibyte, 104*mebibyte), want: "105 MiB (104–138)"},
		{sample: figure.Of(figure.Bytes, 105.4*mebibyte, 105.3*mebibyte), want: "105 MiB"},
		{sample: figure.Of(figure.PerSecond, 1234.5), want: "1234 /s"},
		{sample: figure.Of(figure.PerMinute, 55.5), want: "55.5 /min"},
		{sample: figure.Of(figure.Ratio, 0.2345), want: "0.23"},
		{sample: figure.Of(figure.Percent, 0.425), want: "42 %"},
	}

	for _, c := range cases {
		require.Equal(t, c.want, c.sample.String())
	}
}

func TestRatiosAreOfMedians(t *testing.T) {
	t.Parallel()

	ours, plain := figure.Took(time.Second, 2*time.Second, time.Minute), figure.Took(8*time.Second, 7*time.Second, 9*time.Second)
	require.InDelta(t, 0.25, ours.Over(plain), 1e-9)
	require.Zero(t, ours.Over(figure.Sample{}), "there is nothing to compare with")
}
