package registry_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func changeCases() map[string]func(*testing.T, registrytest.Open) {
	return map[string]func(*testing.T, registrytest.Open){
		"change/begins":                  testChangeBegins,
		"change/is kept and removed":     testChangeIsKept,
		"change/late begin":              testLateBegin,
		"change/late settlement":         testLateSettlement,
		"change/answers":                 testAnswers,
		"settle/part of the way":         testSettlePartial,
		"settle/part of the way, moved":  testSettlePartialMoved,
		"settle/what waits for approval": testSettlePending,
		"settle/what is due":             testSettleDue,
	}
}

func building() *tenant.Change {
	return &tenant.Change{
		ID: "change-1", Stage: tenant.StageBuilding,
		Other: tenant.Applied{
			Spec:       tenant.Spec{Phase: tenant.PhaseActive, Tier: "pool", Parameters: tenant.Parameters{"size": json.RawMessage("1")}},
			Blueprint:  tenant.Blueprint{Program: "pool", Parameters: tenant.Parameters{"size": json.RawMessage("1")}},
			Generation: 2,
		},
		Outputs: map[string]json.RawMessage{"endpoint": json.RawMessage(`"new"`)},
		Tokens:  []string{tenant.TokenDigest("token")},
	}
}

// baking has the times that a change can have, which must come back as they were.
func baking() *tenant.Change {
	c := building()
	c.Stage, c.Until, c.Deadline = tenant.StageBaking, start().Add(time.Hour), start().Add(time.Minute)

	return c
}

func testChangeBegins(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	stack := tenant.Stack{Project: "p", Name: "n", Shard: "s", Generation: 2}

	require.NoError(t, w.Begin(t.Context(), acme, token, registry.Beginning{Round: 1, Stack: stack, Change: building()}))
	require.Equal(t, stack, w.get(t).Stack)
	require.Equal(t, building(), w.get(t).Change)

	require.NoError(t, w.Begin(t.Context(), acme, token, registry.Beginning{Round: 1, Stack: stack, Progress: &tenant.Progress{OperationID: "op-1", Step: "up"}}))
	require.Nil(t, w.get(t).Change)
	require.Equal(t, &tenant.Progress{OperationID: "op-1", Step: "up"}, w.get(t).Progress)
}

func testChangeIsKept(t *testing.T, open registrytest.Open) {
	t.Helper()

	for name, settlement := range map[string]func(int64, string) registry.Settlement{
		"success": success, "failure": failure, "gave up": gaveUp,
	} {
		w, token := working(t, open)
		w.accept(t, updated(2, "1"))

		s := settlement(1, "op-1")
		s.Change = baking()

		settled, err := w.Settle(t.Context(), acme, token, s)
		require.NoError(t, err, name)
		require.Equal(t, baking(), settled.Record.Change, name)

		settled, err = w.Settle(t.Context(), acme, token, success(2, "op-2"))
		require.NoError(t, err, name)
		require.Nil(t, settled.Record.Change, name)
	}
}

// The network may repeat a write whose answer was lost.
func testLateBegin(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	w.accept(t, updated(2, "1"))

	s := success(1, "op-1")
	s.Change = baking()

	_, err := w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)

	late := registry.Beginning{Round: s.Round, Stack: s.Stack, Change: building()}
	require.ErrorIs(t, w.Begin(t.Context(), acme, token, late), registry.ErrLeaseLost)
	require.Equal(t, baking(), w.get(t).Change)

	late.Round++
	require.NoError(t, w.Begin(t.Context(), acme, token, late), "the next round begins")
	require.Equal(t, building(), w.get(t).Change)
}

func testLateSettlement(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	w.accept(t, updated(2, "1"))

	first := failure(1, "op-1")
	first.Change = building()

	_, err := w.Settle(t.Context(), acme, token, first)
	require.NoError(t, err)

	w.accept(t, updated(3, "2"))

	second := success(2, "op-2")
	second.Change = baking()

	_, err = w.Settle(t.Context(), acme, token, second)
	require.NoError(t, err)

	_, err = w.Settle(t.Context(), acme, token, first)
	require.Error(t, err)
	require.Equal(t, baking(), w.get(t).Change)
	require.Equal(t, "op-2", w.get(t).Last.OperationID)
}

