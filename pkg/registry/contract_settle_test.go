package registry_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func settleCases() map[string]func(*testing.T, registrytest.Open) {
	return map[string]func(*testing.T, registrytest.Open){
		"settle/success":                testSettleSuccess,
		"settle/outputs are replaced":   testSettleReplacesOutputs,
		"settle/failure":                testSettleFailure,
		"settle/retry":                  testSettleRetry,
		"settle/retry that is told":     testSettleTold,
		"settle/retry at once":          testSettleRetryAtOnce,
		"settle/unclean":                testSettleUnclean,
		"settle/moved on":               testSettleMoved,
		"settle/gave up but moved on":   testSettleGaveUpMoved,
		"settle/retry but moved on":     testSettleRetryMoved,
		"settle/already there":          testSettleTwice,
		"settle/already recorded alone": testSettleTwiceAlone,
		"settle/lost":                   testSettleLost,
		"settle/never goes back":        testSettleNeverGoesBack,
		"settle/largest row":            testSettleLargestRow,
		"settle/published":              testPublished,
	}
}

func testSettleSuccess(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	require.NoError(t, w.Progress(t.Context(), acme, token, tenant.Progress{OperationID: "op-1", Done: 1}))

	w.now = start().Add(time.Hour)
	s := success(1, "op-1")
	settled, err := w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)
	require.True(t, settled.Released)

	rec := settled.Record
	require.Equal(t, w.get(t), rec)
	requireFree(t, rec)
	require.Nil(t, rec.Progress)
	require.False(t, rec.NeedsWork())
	require.Equal(t, int64(1), rec.AppliedSeq)
	require.Zero(t, rec.FailedSeq)
	require.Equal(t, s.Applied, rec.Applied)
	require.Equal(t, s.Outputs, rec.Outputs)
	require.Equal(t, s.Stack, rec.Stack)
	require.Equal(t, s.Outcome, *rec.Last)
	require.Equal(t, "op-1", rec.Unpublished)
	require.Equal(t, int64(1), rec.Fence, "the fence stays")
	require.Equal(t, int64(1), rec.CleanFence)
	require.Zero(t, rec.Attempts)
	require.Equal(t, w.now, rec.UpdatedAt)
}

func testSettleReplacesOutputs(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	_, err := w.Settle(t.Context(), acme, token, success(1, "op-1"))
	require.NoError(t, err)

	w.accept(t, updated(2, `1`))
	token = w.acquire(t)

	settled, err := w.Settle(t.Context(), acme, token, gaveUp(2, "op-2"))
	require.NoError(t, err)
	require.Contains(t, settled.Record.Outputs, "endpoint", "a failure leaves what stands")
	require.NotNil(t, settled.Record.Applied)

	w.accept(t, updated(3, `1`))
	token = w.acquire(t)

	s := success(3, "op-3")
	s.Outputs = nil
	settled, err = w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)
	require.Empty(t, settled.Record.Outputs)
}

func testSettleFailure(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	settled, err := w.Settle(t.Context(), acme, token, gaveUp(1, "op-1"))
	require.NoError(t, err)
	require.True(t, settled.Released)

	rec := settled.Record
	requireFree(t, rec)
	require.False(t, rec.NeedsWork())
	require.Zero(t, rec.AppliedSeq)
	require.Equal(t, int64(1), rec.FailedSeq)
	require.Nil(t, rec.Applied)
	require.True(t, rec.NotBefore.IsZero())
	require.Equal(t, 3, rec.Attempts)
	require.Equal(t, "op-1", rec.Unpublished)
	require.True(t, rec.Stack.Created, "what a failed operation left behind is known")
	require.Equal(t, "no luck", rec.Last.Failure.Message)
}

func testSettleTold(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	s := failure(1, "op-1")
	s.Tell = true

	settled, err := w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)
	require.True(t, settled.Released)

	rec := settled.Record
	requireFree(t, rec)
	require.True(t, rec.NeedsWork(), "attempts go on")
	require.Equal(t, "op-1", rec.Unpublished)
	require.Equal(t, 3, rec.Attempts)
	require.Equal(t, start().Add(time.Minute), rec.NotBefore)
}

func testSettleRetry(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	settled, err := w.Settle(t.Context(), acme, token, failure(1, "op-1"))
	require.NoError(t, err)
	require.True(t, settled.Released)

	rec := settled.Record
	requireFree(t, rec)
	require.True(t, rec.NeedsWork())
	require.Zero(t, rec.AppliedSeq)
	require.Zero(t, rec.FailedSeq)
	require.Equal(t, 3, rec.Attempts)
	require.Equal(t, start().Add(time.Minute), rec.NotBefore)
	require.Equal(t, "op-1", rec.Last.OperationID)
	require.Empty(t, rec.Unpublished, "only ends are published")
	require.True(t, rec.Stack.Created)
}

