package engine_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
)

func TestCountTypes(t *testing.T) {
	t.Parallel()

	const vpc, queue = "aws:ec2/vpc:Vpc", "aws:sqs/queue:Queue"

	require.Empty(t, engine.CountTypes(nil))
	require.Equal(t, map[string]int{vpc: 2, queue: 1}, engine.CountTypes(map[string]bool{
		urnPrefix + vpc + "::a": true, "urn:pulumi:acme::lessor::" + vpc + "::b": true, urnPrefix + queue + "::a": true,
	}))
}

func TestCountTypesIsBounded(t *testing.T) {
	t.Parallel()

	// The n-th of 43 types has n resources.
	const types, kept = 43, 40

	present := map[string]bool{}

	for n := 1; n <= types; n++ {
		for i := range n {
			present[fmt.Sprintf("%stest:index:T%02d::%d", urnPrefix, n, i)] = true
		}
	}

	got := engine.CountTypes(present)
	require.Len(t, got, kept+1)
	require.Equal(t, 1+2+3, got["other"], "the rarest")
	require.NotContains(t, got, "test:index:T03")
	require.Equal(t, 4, got["test:index:T04"])
	require.Equal(t, types, got["test:index:T43"])

	for range 10 { // Maps have no order; the count has.
		require.Equal(t, got, engine.CountTypes(present))
	}

	for i := range 3 {
		delete(present, fmt.Sprintf("%stest:index:T03::%d", urnPrefix, i))
	}

	delete(present, urnPrefix+"test:index:T02::0")
	delete(present, urnPrefix+"test:index:T02::1")
	delete(present, urnPrefix+"test:index:T01::0")
	require.Len(t, engine.CountTypes(present), kept)
	require.NotContains(t, engine.CountTypes(present), "other", "as many as are told apart")
}