// Answers to what nobody asked change nothing, whoever sends them.
func testAnswers(t *testing.T, open registrytest.Open) {
	t.Helper()

	confirmed := tenant.Event{ID: "c", Type: tenant.EventCutoverConfirmed, Tenant: acme, Version: version(5), Token: "token"}
	approved := tenant.Event{ID: "a", Type: tenant.EventApproved, Tenant: acme, Version: version(6), Operation: "op-1"}
	guess, another := confirmed, approved
	guess.Token, another.Operation = "guess", "op-0"

	w, token := working(t, open)

	for _, e := range []tenant.Event{confirmed, approved} {
		rec, changed, err := w.Accept(t.Context(), e)
		require.NoError(t, err)
		require.False(t, changed, "nobody asked")
		require.Equal(t, w.get(t), rec)
	}

	s := failure(1, "op-1")
	s.Change, s.Pending = building(), &tenant.Pending{Operation: "op-1"}

	_, err := w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)

	for _, e := range []tenant.Event{guess, another, confirmed, approved, confirmed, approved} {
		before := w.get(t).DesiredSeq

		_, changed, err := w.Accept(t.Context(), e)
		require.NoError(t, err)

		first := e.Token == "token" && before == 1 || e.Operation == "op-1" && before == 2
		require.Equal(t, first, changed, "%v", e)
	}

	desired := w.get(t).Desired
	require.Contains(t, desired.Confirmations, tenant.TokenDigest("token"))
	require.Equal(t, "op-1", desired.Approval.Value.Operation)
}

func partial(target int64, id string) registry.Settlement {
	s := success(target, id)
	s.Partial, s.NotBefore = true, start().Add(time.Hour)

	return s
}

func testSettlePartial(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	s := partial(1, "op-1")

	settled, err := w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)
	require.True(t, settled.Released)

	rec := settled.Record
	requireFree(t, rec)
	require.True(t, rec.NeedsWork(), "more is to be done")
	require.Equal(t, rec.DesiredSeq-1, rec.AppliedSeq)
	require.Equal(t, s.Applied, rec.Applied)
	require.Equal(t, s.Outputs, rec.Outputs)
	require.Equal(t, s.NotBefore, rec.NotBefore)
	require.Zero(t, rec.Attempts)
	require.Empty(t, rec.Unpublished, "it is no result yet")
	require.Equal(t, rec.Fence, rec.CleanFence)
}

func testSettlePartialMoved(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	w.accept(t, updated(2, "1"))

	settled, err := w.Settle(t.Context(), acme, token, partial(1, "op-1"))
	require.NoError(t, err)
	require.False(t, settled.Released)
	require.True(t, settled.Record.NotBefore.IsZero(), "the change has nothing to wait for")
	require.NotNil(t, settled.Record.Applied)
	require.Zero(t, settled.Record.AppliedSeq)
}

func testSettlePending(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	s := gaveUp(1, "op-1")
	s.Pending = &tenant.Pending{
		Operation: "op-1", Sequence: 1, Digest: "d", At: start(), Report: []tenant.Difference{{Type: "t", Name: "n", Action: "delete"}},
	}

	settled, err := w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)
	require.Equal(t, s.Pending, settled.Record.Pending)
	require.Equal(t, settled.Record, w.get(t))

	w.accept(t, updated(2, "1"))

	settled, err = w.Settle(t.Context(), acme, w.acquire(t), success(2, "op-2"))
	require.NoError(t, err)
	require.Nil(t, settled.Record.Pending)
}

func testSettleDue(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	w.accept(t, updated(2, "1"))

	s := success(1, "op-1")
	s.DueAt = start().Add(time.Hour)

	_, err := w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)

	require.NoError(t, w.Survey(t.Context(), func(rec tenant.Record) bool {
		require.Equal(t, s.DueAt, rec.DueAt, "the sweep sees it")

		return true
	}))

	settled, err := w.Settle(t.Context(), acme, token, success(2, "op-2"))
	require.NoError(t, err)
	require.True(t, settled.Record.DueAt.IsZero())
}
