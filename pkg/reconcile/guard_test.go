package reconcile_test

import (
	"context"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// watched is a tier whose updates are guarded.
const watched = "watched"

func newWatchedWorld(t *testing.T) *world {
	t.Helper()

	w := newWorld()
	w.catalog[watched] = tenant.Blueprint{
		Program: "silo", OnUpdate: tenant.PolicyRevert, MaxAttempts: attempts, Bake: time.Hour, Guard: &tenant.Guard{MaxDeletes: new(int)},
	}
	w.provision(t, watched)

	return w
}

func removal(name string) tenant.Difference {
	return tenant.Difference{Type: "aws:sqs/queue:Queue", Name: name, Action: "delete"}
}

func exceeds(digest string) *engine.Exceeds {
	return &engine.Exceeds{Digest: digest, Report: []tenant.Difference{removal(digest)}}
}

// tooMuch is an operation that the guard stops.
func tooMuch(digest string) act {
	return func(context.Context, engine.Operation, engine.Watch) engine.Result {
		return engine.Result{
			Failure:   &tenant.Failure{Kind: tenant.KindApproval, Message: "too much", Hint: "approve it", Step: "up"},
			Exceeds:   exceeds(digest),
			Report:    []tenant.Difference{removal(digest), {Type: "aws:sqs/queue:Queue", Name: "new", Action: "create"}},
			Resources: 3, StackCreated: true, Clean: true, Processes: 1,
		}
	}
}

func approved(n int, operation string) tenant.Event {
	e := event(n, tenant.EventApproved)
	e.Operation = operation

	return e
}

// stopped has an update stop, and returns the row.
func (w *world) stopped(t *testing.T, n int) tenant.Record {
	t.Helper()

	w.engine.will(tooMuch("queue"))
	require.Equal(t, failed(), w.deliver(t, "stopped", updated(n, strconv.Itoa(n))))

	rec := w.row(t)
	require.NotNil(t, rec.Pending)

	return rec
}

// newest is the last operation that the engine was given.
func (w *world) newest(t *testing.T) engine.Operation {
	t.Helper()

	ops := w.engine.operations()
	require.NotEmpty(t, ops)

	return ops[len(ops)-1]
}

func TestGuardStopsAnUpdate(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		before := w.row(t)
		rec := w.stopped(t, 2)
		op := w.newest(t)

		require.Equal(t, w.catalog[watched].Guard, op.Guard)
		require.Nil(t, op.Approved)
		require.Len(t, w.engine.operations(), 1, "nothing was changed, so nothing is undone")
		require.Equal(t, &tenant.Pending{
			Operation: op.ID, Sequence: 2, Digest: "queue", Report: []tenant.Difference{removal("queue")}, At: time.Now().UTC(),
		}, rec.Pending)

		free(t, rec)
		require.False(t, rec.NeedsWork())
		require.Equal(t, int64(2), rec.FailedSeq)
		require.Equal(t, before.Applied, rec.Applied)
		require.Equal(t, before.Outputs, rec.Outputs)
		require.Equal(t, tenant.KindApproval, rec.Last.Failure.Kind)

		published := w.publisher.published()
		require.Len(t, published, 1)
		require.Equal(t, result.TypeFailed, published[0].Type)
		require.Len(t, published[0].Outcome.Report, 2, "all that the update would do is told")

		// It waits for people, whatever else comes.
		require.Equal(t, reconcile.ReasonUnchanged, w.deliver(t, "again", updated(2, "2")).Reason)
		require.Len(t, w.engine.operations(), 1)
	})
}

func TestApprovedUpdateGoesOn(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		waiting := w.stopped(t, 2).Pending

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m3", approved(3, waiting.Operation)).Reason)

		op := w.newest(t)
		require.NotNil(t, op.Guard, "what is approved may have changed meanwhile")
		require.Equal(t, exceeds("queue"), op.Approved)

		rec := w.row(t)
		require.Nil(t, rec.Pending)
		require.Equal(t, int64(3), rec.AppliedSeq)
		require.Contains(t, rec.Applied.Spec.Parameters, "size")

		// An approval is used up.
		w.stopped(t, 4)
		require.Nil(t, w.newest(t).Approved)
	})
}

