package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/test/bench/figure"
)

func TestBenchmarksAreRead(t *testing.T) {
	t.Parallel()

	const out = `goos: linux
goarch: amd64
pkg: github.com/lessor-dev/lessor/pkg/engine/stategate
cpu: some
BenchmarkGate/put/37KB-2         	     234	    541641 ns/op	  160104 B/op	     661 allocs/op
BenchmarkGate/lock-held-16       	 1000000	        54.36 ns/op	       0 B/op	       0 allocs/op
BenchmarkBroken
PASS
ok  	github.com/lessor-dev/lessor/pkg/engine/stategate	1.2s
pkg: github.com/lessor-dev/lessor/infra/catalog
BenchmarkResolve 	 100	 1000 ns/op	 66.6 MB/s	 2 B/op	 3 allocs/op
`

	want := []hotResult{
		{
			name: "engine/stategate Gate/put/37KB", time: figure.Of(figure.Seconds, 541641e-9),
			bytes: figure.Of(figure.Count, 160104), allocations: figure.Of(figure.Count, 661),
		},
		{
			name: "engine/stategate Gate/lock-held", time: figure.Of(figure.Seconds, 54.36e-9),
			bytes: figure.Of(figure.Count, 0), allocations: figure.Of(figure.Count, 0),
		},
		{
			name: "infra/catalog Resolve", time: figure.Of(figure.Seconds, 1000e-9),
			bytes: figure.Of(figure.Count, 2), allocations: figure.Of(figure.Count, 3),
		},
	}
	require.Equal(t, want, hotResults([]byte(out)))
}

func TestScenariosAreChosenByName(t *testing.T) {
	t.Parallel()

	names := func(all []scenario) []string {
		names := make([]string, 0, len(all))
		for _, s := range all {
			names = append(names, s.name)
		}

		return names
	}

	all := scenarios()

	chosen, err := choose(all, options{})
	require.NoError(t, err)
	require.Equal(t, names(all), names(chosen))

	chosen, err = choose(all, options{only: "resume,operation"})
	require.NoError(t, err)
	require.Equal(t, []string{"operation", "resume"}, names(chosen), "in the order of the report")

	chosen, err = choose(all, options{short: true})
	require.NoError(t, err)
	require.NotEmpty(t, chosen)

	for _, s := range chosen {
		require.NotNil(t, s.check, "%s has nothing to count", s.name)
	}

	_, err = choose(all, options{only: "operation,speed"})
	require.ErrorIs(t, err, errUnknown)
	require.ErrorContains(t, err, `"speed"`)

	_, err = choose(all, options{only: "resume", short: true})
	require.ErrorIs(t, err, errNothing, "it has no counts")
}
