package registry_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func historyCases() map[string]func(*testing.T, registrytest.Open) {
	return map[string]func(*testing.T, registrytest.Open){
		"history/every end":    testHistory,
		"history/bounds":       testHistoryBounds,
		"history/absurd types": testAbsurdTypes,
	}
}

// The row remembers what came before, however an operation ends and whoever
// records it.
func testHistory(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	require.Empty(t, w.get(t).History)

	settle := func(round int, s registry.Settlement) registry.Settled {
		s.Round, s.History = round, w.get(t).History
		settled, err := w.Settle(t.Context(), acme, token, s)
		require.NoError(t, err)
		require.Equal(t, s.Outcome.OperationID, settled.Record.History[0].OperationID)

		again, err := w.Settle(t.Context(), acme, token, s)
		require.NoError(t, err)
		require.Equal(t, settled.Record.History, again.Record.History, "once more is not twice")

		return settled
	}

	w.accept(t, updated(2, `1`))
	require.False(t, settle(1, success(1, "op-1")).Released)
	require.True(t, settle(2, failure(2, "op-2")).Released)

	token = w.acquire(t)
	settled := settle(1, gaveUp(2, "op-3"))

	want := []tenant.Past{
		tenant.PastOf(gaveUp(2, "op-3").Outcome), tenant.PastOf(failure(2, "op-2").Outcome), tenant.PastOf(success(1, "op-1").Outcome),
	}
	require.Equal(t, want, settled.Record.History)
	require.Equal(t, want, w.get(t).History)
	require.Equal(t, tenant.KindTransient, want[0].Kind)
}

func testHistoryBounds(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	s := success(1, "op-0")

	for i := range 2 * tenant.MaxHistory {
		o := operation("op-" + strconv.Itoa(i))
		s.History = tenant.Remember(s.History, o)
	}

	settled, err := w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)
	require.Len(t, settled.Record.History, tenant.MaxHistory)

	// Operations that take much room are fewer.
	for i := range s.History {
		for range 200 {
			s.History[i].Steps = append(s.History[i].Steps, "up")
		}
	}

	w.accept(t, updated(2, `1`))

	token = w.acquire(t)
	s.Target, s.Outcome.OperationID = 2, "op-newest"

	settled, err = w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)
	require.Equal(t, "op-newest", settled.Record.History[0].OperationID)
	require.Greater(t, len(settled.Record.History), 1)
	require.Less(t, len(settled.Record.History), tenant.MaxHistory)
}

// Types are bounded by what the engine tells apart, but not their names.
func testAbsurdTypes(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	s := success(1, "op-1")
	s.Outcome.Types = map[string]int{"aws:ec2/vpc:Vpc": 2}

	settled, err := w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)
	require.Equal(t, s.Outcome.Types, settled.Record.Last.Types)

	w.accept(t, updated(2, `1`))

	token = w.acquire(t)
	s.Target, s.Outcome.OperationID = 2, "op-2"
	s.Outcome.Types = map[string]int{"test:" + strings.Repeat("x", 17<<10): 2}
	s.Outcome.Orphans = []string{"arn:aws:ec2:eu-west-1:123456789012:vpc/vpc-1"}

	settled, err = w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)
	require.Empty(t, settled.Record.Last.Types)
	require.Equal(t, "op-2", settled.Record.Last.OperationID)
}