func testSettleRetryAtOnce(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	s := failure(1, "op-1")
	s.NotBefore = time.Time{}

	settled, err := w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)
	require.True(t, settled.Record.NotBefore.IsZero())
}

func testSettleUnclean(t *testing.T, open registrytest.Open) {
	t.Helper()

	for name, s := range map[string]registry.Settlement{
		"success": success(1, "op-1"), "failure": gaveUp(1, "op-1"), "retry": failure(1, "op-1"),
	} {
		w, token := working(t, open)
		s.Clean = false

		settled, err := w.Settle(t.Context(), acme, token, s)
		require.NoError(t, err, name)
		require.Zero(t, settled.Record.CleanFence, name)
		require.Equal(t, int64(1), settled.Record.Fence, name)
	}
}

func testSettleMoved(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	w.accept(t, updated(2, `"large"`))

	settled, err := w.Settle(t.Context(), acme, token, success(1, "op-1"))
	require.NoError(t, err)
	require.False(t, settled.Released)

	rec := settled.Record
	require.Equal(t, w.get(t), rec)
	require.Equal(t, registry.Token{Owner: rec.Lease.Owner, Fence: rec.Fence}, token, "the lease is still ours")
	require.Equal(t, "message-1", rec.Lease.Message)
	require.Equal(t, int64(1), rec.AppliedSeq)
	require.Equal(t, int64(2), rec.DesiredSeq)
	require.True(t, rec.NeedsWork())
	require.Zero(t, rec.CleanFence, "only a release is clean")
	require.NotNil(t, rec.Applied)
	require.Equal(t, "op-1", rec.Unpublished)

	settled, err = w.Settle(t.Context(), acme, token, success(2, "op-2"))
	require.NoError(t, err)
	require.True(t, settled.Released)
	require.False(t, settled.Record.NeedsWork())
	require.Equal(t, int64(1), settled.Record.CleanFence)
}

// The change that came in meanwhile has all of its attempts before it.
func testSettleGaveUpMoved(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	w.accept(t, updated(2, `"large"`))

	settled, err := w.Settle(t.Context(), acme, token, gaveUp(1, "op-1"))
	require.NoError(t, err)
	require.False(t, settled.Released)
	require.Equal(t, int64(1), settled.Record.FailedSeq)
	require.True(t, settled.Record.NeedsWork())
	require.Zero(t, settled.Record.Attempts)
	require.True(t, settled.Record.NotBefore.IsZero())
}

func testSettleRetryMoved(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	w.accept(t, updated(2, `"large"`))

	settled, err := w.Settle(t.Context(), acme, token, failure(1, "op-1"))
	require.NoError(t, err)
	require.False(t, settled.Released)
	require.Equal(t, "op-1", settled.Record.Last.OperationID)
	require.Zero(t, settled.Record.FailedSeq)
	require.Zero(t, settled.Record.Attempts)
	require.True(t, settled.Record.NotBefore.IsZero(), "the change ended the backoff")
	require.NotEmpty(t, settled.Record.Lease.Owner)
}

func testSettleTwice(t *testing.T, open registrytest.Open) {
	t.Helper()

	for name, s := range map[string]registry.Settlement{
		"success": success(1, "op-1"), "failure": gaveUp(1, "op-1"), "retry": failure(1, "op-1"),
	} {
		w, token := working(t, open)
		first, err := w.Settle(t.Context(), acme, token, s)
		require.NoError(t, err, name)

		second, err := w.Settle(t.Context(), acme, token, s)
		require.NoError(t, err, name)
		require.Equal(t, first, second, name)

		// Somebody else has the lease by now, and still nothing else happened.
		w.accept(t, updated(2, `1`))
		w.acquire(t)

		third, err := w.Settle(t.Context(), acme, token, s)
		require.NoError(t, err, name)
		require.True(t, third.Released, name)
		require.Equal(t, w.get(t), third.Record, name)
	}
}

func testSettleTwiceAlone(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	w.accept(t, updated(2, `1`))

	first, err := w.Settle(t.Context(), acme, token, success(1, "op-1"))
	require.NoError(t, err)

	second, err := w.Settle(t.Context(), acme, token, success(1, "op-1"))
	require.NoError(t, err)
	require.Equal(t, first, second)
}

