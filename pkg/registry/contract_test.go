package registry_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// TestContract holds for the fake, the emulator and whatever endpoint is given.
func TestContract(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(t *testing.T, open registrytest.Open) {
		t.Helper()

		cases := map[string]func(*testing.T, registrytest.Open){}
		maps.Copy(cases, acceptCases())
		maps.Copy(cases, settleCases())
		maps.Copy(cases, releaseCases())
		maps.Copy(cases, rowCases())

		for name, test := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, open)
			})
		}
	})
}

func acceptCases() map[string]func(*testing.T, registrytest.Open) {
	return map[string]func(*testing.T, registrytest.Open){
		"accept/makes the row":          testAcceptMakesTheRow,
		"accept/changes the row":        testAcceptChangesTheRow,
		"accept/knows what it knows":    testAcceptIsIdempotent,
		"accept/nudge makes no row":     testNudge,
		"accept/ends a backoff":         testAcceptEndsABackoff,
		"accept/leaves the lease alone": testAcceptLeavesTheLease,
		"accept/many at once":           testAcceptManyAtOnce,
		"accept/too large":              testAcceptTooLarge,
		"accept/keeps values as said":   testAcceptKeepsValues,
	}
}

func testAcceptMakesTheRow(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	require.Equal(t, tenant.Record{ID: acme}, w.get(t), "nothing is known before")
	require.False(t, w.get(t).Exists())

	rec := w.accept(t, created())
	want, _ := tenant.Apply(tenant.Desired{}, created())
	require.Equal(t, tenant.Record{ID: acme, Desired: want, DesiredSeq: 1, CreatedAt: start(), UpdatedAt: start()}, rec)
	require.Equal(t, rec, w.get(t))
	require.True(t, rec.NeedsWork())
}

func testAcceptChangesTheRow(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	w.accept(t, created())
	w.now = start().Add(time.Hour)

	rec := w.accept(t, updated(2, `"large"`))
	require.Equal(t, int64(2), rec.DesiredSeq)
	require.JSONEq(t, `"large"`, string(rec.Desired.Spec().Parameters["size"]))
	require.Equal(t, start(), rec.CreatedAt)
	require.Equal(t, w.now, rec.UpdatedAt)
	require.Equal(t, rec, w.get(t))
}

func testAcceptIsIdempotent(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	w.accept(t, created())
	newest := w.accept(t, updated(3, `"large"`))

	for _, e := range []tenant.Event{created(), updated(3, `"large"`), updated(2, `"medium"`)} {
		rec, changed, err := w.Accept(t.Context(), e)
		require.NoError(t, err)
		require.False(t, changed)
		require.Equal(t, newest, rec)
	}
}

func testNudge(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	rec, changed, err := w.Accept(t.Context(), tenant.Event{ID: "n", Type: tenant.EventNudged, Tenant: acme, Version: version(1)})
	require.NoError(t, err)
	require.False(t, changed)
	require.False(t, rec.Exists())
	require.False(t, w.get(t).Exists())
}

func testAcceptEndsABackoff(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	settled, err := w.Settle(t.Context(), acme, token, failure(1, "op-1"))
	require.NoError(t, err)
	require.Equal(t, 3, settled.Record.Attempts)
	require.Equal(t, start().Add(time.Minute), settled.Record.NotBefore)

	rec := w.accept(t, updated(2, `"large"`))
	require.Zero(t, rec.Attempts)
	require.True(t, rec.NotBefore.IsZero())
}

func testAcceptLeavesTheLease(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	before := w.get(t)
	rec := w.accept(t, updated(2, `"large"`))
	require.Equal(t, before.Lease, rec.Lease)
	require.Equal(t, registry.Token{Owner: rec.Lease.Owner, Fence: rec.Fence}, token)
}

// Every event of a crowd is in the row at the end, and each change was counted.
func testAcceptManyAtOnce(t *testing.T, open registrytest.Open) {
	t.Helper()

	const crowd = 30

	w := newWorld(t, open)
	w.accept(t, created())

	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		changes int64 = 1
	)

	want, _ := tenant.Apply(tenant.Desired{}, created())

	for i := range crowd {
		e := updated(i+2, strconv.Itoa(i))
		e.Parameters = tenant.Parameters{"p" + strconv.Itoa(i): json.RawMessage(strconv.Itoa(i))}
		want, _ = tenant.Apply(want, e)

		wg.Go(func() {
			rec, changed, err := w.Accept(t.Context(), e)
			if err != nil || !changed || string(rec.Desired.Parameters["p"+strconv.Itoa(i)].Value) != strconv.Itoa(i) {
				t.Errorf("event %d: changed %t, error %v: the row that is returned must contain it", i, changed, err)
			}

			mu.Lock()
			defer mu.Unlock()

			changes++
		})
	}

	wg.Wait()

	rec := w.get(t)
	require.Equal(t, want, rec.Desired)
	require.Equal(t, changes, rec.DesiredSeq)
}

