package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// What a dead owner may still have been at is looked for before a rollback counts
// as done, too, although the state is fenced by then.
func TestARollbackAfterADeathLooksForWhatIsLeft(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.accept(t, created(1))
		w.die(t, "m1")

		rec := w.row(t)
		w.leases.Stale(rec)
		time.Sleep(duration + margin)

		began := time.Now()

		w.engine.will(fail(tenant.KindInvalid, "no"), succeed)

		_, err := w.settle(t, &message{id: "m1"}, rec)
		require.NoError(t, err)
		require.Equal(t, [][]plan.Step{up(), undo()}, w.engine.steps())

		ops := w.engine.operations()
		require.False(t, ops[0].CleanPredecessor)
		require.True(t, ops[1].CleanPredecessor, "the first has shut older writes out")
		require.Equal(t, began.Add(duration), ops[1].LookAfter)
	})
}

// A change that asks for nothing after a death still has the engine look after
// the state: the dead owner's lock would stay for ever.
func TestWhatADeadOwnerLeftIsTidiedThoughNothingIsToDo(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)
		w.engine.forget()

		wrong := event(2, tenant.EventTierChanged)
		wrong.Tier = "no such tier"

		w.accept(t, wrong)
		w.die(t, "m2")

		rec := w.row(t)
		w.leases.Stale(rec)
		time.Sleep(duration + margin)

		repairs := []tenant.Repair{{Action: tenant.RepairLock, Detail: "of a dead operation"}}

		w.engine.will(func(context.Context, engine.Operation, engine.Watch) engine.Result {
			res := good()
			res.Repairs = repairs

			return res
		})

		outcome, err := w.settle(t, &message{id: "m2"}, rec)
		require.NoError(t, err)
		require.Equal(t, reconcile.ReasonFailed, outcome.Reason)
		require.Equal(t, [][]plan.Step{{plan.StepRefresh}}, w.engine.steps())
		require.False(t, w.engine.operations()[0].CleanPredecessor)

		rec = w.row(t)
		free(t, rec)
		require.Equal(t, tenant.KindInvalid, rec.Last.Failure.Kind)
		require.Equal(t, repairs, rec.Last.Repairs)
		require.Equal(t, rec.Fence, rec.CleanFence)
	})
}

// The same where the last attempt was killed: nobody comes after it.
func TestAKilledLastAttemptIsTidied(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		kept := created(1)
		kept.Tier = "keep"
		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", kept).Reason)
		w.engine.forget()

		killed := func(context.Context, engine.Operation, engine.Watch) engine.Result {
			return engine.Result{Failure: &tenant.Failure{Kind: tenant.KindInvalid, Message: "killed"}, StackCreated: true}
		}

		w.engine.will(killed, succeed)

		require.Equal(t, failed(), w.deliver(t, "m2", event(2, tenant.EventSuspended)))
		require.Equal(t, [][]plan.Step{up(), {plan.StepRefresh}}, w.engine.steps())

		rec := w.row(t)
		free(t, rec)
		require.Equal(t, "killed", rec.Last.Failure.Message)
		require.Equal(t, rec.Fence, rec.CleanFence)
	})
}