func TestApprovalHoldsForItsOperationAlone(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		first := w.stopped(t, 2).Pending

		// Another change makes another plan.
		second := w.stopped(t, 3).Pending
		require.NotEqual(t, first.Operation, second.Operation)
		require.Equal(t, int64(3), second.Sequence)
		require.Nil(t, w.newest(t).Approved)

		ran := len(w.engine.operations())
		require.Equal(t, reconcile.ReasonUnchanged, w.deliver(t, "m4", approved(4, first.Operation)).Reason)
		require.Len(t, w.engine.operations(), ran)
		require.Equal(t, second, w.row(t).Pending)

		// What is approved turns out to be more.
		w.engine.will(tooMuch("another"))
		require.Equal(t, failed(), w.deliver(t, "m5", approved(5, second.Operation)))
		require.Equal(t, exceeds("queue"), w.newest(t).Approved)
		require.Equal(t, exceeds("another").Report, w.row(t).Pending.Report)
	})
}

func TestUpdateThatExceedsNoMoreWaitsNoMore(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		w.stopped(t, 2)

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m3", updated(3, "small")).Reason)
		require.NotNil(t, w.newest(t).Guard)
		require.Nil(t, w.row(t).Pending)
	})
}

// Nothing was changed, so a tenant that shall be what it was is so.
func TestTakingAStoppedChangeBackCostsNoOperation(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		w.deliver(t, "m2", updated(2, "small"))
		w.stopped(t, 3)
		w.engine.forget()

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m4", updated(4, "small")).Reason)
		require.Empty(t, w.engine.operations())
		require.Nil(t, w.row(t).Pending)

		// An approval that comes too late is for nobody.
		require.Equal(t, reconcile.ReasonUnchanged, w.deliver(t, "m5", approved(5, "01JQ8M7C4H8K2V5N9T3W6X0Y1Z")).Reason)
		require.Empty(t, w.engine.operations())
	})
}

// What an earlier operation left half done is not forgotten because of a later
// one that changed nothing.
func TestStopDoesNotHideWhatIsHalfDone(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		w.deliver(t, "m2", updated(2, "small"))
		w.engine.will(fail(tenant.KindTransient, "no luck"))
		require.Equal(t, reconcile.ReasonBackoff, w.deliver(t, "m3", updated(3, "huge")).Reason)

		require.True(t, w.stopped(t, 4).Pending.Disturbed)
		require.True(t, w.stopped(t, 5).Pending.Disturbed)
		w.engine.forget()

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m6", updated(6, "small")).Reason)
		require.Equal(t, [][]plan.Step{up()}, w.engine.steps())
	})
}

// An approval holds until the operation went through, whatever comes between.
func TestApprovalOutlivesOtherFailures(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		waiting := w.stopped(t, 2).Pending

		for _, kind := range []tenant.Kind{tenant.KindTransient, tenant.KindThrottled, tenant.KindLocked, tenant.KindInterrupted} {
			w.engine.will(fail(kind, "no luck"))
			require.Equal(t, reconcile.ReasonBackoff, w.deliver(t, "m3", approved(3, waiting.Operation)).Reason, kind)
			require.Equal(t, exceeds("queue"), w.newest(t).Approved, kind)
			require.Equal(t, waiting, w.row(t).Pending, kind)
			time.Sleep(time.Until(w.row(t).NotBefore))
		}

		// A worker dies in the middle of it.
		w.die(t, "m3")
		w.leases.Stale(w.row(t))
		time.Sleep(duration + margin)

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m3", approved(3, waiting.Operation)).Reason)
		require.True(t, slices.ContainsFunc(w.engine.operations(), func(op engine.Operation) bool {
			return op.Approved != nil && op.Fence == w.row(t).Fence
		}))
		require.Nil(t, w.row(t).Pending)
		require.Equal(t, int64(3), w.row(t).AppliedSeq)
	})
}

