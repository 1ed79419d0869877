package reconcile_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
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

func TestFirstProvisionIsRecordedAndReleasedInOneWrite(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		began := time.Now().UTC()
		outcome := w.deliver(t, "m1", created(1))
		require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonSettled}, outcome)

		// Accept, acquire, begin, settle, published.
		require.Equal(t, 5, w.table.Calls("UpdateItem"))

		rec := w.row(t)
		free(t, rec)
		require.Equal(t, int64(1), rec.AppliedSeq)
		require.False(t, rec.NeedsWork())
		require.Equal(t, int64(1), rec.CleanFence)
		require.Nil(t, rec.Progress)
		require.Equal(t, endpoint(), rec.Outputs)
		require.Equal(t, tenant.Stack{
			Project: "lessor", Name: engine.StackName(acme), Shard: "shard-0", Created: true, Generation: 1,
		}, rec.Stack)
		require.Equal(t, "v1.2.3", rec.Applied.Build)
		require.Equal(t, 1, rec.Applied.Generation)
		require.Empty(t, rec.Unpublished)

		ops := w.engine.operations()
		require.Len(t, ops, 1)
		require.Equal(t, []plan.Step{plan.StepUp}, ops[0].Steps)
		require.Equal(t, int64(1), ops[0].Fence)
		require.False(t, ops[0].Stack.Created, "the engine makes the stack")
		require.Equal(t, began.Add(time.Hour), ops[0].Deadline.UTC())
		require.Equal(t, []engine.Topology{{
			Generation: 1, Tenant: acme, Tier: "silo", Region: "eu-west-1", Phase: tenant.PhaseActive, Program: "silo",
		}}, ops[0].Topologies)
		require.Equal(t, ops[0].ID, rec.Last.OperationID)

		published := w.publisher.published()
		require.Len(t, published, 1)
		require.Equal(t, result.TypeSettled, published[0].Type)
		require.Equal(t, ops[0].ID, published[0].ID)
		require.Equal(t, endpoint(), published[0].Outputs)
		require.Equal(t, int64(1), published[0].Sequence)
		require.Equal(t, "silo", published[0].Spec.Tier)
	})
}

func TestWhatChangesNothingRunsNothing(t *testing.T) {
	t.Parallel()

	for name, e := range map[string]tenant.Event{
		"the same event": created(1),
		"an older fact":  updated(0, "older than the creation"),
		"a nudge":        event(9, tenant.EventNudged),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				w.provision(t, "silo")

				before, writes := w.row(t), w.table.Calls("UpdateItem")
				outcome := w.deliver(t, "m2", e)

				require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonUnchanged}, outcome)
				require.Empty(t, w.engine.operations())
				require.Empty(t, w.publisher.published())
				require.Equal(t, writes, w.table.Calls("UpdateItem"))
				require.Equal(t, before, w.row(t))
			})
		})
	}
}

// A change that asks for no step is a matter of one write.
func TestChangeWithoutStepsIsOnlyRecorded(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		stands bool
		event  tenant.Event
		last   string
	}{
		"deleted before it was created": {event: event(1, tenant.EventDeleted), last: "absent"},
		"awake already":                 {stands: true, event: event(2, tenant.EventResumed), last: "active"},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				if tt.stands {
					w.provision(t, "silo")
				}

				outcome := w.deliver(t, "m2", tt.event)
				rec := w.row(t)

				require.Equal(t, reconcile.ReasonSettled, outcome.Reason)
				require.Empty(t, w.engine.operations())
				require.Equal(t, rec.DesiredSeq, rec.AppliedSeq)
				require.Equal(t, tt.last, string(rec.Applied.Spec.Phase))
				free(t, rec)

				if tt.stands {
					require.Equal(t, endpoint(), rec.Outputs, "what stands keeps its outputs")
				}
			})
		})
	}
}

