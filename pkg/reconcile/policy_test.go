package reconcile_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func failed() reconcile.Outcome {
	return reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonFailed}
}

// undo is the operation of a rollback.
func undo() []plan.Step { return []plan.Step{plan.StepDestroy, plan.StepRemove} }

func up() []plan.Step { return []plan.Step{plan.StepUp} }

func TestFailedFirstProvisionLeavesNothingBehind(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.engine.will(fail(tenant.KindInvalid, "the template is wrong"), func(context.Context, engine.Operation, engine.Watch) engine.Result {
			return engine.Result{Resources: 0, StackCreated: true, Clean: true}
		})

		require.Equal(t, failed(), w.deliver(t, "m1", created(1)))
		require.Equal(t, [][]plan.Step{up(), undo()}, w.engine.steps())

		ops := w.engine.operations()
		require.True(t, ops[1].Stack.Created)
		require.NotEqual(t, ops[0].ID, ops[1].ID)
		require.Equal(t, ops[0].Fence, ops[1].Fence)

		rec := w.row(t)
		free(t, rec)
		require.Equal(t, int64(1), rec.FailedSeq)
		require.Nil(t, rec.Applied)
		require.Zero(t, rec.Last.Resources)
		require.Equal(t, []string{"up", "destroy", "remove"}, rec.Last.Steps)
		require.Equal(t, "the template is wrong", rec.Last.Failure.Message)
		require.Len(t, w.publisher.published(), 1)
		require.Equal(t, result.TypeFailed, w.publisher.published()[0].Type)

		// A later event may make it right.
		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m2", updated(2, "large")).Reason)
		require.Equal(t, int64(2), w.row(t).AppliedSeq)
	})
}

func TestPolicyKeepUndoesNothing(t *testing.T) {
	t.Parallel()

	for name, stands := range map[string]bool{"first provision": false, "update": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				if stands {
					w.provision(t, "keep")
				}

				e := created(2)
				e.Tier = "keep"
				e.Parameters = tenant.Parameters{"size": json.RawMessage(`"large"`)}

				w.engine.will(fail(tenant.KindInvalid, "no"))
				require.Equal(t, failed(), w.deliver(t, "m1", e))
				require.Equal(t, [][]plan.Step{up()}, w.engine.steps())
			})
		})
	}
}

// A failed update never destroys a tenant that worked.
func TestFailedUpdateGoesBackToWhatWorked(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "silo")
		w.engine.will(fail(tenant.KindInvalid, "no"))

		require.Equal(t, failed(), w.deliver(t, "m2", updated(2, "large")))
		require.Equal(t, [][]plan.Step{up(), up()}, w.engine.steps())

		ops := w.engine.operations()
		require.Contains(t, ops[0].Topologies[0].Parameters, "size")
		require.NotContains(t, ops[1].Topologies[0].Parameters, "size")
		require.Equal(t, ops[0].Topologies[0].Generation, ops[1].Topologies[0].Generation)

		rec := w.row(t)
		require.Equal(t, int64(1), rec.AppliedSeq)
		require.Equal(t, int64(2), rec.FailedSeq)
		require.NotContains(t, rec.Applied.Spec.Parameters, "size")
		require.Equal(t, endpoint(), rec.Outputs)
		require.Equal(t, "no", rec.Last.Failure.Message)
	})
}

func TestRollbackThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		no, stuck := fail(tenant.KindInvalid, "no"), fail(tenant.KindTransient, "stuck")
		w.engine.will(append(slices.Repeat([]act{no, stuck}, attempts+1), no)...)

		for range attempts + 1 {
			outcome := w.deliver(t, "m1", created(1))
			require.Equal(t, reconcile.ReasonStuck, outcome.Reason, "nothing is given up on while it is half there")
			require.Positive(t, outcome.Delay)

			rec := w.row(t)
			free(t, rec)
			require.Zero(t, rec.FailedSeq)
			require.True(t, rec.Stack.Created)
			require.Contains(t, rec.Last.Failure.Message, "no")
			require.Contains(t, rec.Last.Failure.Message, "undoing it failed too: stuck")
			require.Equal(t, tenant.KindTransient, rec.Last.Failure.Kind)
			require.Empty(t, w.publisher.published())
			time.Sleep(outcome.Delay)
		}

		require.Equal(t, failed(), w.deliver(t, "m1", created(1)))
		require.Equal(t, "no", w.row(t).Last.Failure.Message)
		require.Len(t, w.publisher.published(), 1)
	})
}

// An interrupt ends a rollback, or keeps it from starting; nobody gives up in a
// hurry.
func TestInterruptedRollback(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		no := fail(tenant.KindInvalid, "no")
		w.engine.will(during(func() { w.interrupt(engine.ErrInterrupt) }, no))

		outcome := w.deliver(t, "m1", created(1))
		require.Equal(t, reconcile.ActionDelay, outcome.Action)
		require.Zero(t, outcome.Delay)
		require.Equal(t, [][]plan.Step{up()}, w.engine.steps())

		rec := w.row(t)
		free(t, rec)
		require.True(t, rec.NeedsWork())
		require.True(t, rec.Stack.Created)
		require.Equal(t, "no", rec.Last.Failure.Message)
	})

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		stopped := newStop()
		w.engine.will(fail(tenant.KindInvalid, "no"), stopped.until(tenant.KindInterrupted, true))

		go func() {
			<-stopped.started
			w.interrupt(engine.ErrInterrupt)
		}()

		require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelay, Reason: reconcile.ReasonDrain}, w.deliver(t, "m1", created(1)))
		require.ErrorIs(t, stopped.cause, engine.ErrInterrupt)

		rec := w.row(t)
		free(t, rec)
		require.True(t, rec.NeedsWork())
		require.False(t, time.Now().Before(rec.NotBefore))
	})
}