func testSettleLost(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	before := w.get(t)

	for name, stranger := range map[string]registry.Token{
		"other owner": {Owner: "other", Fence: token.Fence},
		"older fence": {Owner: token.Owner, Fence: token.Fence - 1},
	} {
		for _, s := range []registry.Settlement{success(1, "op"), gaveUp(1, "op"), failure(1, "op")} {
			_, err := w.Settle(t.Context(), acme, stranger, s)
			require.ErrorIs(t, err, registry.ErrLeaseLost, name)
		}

		require.ErrorIs(t, w.Begin(t.Context(), acme, stranger, registry.Beginning{Round: 1, Stack: tenant.Stack{Name: "x"}}), registry.ErrLeaseLost, name)
		require.ErrorIs(t, w.Progress(t.Context(), acme, stranger, tenant.Progress{}), registry.ErrLeaseLost, name)
		require.ErrorIs(t, w.Release(t.Context(), acme, stranger, true), registry.ErrLeaseLost, name)
		require.ErrorIs(t, w.ReleaseSeen(t.Context(), acme, stranger, 1, true), registry.ErrLeaseLost, name)
	}

	require.Equal(t, before, w.get(t))
}

// A repeated record of an earlier round must not take back a later one, even
// under the same lease.
func testSettleNeverGoesBack(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	w.accept(t, updated(2, `1`))
	w.accept(t, updated(3, `2`))

	_, err := w.Settle(t.Context(), acme, token, success(2, "op-2"))
	require.NoError(t, err)
	before := w.get(t)
	require.Equal(t, int64(2), before.AppliedSeq)

	for _, s := range []registry.Settlement{success(1, "op-1"), success(2, "op-x")} {
		_, err = w.Settle(t.Context(), acme, token, s)
		require.Error(t, err)
		require.Equal(t, before, w.get(t))
	}
}

// The largest desired state, tier parameters, outputs and report fit into one
// item together.
func testSettleLargestRow(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	w.accept(t, created())
	rec := w.accept(t, updated(2, `"`+strings.Repeat("x", registry.MaxDesiredBytes-2000)+`"`))
	token := w.acquire(t)

	s := success(2, "op-1")
	s.Applied.Spec = rec.Desired.Spec()
	s.Applied.Blueprint.Program = "silo"
	s.Applied.Blueprint.Parameters = tenant.Parameters{"nodes": json.RawMessage(`"` + strings.Repeat("y", 16<<10) + `"`)}
	maps.Copy(s.Applied.Blueprint.Parameters, s.Applied.Spec.Parameters)

	s.Outputs = map[string]json.RawMessage{"large": json.RawMessage(`"` + strings.Repeat("<", 64<<10-10) + `"`)}

	for i := range 5000 {
		s.Outcome.Report = append(s.Outcome.Report, tenant.Difference{Type: "aws:ec2/vpc:Vpc", Name: strconv.Itoa(i), Action: "update"})
	}

	// During a tier change as much stands beside it.
	s.Change = &tenant.Change{
		Stage: tenant.StageCutover, Other: *s.Applied, Outputs: s.Outputs, Tokens: slices.Repeat([]string{tenant.TokenDigest("")}, 8),
	}
	s.Pending = &tenant.Pending{Operation: "op-1", Report: s.Outcome.Report}

	s.Outcome.Repairs = []tenant.Repair{{Action: tenant.RepairLock, Detail: "of a dead operation"}}

	for i := range 1000 {
		s.Outcome.Orphans = append(s.Outcome.Orphans, "arn:aws:ec2:eu-west-1:123456789012:vpc/vpc-"+strconv.Itoa(i))
	}

	settled, err := w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)
	// Not Equal, which would print all of it.
	require.True(t, reflect.DeepEqual(s.Applied, settled.Record.Applied))
	require.True(t, reflect.DeepEqual(s.Outputs, settled.Record.Outputs))
	require.True(t, reflect.DeepEqual(s.Change, settled.Record.Change))
	require.NotEmpty(t, settled.Record.Pending.Report)
	require.Less(t, len(settled.Record.Pending.Report), 5000)
	require.NotEmpty(t, settled.Record.Last.Report)
	require.Less(t, len(settled.Record.Last.Report), 5000, "a report is cut")
	require.Equal(t, s.Outcome.Report[0], settled.Record.Last.Report[0])
	require.Equal(t, s.Outcome.Repairs, settled.Record.Last.Repairs)
	require.NotEmpty(t, settled.Record.Last.Orphans)
	require.Less(t, len(settled.Record.Last.Orphans), 1000)
}

func testPublished(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	_, err := w.Settle(t.Context(), acme, token, success(1, "op-1"))
	require.NoError(t, err)

	require.NoError(t, w.Published(t.Context(), acme, "op-0"))
	require.Equal(t, "op-1", w.get(t).Unpublished, "another operation's result is still to be published")

	require.NoError(t, w.Published(t.Context(), acme, "op-1"))
	require.Empty(t, w.get(t).Unpublished)
	require.NoError(t, w.Published(t.Context(), acme, "op-1"))
}