func testAcceptTooLarge(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	before := w.accept(t, created())

	_, _, err := w.Accept(t.Context(), updated(2, `"`+strings.Repeat("x", registry.MaxDesiredBytes)+`"`))
	require.ErrorIs(t, err, registry.ErrTooLarge)
	require.ErrorContains(t, err, strconv.Itoa(registry.MaxDesiredBytes))
	require.Equal(t, before, w.get(t))
}

// JSON that is escaped on its way into the row would grow sixfold, and would
// differ from what the sender said.
func testAcceptKeepsValues(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	w.accept(t, created())

	const value = `"<b>&amp; ü 🙂 \" \\ \u0007</b>"`

	w.accept(t, updated(2, value))
	require.Equal(t, value, string(w.get(t).Desired.Spec().Parameters["size"]))

	rec := w.accept(t, updated(3, `"`+strings.Repeat("<", 100<<10)+`"`))
	require.Len(t, rec.Desired.Spec().Parameters["size"], 100<<10+2)
}

func settleCases() map[string]func(*testing.T, registrytest.Open) {
	return map[string]func(*testing.T, registrytest.Open){
		"settle/success":                testSettleSuccess,
		"settle/outputs are replaced":   testSettleReplacesOutputs,
		"settle/failure":                testSettleFailure,
		"settle/retry":                  testSettleRetry,
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

		require.ErrorIs(t, w.Begin(t.Context(), acme, stranger, tenant.Stack{Name: "x"}), registry.ErrLeaseLost, name)
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

	settled, err := w.Settle(t.Context(), acme, token, s)
	require.NoError(t, err)
	// Not Equal, which would print all of it.
	require.True(t, reflect.DeepEqual(s.Applied, settled.Record.Applied))
	require.True(t, reflect.DeepEqual(s.Outputs, settled.Record.Outputs))
	require.NotEmpty(t, settled.Record.Last.Report)
	require.Less(t, len(settled.Record.Last.Report), 5000, "a report is cut")
	require.Equal(t, s.Outcome.Report[0], settled.Record.Last.Report[0])
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

func releaseCases() map[string]func(*testing.T, registrytest.Open) {
	return map[string]func(*testing.T, registrytest.Open){
		"release/clean":          func(t *testing.T, open registrytest.Open) { t.Helper(); testRelease(t, open, true, 1) },
		"release/unclean":        func(t *testing.T, open registrytest.Open) { t.Helper(); testRelease(t, open, false, 0) },
		"release/twice":          testReleaseTwice,
		"release/seen":           testReleaseSeen,
		"release/moved on":       testReleaseMoved,
		"release/fence survives": testFenceSurvives,
	}
}

func testRelease(t *testing.T, open registrytest.Open, clean bool, want int64) {
	t.Helper()

	w, token := working(t, open)
	require.NoError(t, w.Begin(t.Context(), acme, token, tenant.Stack{Project: "p", Name: "n", Shard: "s"}))
	require.NoError(t, w.Progress(t.Context(), acme, token, tenant.Progress{OperationID: "op-1", Step: "up", Done: 1, Planned: 2}))

	rec := w.get(t)
	require.Equal(t, tenant.Stack{Project: "p", Name: "n", Shard: "s"}, rec.Stack)
	require.Equal(t, &tenant.Progress{OperationID: "op-1", Step: "up", Done: 1, Planned: 2}, rec.Progress)

	require.NoError(t, w.Release(t.Context(), acme, token, clean))

	rec = w.get(t)
	requireFree(t, rec)
	require.NotNil(t, rec.Progress, "an operation began whose outcome nobody recorded")
	require.True(t, rec.NeedsWork())
	require.Equal(t, want, rec.CleanFence)
	require.Equal(t, int64(1), rec.Fence)
}

func testReleaseTwice(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	require.NoError(t, w.Release(t.Context(), acme, token, true))
	require.NoError(t, w.Release(t.Context(), acme, token, true), "an answer that was lost makes the SDK repeat it")
	require.NoError(t, w.ReleaseSeen(t.Context(), acme, token, 1, true))

	w.acquire(t)
	require.ErrorIs(t, w.Release(t.Context(), acme, token, true), registry.ErrLeaseLost)
}

func testReleaseSeen(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	require.NoError(t, w.ReleaseSeen(t.Context(), acme, token, 1, true))
	requireFree(t, w.get(t))
	require.Equal(t, int64(1), w.get(t).CleanFence)
}

func testReleaseMoved(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	moved := w.accept(t, updated(2, `1`))
	require.ErrorIs(t, w.ReleaseSeen(t.Context(), acme, token, 1, true), registry.ErrMoved)
	require.Equal(t, moved, w.get(t), "the lease stays")
}

func testFenceSurvives(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)

	for want := int64(1); want <= 5; want++ {
		require.Equal(t, want, token.Fence)
		require.NoError(t, w.Release(t.Context(), acme, token, want%2 == 0))

		token = w.acquire(t)
	}
}

func rowCases() map[string]func(*testing.T, registrytest.Open) {
	return map[string]func(*testing.T, registrytest.Open){
		"row/hold":         testHold,
		"row/fleet":        testFleet,
		"row/list":         testList,
		"row/newer layout": testNewerLayout,
	}
}

func testHold(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	require.ErrorIs(t, w.SetHold(t.Context(), acme, "x"), registry.ErrNotFound)
	require.ErrorIs(t, w.ClearHold(t.Context(), acme), registry.ErrNotFound)
	require.False(t, w.get(t).Exists(), "a hold makes no row")

	w.accept(t, created())
	require.NoError(t, w.SetHold(t.Context(), acme, "migration"))
	require.Equal(t, "migration", w.get(t).Hold)

	rec := w.accept(t, updated(2, `1`))
	require.Equal(t, "migration", rec.Hold, "events are accepted and the hold stays")

	require.NoError(t, w.ClearHold(t.Context(), acme))
	require.Empty(t, w.get(t).Hold)

	require.ErrorIs(t, w.SetHold(t.Context(), acme, strings.Repeat("x", registry.MaxReasonBytes+1)), registry.ErrReasonTooLong)
}

func testFleet(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	fleet, err := w.Fleet(t.Context())
	require.NoError(t, err)
	require.Equal(t, registry.Fleet{}, fleet)

	require.NoError(t, w.Unpause(t.Context()))
	require.NoError(t, w.Pause(t.Context(), "incident 7"))

	fleet, err = w.Fleet(t.Context())
	require.NoError(t, err)
	require.Equal(t, registry.Fleet{Paused: true, Reason: "incident 7", At: start()}, fleet)

	require.NoError(t, w.Unpause(t.Context()))

	fleet, err = w.Fleet(t.Context())
	require.NoError(t, err)
	require.Equal(t, registry.Fleet{}, fleet)

	require.ErrorIs(t, w.Pause(t.Context(), strings.Repeat("x", registry.MaxReasonBytes+1)), registry.ErrReasonTooLong)
}

func testList(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	if fake, ok := w.api.(*registrytest.Table); ok {
		fake.PageSize(2)
	}

	require.NoError(t, w.Pause(t.Context(), "the fleet's row is no tenant"))

	const tenants = 7

	want := make([]string, 0, tenants)

	for i := range tenants {
		e := created()
		e.Tenant = tenant.ID("t" + strconv.Itoa(i))
		w.accept(t, e)

		want = append(want, string(e.Tenant))
	}

	var got []string

	require.NoError(t, w.List(t.Context(), func(rec tenant.Record) bool {
		got = append(got, string(rec.ID))

		return true
	}))
	require.Equal(t, want, slices.Sorted(slices.Values(got)))

	got = nil

	require.NoError(t, w.List(t.Context(), func(rec tenant.Record) bool {
		got = append(got, string(rec.ID))

		return len(got) < 3
	}))
	require.Len(t, got, 3)

	w.put(t, "t3", "layout_version", &types.AttributeValueMemberN{Value: "99"})

	got = nil

	err := w.List(t.Context(), func(rec tenant.Record) bool {
		got = append(got, string(rec.ID))

		return true
	})
	require.ErrorContains(t, err, "t3")
	require.Len(t, got, 6, "one row that cannot be read hides no other")
}

func (w *world) put(t *testing.T, id tenant.ID, name string, value types.AttributeValue) {
	t.Helper()

	_, err := w.api.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(w.table), Key: registry.Key(id), UpdateExpression: aws.String("SET " + name + " = :v"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": value},
	})
	require.NoError(t, err)
}

// A build that does not know a row's layout must not touch it.
func testNewerLayout(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	w.accept(t, created())
	w.put(t, acme, "layout_version", &types.AttributeValueMemberN{Value: "2"})

	_, err := w.Get(t.Context(), acme)
	require.ErrorContains(t, err, "layout 2")

	_, _, err = w.Accept(t.Context(), updated(2, `1`))
	require.ErrorContains(t, err, "upgrade")
}