func TestDeletionLeavesNoOutputs(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "safe")

		outcome := w.deliver(t, "m2", event(2, tenant.EventDeleted))
		rec := w.row(t)

		require.Equal(t, reconcile.ActionDelete, outcome.Action)
		require.Equal(t, [][]plan.Step{{plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove}}, w.engine.steps())
		require.Empty(t, rec.Outputs)
		require.Equal(t, tenant.PhaseAbsent, rec.Applied.Spec.Phase)

		op := w.engine.operations()[0]
		require.True(t, op.Stack.Created)
		require.Equal(t, 3, op.Resources)
		require.Equal(t, tenant.PhaseActive, op.Topologies[0].Phase, "what is deleted is what stands")

		name := op.Topologies[0].FinalSnapshot
		require.True(t, strings.HasPrefix(name, "acme-t1-final-"), name)
		require.Equal(t, strings.ToLower(name), name)
	})
}

func TestRefreshReportsDrift(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "silo")

		drift := []tenant.Difference{{Type: "aws:kms/key:Key", Name: "key", Action: "update", Drift: true}}

		w.engine.will(func(context.Context, engine.Operation, engine.Watch) engine.Result {
			return engine.Result{Report: drift, Resources: 3, StackCreated: true, Clean: true}
		})

		w.deliver(t, "m2", event(2, tenant.EventRefresh))

		require.Equal(t, [][]plan.Step{{plan.StepRefresh}}, w.engine.steps())
		require.Equal(t, result.TypeDrifted, w.publisher.published()[0].Type)
		require.Equal(t, drift, w.publisher.published()[0].Outcome.Report)
		require.Equal(t, endpoint(), w.row(t).Outputs, "a refresh has no outputs of its own")

		w.deliver(t, "m3", event(3, tenant.EventRefresh))
		require.Equal(t, result.TypeSettled, w.publisher.published()[1].Type, "nothing drifted")
	})
}

// However many changes come in while an operation runs, their messages are gone
// at once and the holder runs exactly one more round.
func TestChangesDuringAnOperationAreHandedOver(t *testing.T) {
	t.Parallel()

	for _, changes := range []int{1, 7, 40} {
		t.Run(strconv.Itoa(changes), func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				w.engine.will(during(func() {
					for i := range changes {
						outcome := w.handOver(t, "other-"+strconv.Itoa(i), updated(2+i, strconv.Itoa(i)))
						require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonHandedOver}, outcome)
					}
				}, succeed))

				outcome := w.deliver(t, "m1", created(1))
				require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonSettled}, outcome)

				ops := w.engine.operations()
				require.Len(t, ops, 2)
				require.Equal(t, ops[0].Fence, ops[1].Fence, "one lease for both")
				require.JSONEq(t, strconv.Quote(strconv.Itoa(changes-1)), string(ops[1].Topologies[0].Parameters["size"]))

				rec := w.row(t)
				free(t, rec)
				require.Equal(t, int64(changes+1), rec.AppliedSeq)
				require.Equal(t, rec.DesiredSeq, rec.AppliedSeq)
				require.Len(t, w.publisher.published(), 2)
				require.Equal(t, int64(1), w.publisher.published()[0].Sequence)
			})
		})
	}
}

// A tenant that changes without end must not keep a slot from the others.
func TestTenantThatChangesWithoutEndIsLetGo(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		n := 1
		change := during(func() {
			n++
			w.handOver(t, "other-"+strconv.Itoa(n), updated(n, strconv.Itoa(n)))
		}, succeed)
		w.engine.will(slices.Repeat([]act{change}, 7)...)

		outcome := w.deliver(t, "m1", created(1))
		rec := w.row(t)

		require.Equal(t, reconcile.ActionDelay, outcome.Action, "its message stands for the last change")
		require.Equal(t, reconcile.ReasonBusy, outcome.Reason)
		require.Positive(t, outcome.Delay)
		require.Len(t, w.engine.operations(), 5)
		require.True(t, rec.NeedsWork())
		free(t, rec)
	})
}
