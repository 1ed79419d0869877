package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/test/bench/bed"
)

func TestWhereTheTimeGoes(t *testing.T) {
	t.Parallel()

	spent := timeSpent{}
	spent.add(bare, underLoad, []bed.Line{
		{Tenant: "a", Phases: map[string]float64{"cli_start": 300, "engine": 100}},
		{Tenant: "b", Phases: map[string]float64{"cli_start": 500, "engine": 100}},
		{Tenant: "a", Phases: map[string]float64{"cli_start": 25, "engine": 75}},
	})

	created := alike{program: bare, action: create, condition: underLoad}
	changed := alike{program: bare, action: update, condition: underLoad}

	took, share := spent.of(created, phase.CLIStart)
	require.Equal(t, []float64{0.3, 0.5}, took.Values, "in seconds, of the first operation of each tenant")
	require.InDelta(t, 0.8, share, 1e-9, "of all that these took together")

	took, share = spent.of(changed, phase.Engine)
	require.Equal(t, []float64{0.075}, took.Values)
	require.InDelta(t, 0.75, share, 1e-9)

	largest, share := spent.largest(created)
	require.Equal(t, phase.CLIStart, largest)
	require.InDelta(t, 0.8, share, 1e-9)

	require.Equal(t,
		"The largest part is `cli_start` in 1 of 2 columns, with 80 %, and `engine` in 1 of 2 columns, with 75 % of the time.",
		spent.verdict([]alike{created, changed}))
}