func TestApprovedUpdateThatIsGivenUpOnIsUndone(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		waiting := w.stopped(t, 2).Pending
		w.engine.forget()
		w.engine.will(fail(tenant.KindInvalid, "no"))

		require.Equal(t, failed(), w.deliver(t, "m3", approved(3, waiting.Operation)))
		require.Equal(t, [][]plan.Step{up(), up()}, w.engine.steps())
		require.Nil(t, w.newest(t).Guard, "the way back must not wait")
		require.Nil(t, w.row(t).Pending)
	})
}

// A change comes in while the operation is stopped.
func TestChangeDuringAStopGoesRoundWithTheGuard(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		w.engine.will(during(func() { w.handOver(t, "m3", updated(3, "small")) }, tooMuch("queue")))

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m2", updated(2, "large")).Reason)
		require.Len(t, w.engine.operations(), 2)
		require.NotNil(t, w.newest(t).Guard)
		require.Nil(t, w.newest(t).Approved)
		require.Nil(t, w.row(t).Pending)
	})
}

func TestWhatIsGuarded(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		event   func() tenant.Event
		guarded bool
	}{
		"an update":     {event: func() tenant.Event { return updated(2, "large") }, guarded: true},
		"a suspension":  {event: func() tenant.Event { return event(2, tenant.EventSuspended) }, guarded: true},
		"a reprovision": {event: func() tenant.Event { return event(2, tenant.EventReprovision) }, guarded: true},
		"a refresh":     {event: func() tenant.Event { return event(2, tenant.EventRefresh) }},
		"a preview":     {event: func() tenant.Event { return event(2, tenant.EventPreview) }},
		"a tier change": {event: func() tenant.Event { return moved("silo") }},
		"a deletion":    {event: func() tenant.Event { return event(2, tenant.EventDeleted) }},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWatchedWorld(t)
				require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m2", test.event()).Reason)

				for _, op := range w.engine.operations() {
					require.Equal(t, test.guarded, op.Guard != nil, op.Steps)
				}

				require.NotEmpty(t, w.engine.operations())
			})
		})
	}
}

func TestFirstProvisionIsNotGuarded(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWatchedWorld(t)
		b := w.catalog[watched]
		b.Protect = true
		w.catalog[watched] = b
		w.deliver(t, "m2", event(2, tenant.EventDeleted))
		w.engine.forget()

		e := created(3)
		e.Tier = watched
		w.deliver(t, "m3", e)
		require.Equal(t, [][]plan.Step{up(), up()}, w.engine.steps(), "the second one protects what stands")

		for _, op := range w.engine.operations() {
			require.Nil(t, op.Guard)
		}

		w.deliver(t, "m4", updated(4, "large"))
		require.NotNil(t, w.newest(t).Guard)
	})
}

// While the former tier still stands by, an update is of both.
func TestGuardDuringATierChange(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.catalog[watched] = tenant.Blueprint{Program: "silo", Bake: time.Hour, Guard: &tenant.Guard{MaxDeletes: new(int)}}
		w.provision(t, "silo")

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m2", moved(watched)).Reason)
		require.Nil(t, w.newest(t).Guard)
		baking := w.row(t)
		require.NotNil(t, baking.Change)

		waiting := w.stopped(t, 3)
		require.NotNil(t, w.newest(t).Guard)
		require.Len(t, w.newest(t).Topologies, 2)
		require.Equal(t, baking.Change.Other, waiting.Change.Other, "the former one still stands by")
		require.Equal(t, tenant.StageBaking, waiting.Change.Stage)

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m4", approved(4, waiting.Pending.Operation)).Reason)
		require.Equal(t, exceeds("queue"), w.newest(t).Approved)

		w.engine.forget()
		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m5", event(5, tenant.EventRetire)).Reason)
		require.Nil(t, w.newest(t).Guard, "what a change of tier leaves was announced by it")
	})
}
