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
	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const day = 24 * time.Hour

// finds is a look that finds something, or nothing.
func finds(report ...tenant.Difference) act {
	return func(context.Context, engine.Operation, engine.Watch) engine.Result {
		return engine.Result{Report: report, Resources: 3, StackCreated: true, Clean: true}
	}
}

func gone() tenant.Difference {
	return tenant.Difference{Type: "aws:kms/alias:Alias", Name: "key", Action: "delete", Drift: true}
}

// looking is a world in which a tenant stands that is looked at once a day.
func looking(t *testing.T) *world {
	t.Helper()

	w := newWorld()
	w.Config.Schedule = plan.Schedule{Drift: day}
	w.provision(t, "silo")
	require.Equal(t, time.Now().UnixMilli(), w.row(t).LookedAt.UnixMilli(), "what was just made needs no look")

	return w
}

func TestLooksByTheClock(t *testing.T) {
	t.Parallel()

	look := [][]plan.Step{{plan.StepRefresh}}

	for name, tt := range map[string]struct {
		// run delivers the event of the clock, and what else there is.
		run     func(t *testing.T, w *world)
		steps   [][]plan.Step
		results []result.Type
		looked  bool
		history int
	}{
		"nothing is found": {
			run: func(t *testing.T, w *world) {
				t.Helper()
				w.engine.will(finds())
				w.deliver(t, "m2", event(2, tenant.EventDue))
			},
			steps: look, looked: true, history: 1,
		},
		"something is found": {
			run: func(t *testing.T, w *world) {
				t.Helper()
				w.engine.will(finds(gone()))
				w.deliver(t, "m2", event(2, tenant.EventDue))
			},
			steps: look, looked: true, history: 2, results: []result.Type{result.TypeDrifted},
		},
		"somebody else asked": {
			run: func(t *testing.T, w *world) {
				t.Helper()
				w.engine.will(finds())
				w.deliver(t, "m2", event(2, tenant.EventRefresh))
			},
			steps: look, looked: true, history: 2, results: []result.Type{result.TypeSettled},
		},
		"something else is to be done": {
			run: func(t *testing.T, w *world) {
				t.Helper()
				w.accept(t, updated(2, "large"))
				w.deliver(t, "m2", event(3, tenant.EventDue))
			},
			steps: [][]plan.Step{{plan.StepRefresh, plan.StepUp}}, looked: true, history: 2, results: []result.Type{result.TypeSettled},
		},
		"nothing is due": {
			run: func(t *testing.T, w *world) {
				t.Helper()
				w.engine.will(finds())
				w.deliver(t, "m2", event(2, tenant.EventDue))
				w.deliver(t, "m3", event(3, tenant.EventDue))
			},
			steps: look, looked: true, history: 1,
		},
		"it fails": {
			run: func(t *testing.T, w *world) {
				t.Helper()
				w.engine.will(fail(tenant.KindInvalid, "no"))
				w.deliver(t, "m2", event(2, tenant.EventDue))
			},
			steps: look, history: 2, results: []result.Type{result.TypeFailed},
		},
		"the catalog moved on": {
			run: func(t *testing.T, w *world) {
				t.Helper()
				delete(w.catalog, "silo")
				w.engine.will(finds())
				w.deliver(t, "m2", event(2, tenant.EventDue))
			},
			steps: look, looked: true, history: 1,
		},
		"something was mended": {
			run: func(t *testing.T, w *world) {
				t.Helper()
				w.engine.will(func(context.Context, engine.Operation, engine.Watch) engine.Result {
					return engine.Result{Repairs: []tenant.Repair{{Action: tenant.RepairLock}}, StackCreated: true, Clean: true}
				})
				w.deliver(t, "m2", event(2, tenant.EventDue))
			},
			steps: look, looked: true, history: 2, results: []result.Type{result.TypeSettled},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := looking(t)
				made := w.row(t).LookedAt

				time.Sleep(day)
				tt.run(t, w)

				rec := w.row(t)
				free(t, rec)
				require.Equal(t, tt.steps, w.engine.steps())
				require.Equal(t, tt.looked, rec.LookedAt.After(made))
				require.Len(t, rec.History, tt.history)
				require.Empty(t, rec.Unpublished)
				require.False(t, rec.NeedsWork())

				var told []result.Type //nolint:prealloc // nil where nobody is told
				for _, e := range w.publisher.published() {
					told = append(told, e.Type)
				}

				require.Equal(t, tt.results, told)
			})
		})
	}
}