func TestLeaseLostDuringARollback(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.engine.will(fail(tenant.KindInvalid, "no"), during(func() { rob(w.table) }, fail(tenant.KindLeaseLost, "gone")))

		require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDrop, Reason: reconcile.ReasonLost}, w.deliver(t, "m1", created(1)))
		require.Zero(t, w.row(t).FailedSeq)
	})
}

func TestCatalogRefusesATenant(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		e := created(1)
		e.Tier = "platinum"

		require.Equal(t, failed(), w.deliver(t, "m1", e))
		require.Empty(t, w.engine.operations())

		rec := w.row(t)
		free(t, rec)
		require.Equal(t, int64(1), rec.FailedSeq)
		require.Equal(t, tenant.KindInvalid, rec.Last.Failure.Kind)
		require.Equal(t, "tier: there is no such tier", rec.Last.Failure.Message)
		require.Equal(t, "use another", rec.Last.Failure.Hint)
		require.Zero(t, rec.Stack)

		published := w.publisher.published()
		require.Len(t, published, 1)
		require.Equal(t, result.TypeFailed, published[0].Type)
		require.Equal(t, "platinum", published[0].Spec.Tier)
		require.NotEmpty(t, published[0].ID)

		// A later event makes it right.
		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m2", moved("silo")).Reason)
		require.Equal(t, int64(2), w.row(t).AppliedSeq)
		require.Equal(t, result.TypeSettled, w.publisher.published()[1].Type)
	})
}

// The tenant is refused for what it is to become, and stays what it is.
func TestRefusedUpdateLeavesTheTenantAlone(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "silo")
		require.Equal(t, failed(), w.deliver(t, "m2", moved("platinum")))
		require.Empty(t, w.engine.operations())
		require.Equal(t, endpoint(), w.row(t).Outputs)
		require.Equal(t, int64(1), w.row(t).AppliedSeq)
	})
}

// What a first provision left behind is rolled back even if the tenant is then
// refused, whether or not the worker lived to tell of the stack.
func TestRefusedFirstProvisionIsRolledBack(t *testing.T) {
	t.Parallel()

	tests := map[string]func(t *testing.T, w *world){
		"it failed": func(t *testing.T, w *world) {
			t.Helper()
			w.engine.will(fail(tenant.KindTransient, "no luck"))
			require.Equal(t, reconcile.ReasonBackoff, w.deliver(t, "m1", created(1)).Reason)
		},
		"its worker died": func(t *testing.T, w *world) {
			t.Helper()
			w.accept(t, created(1))

			held, err := newLeases(w.table).Acquire(t.Context(), w.row(t), "m2")
			require.NoError(t, err)
			require.NoError(t, w.rows.Begin(t.Context(), acme, held.Token(), registry.Beginning{
				Round: 1, Stack: tenant.Stack{Project: "lessor", Name: "acme", Shard: "shard-9"},
			}))
			require.NoError(t, w.rows.Progress(t.Context(), acme, held.Token(), tenant.Progress{OperationID: "dead", Step: "up"}))
			w.leases.Stale(w.row(t))
			time.Sleep(duration + margin)
		},
	}

	for name, begin := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				begin(t, w)
				w.engine.forget()

				require.Equal(t, failed(), w.deliver(t, "m2", moved("platinum")))
				require.Equal(t, [][]plan.Step{undo()}, w.engine.steps())

				rec := w.row(t)
				require.Equal(t, tenant.KindInvalid, rec.Last.Failure.Kind)
				require.Equal(t, rec.Stack.Shard, w.engine.operations()[0].Stack.Shard, "the shard is sticky")
			})
		})
	}
}

func TestOutputsAreBounded(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		size int
		fits bool
	}{
		"just fits": {size: reconcile.MaxOutputBytes - len("small") - 1 - len("large"), fits: true},
		"too large": {size: reconcile.MaxOutputBytes - len("small") - len("large")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				w.engine.will(func(context.Context, engine.Operation, engine.Watch) engine.Result {
					return engine.Result{Outputs: map[string]json.RawMessage{
						"small": json.RawMessage(`1`),
						"large": json.RawMessage(`"` + strings.Repeat("x", tt.size-2) + `"`),
					}, StackCreated: true, Clean: true}
				})

				outcome := w.deliver(t, "m1", created(1))
				rec := w.row(t)

				if tt.fits {
					require.Equal(t, reconcile.ReasonSettled, outcome.Reason)
					require.Len(t, rec.Outputs["large"], tt.size)

					return
				}

				require.Equal(t, failed(), outcome)
				require.Equal(t, tenant.KindInvalid, rec.Last.Failure.Kind)
				require.Contains(t, rec.Last.Failure.Message, `"large"`)
				require.NotEmpty(t, rec.Last.Failure.Hint)
				require.Empty(t, rec.Outputs)
				require.Equal(t, [][]plan.Step{up(), undo()}, w.engine.steps(), "a first provision that fails is rolled back")
			})
		})
	}
}