// Who was not told of the last operation is told of the look after it, or would
// never hear again of what the tenant is.
func TestALookTellsWhatWasNotTold(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := looking(t)

		w.publisher.breaks(errOutage)
		w.deliver(t, "m2", updated(2, "large"))
		require.NotEmpty(t, w.row(t).Unpublished)
		time.Sleep(day)

		w.engine.will(finds())
		_, err := w.settle(t, &message{id: "m3"}, w.accept(t, event(3, tenant.EventDue)))
		require.NoError(t, err)
		require.Equal(t, w.row(t).Last.OperationID, w.row(t).Unpublished)

		w.publisher.breaks(nil)
		w.deliver(t, "m3", event(3, tenant.EventDue))
		require.Len(t, w.publisher.published(), 1)
		require.Empty(t, w.row(t).Unpublished)
	})
}

// A tenant that is gone is purged when its time has come, and once. It may come
// back before that, and after it.
func TestPurge(t *testing.T) {
	t.Parallel()

	for name, again := range map[string]time.Duration{"never": 0, "before": day / 2, "after": 2 * day} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.catalog["kept"] = tenant.Blueprint{Program: "silo", RetainDays: 3}
				w.provision(t, "silo")

				w.engine.will(removed)
				w.deliver(t, "m2", event(2, tenant.EventDeleted))

				rec := w.row(t)
				require.False(t, w.engine.operations()[0].Retain)
				require.Equal(t, time.Now().UnixMilli(), rec.Stack.RemovedAt.UnixMilli())
				require.Equal(t, time.Now().Add(day).UnixMilli(), rec.DueAt.UnixMilli())

				// Other events of a tenant that is gone put nothing off.
				due := rec.DueAt

				time.Sleep(time.Hour)
				w.deliver(t, "m3", updated(3, "large"))
				require.Equal(t, due, w.row(t).DueAt)
				w.engine.forget()
				w.publisher.forget()

				if again == day/2 {
					time.Sleep(again)
					comesBack(t, w)

					return
				}

				time.Sleep(time.Until(due) - time.Millisecond)
				w.deliver(t, "m4", event(4, tenant.EventDue))
				require.Empty(t, w.engine.steps(), "it is too early")
				require.Empty(t, w.publisher.published())

				time.Sleep(time.Millisecond)
				w.engine.will(removed)
				w.deliver(t, "m5", event(5, tenant.EventDue))
				require.Equal(t, [][]plan.Step{{plan.StepPurge}}, w.engine.steps())
				require.Equal(t, []string{"purge"}, w.publisher.published()[0].Outcome.Steps)

				rec = w.row(t)
				require.Equal(t, tenant.PhaseAbsent, rec.Applied.Spec.Phase)
				require.Equal(t, time.Now().UnixMilli(), rec.Stack.PurgedAt.UnixMilli())
				require.Zero(t, rec.Stack.RemovedAt)
				require.Zero(t, rec.DueAt)
				require.Equal(t, 1, rec.Stack.Generation)

				w.deliver(t, "m6", event(6, tenant.EventDue))
				require.Len(t, w.engine.steps(), 1, "there is nothing left to purge")
				w.engine.forget()

				if again > 0 {
					comesBack(t, w)
				}
			})
		})
	}
}

func removed(context.Context, engine.Operation, engine.Watch) engine.Result {
	return engine.Result{Clean: true}
}

// comesBack creates the tenant in another tier, and deletes it from there.
func comesBack(t *testing.T, w *world) {
	t.Helper()

	e := created(7)
	e.Tier = "kept"
	require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m7", e).Reason)

	op := w.engine.operations()[0]
	require.Equal(t, []plan.Step{plan.StepUp}, op.Steps)
	require.Zero(t, op.Stack.RemovedAt)
	require.Zero(t, op.Stack.PurgedAt)
	require.Equal(t, 2, op.Topologies[0].Generation)
	require.Zero(t, w.row(t).DueAt)

	w.engine.forget()
	w.engine.will(removed)
	w.deliver(t, "m8", event(8, tenant.EventDeleted))
	require.True(t, w.engine.operations()[0].Retain)
	require.Equal(t, time.Now().Add(3*day).UnixMilli(), w.row(t).DueAt.UnixMilli())

	// What is kept of that life outlives another one that never stands.
	w.engine.forget()
	w.engine.will(fail(tenant.KindInvalid, "no"), removed)

	e = created(9)
	e.Tier = "silo"
	require.Equal(t, reconcile.ReasonFailed, w.deliver(t, "m9", e).Reason)
	require.Equal(t, []plan.Step{plan.StepDestroy, plan.StepRemove}, w.engine.operations()[1].Steps)
	require.True(t, w.engine.operations()[1].Retain)

	w.engine.forget()
	w.engine.will(removed)
	w.deliver(t, "m10", event(10, tenant.EventDeleted))
	require.Equal(t, []plan.Step{plan.StepDestroy, plan.StepRemove}, w.engine.operations()[0].Steps)
	require.True(t, w.engine.operations()[0].Retain)
}
