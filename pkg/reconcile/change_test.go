package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/cutover"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// saying succeeds with outputs that tell which topology serves.
func saying(endpoint string) act {
	return func(context.Context, engine.Operation, engine.Watch) engine.Result {
		res := good()
		res.Outputs = outputs(endpoint)

		return res
	}
}

func outputs(endpoint string) map[string]json.RawMessage {
	text, _ := json.Marshal(endpoint)

	return map[string]json.RawMessage{"endpoint": text}
}

// generations are those of topologies, in their order.
func generations(topologies []engine.Topology) []int {
	list := make([]int, 0, len(topologies))
	for _, t := range topologies {
		list = append(list, t.Generation)
	}

	return list
}

func (w *world) confirm(t *testing.T, n int, token string, refused bool) reconcile.Outcome {
	t.Helper()

	e := event(n, tenant.EventCutoverConfirmed)
	e.Token, e.Refused, e.Reason = token, refused, "disk full"

	return w.deliver(t, "confirm", e)
}

func TestTierChangeMakesBeforeItBreaks(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "safe")
		w.engine.will(saying("new"))

		outcome := w.deliver(t, "m2", moved("pool"))
		require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonSettled}, outcome)

		op := w.engine.operations()[0]
		require.Equal(t, []plan.Step{plan.StepUp}, op.Steps)
		require.Equal(t, []int{1, 2}, generations(op.Topologies), "the one that is to serve is the last")
		require.Empty(t, op.Leaving)
		require.True(t, op.Topologies[0].Protect, "what serves stays protected")

		rec := w.row(t)
		require.Equal(t, 2, rec.Applied.Generation)
		require.Equal(t, 2, rec.Stack.Generation)
		require.Equal(t, outputs("new"), rec.Outputs)
		require.Equal(t, tenant.StageBaking, rec.Change.Stage)
		require.Equal(t, "safe", rec.Change.Other.Spec.Tier)
		require.False(t, rec.NeedsWork())
		require.False(t, rec.DueAt.IsZero())
		require.Len(t, w.publisher.published(), 1)

		outcome = w.deliver(t, "due", event(3, tenant.EventDue))
		require.Equal(t, reconcile.ReasonSettled, outcome.Reason)

		op = w.engine.operations()[1]
		require.Equal(t, []plan.Step{plan.StepPrepareDelete, plan.StepUp}, op.Steps)
		require.Equal(t, []int{2}, generations(op.Topologies))
		require.Equal(t, []int{1}, generations(op.Leaving))
		require.Contains(t, op.Leaving[0].FinalSnapshot, "acme-t1-final-")

		rec = w.row(t)
		require.Nil(t, rec.Change)
		require.True(t, rec.DueAt.IsZero())
		require.Equal(t, 2, rec.Applied.Generation)
	})
}

func TestDataHook(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		answer func(t *testing.T, w *world, request cutover.Request) reconcile.Outcome
		serves int
		tier   string
		kind   tenant.Kind
		beside tenant.ChangeStage
	}{
		"confirmed": {func(t *testing.T, w *world, r cutover.Request) reconcile.Outcome {
			t.Helper()

			return w.confirm(t, 3, r.Token, false)
		}, 2, "moves", "", tenant.StageBaking},
		"refused": {func(t *testing.T, w *world, r cutover.Request) reconcile.Outcome {
			t.Helper()

			return w.confirm(t, 3, r.Token, true)
		}, 1, "pool", tenant.KindCutover, ""},
		"timed out": {func(t *testing.T, w *world, _ cutover.Request) reconcile.Outcome {
			t.Helper()
			time.Sleep(hookTimeout)

			outcome, err := w.settle(t, &message{id: "m2"}, w.row(t))
			require.NoError(t, err)

			return outcome
		}, 1, "pool", tenant.KindCutover, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				w.provision(t, "pool")
				w.engine.will(saying("new"))

				outcome := w.deliver(t, "m2", moved("moves"))
				require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelay, Reason: reconcile.ReasonPartial, Delay: hookTimeout}, outcome)

				rec := w.row(t)
				free(t, rec)
				require.True(t, rec.NeedsWork())
				require.Equal(t, tenant.StageCutover, rec.Change.Stage)
				require.Equal(t, 1, rec.Applied.Generation, "until the answer the old one serves")
				require.Equal(t, endpoint(), rec.Outputs)
				require.Empty(t, w.publisher.published(), "nothing is settled yet")

				request := w.hook.last()
				require.Equal(t, cutover.Side{Tier: "pool", Generation: 1, Outputs: endpoint()}, request.From)
				require.Equal(t, cutover.Side{Tier: "moves", Generation: 2, Outputs: outputs("new")}, request.To)
				require.NotContains(t, rowText(t, rec), request.Token, "the token is in no row")

				w.engine.will(saying("served"))
				c.answer(t, w, request)

				rec = w.row(t)
				require.False(t, rec.NeedsWork())
				require.Equal(t, c.serves, rec.Applied.Generation)
				require.Equal(t, c.tier, rec.Applied.Spec.Tier)

				if c.kind == "" {
					require.Equal(t, outputs("served"), rec.Outputs)
					require.Equal(t, c.beside, rec.Change.Stage)
					require.Equal(t, result.TypeSettled, w.publisher.published()[0].Type)

					return
				}

				require.Nil(t, rec.Change)
				require.Equal(t, endpoint(), rec.Outputs)
				require.Equal(t, c.kind, rec.Last.Failure.Kind)
				require.Equal(t, result.TypeFailed, w.publisher.published()[0].Type)

				back := w.engine.operations()[1]
				require.Equal(t, []plan.Step{plan.StepUp}, back.Steps)
				require.Equal(t, []int{1}, generations(back.Topologies))
				require.Equal(t, []int{2}, generations(back.Leaving))
				require.Empty(t, back.Leaving[0].FinalSnapshot, "what never served has no data of its own")
			})
		})
	}
}

func rowText(t *testing.T, rec tenant.Record) string {
	t.Helper()

	text, err := json.Marshal(rec) //nolint:musttag // only to look for a text in all of it
	require.NoError(t, err)

	return string(text)
}

// An answer may come before its question is recorded as asked.
func TestHookThatAnswersAtOnce(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "pool")
		w.hook.asked = func(r cutover.Request) {
			e := event(3, tenant.EventCutoverConfirmed)
			e.Token = r.Token
			require.Equal(t, reconcile.ReasonHandedOver, w.handOver(t, "confirm", e).Reason)
		}

		outcome := w.deliver(t, "m2", moved("moves"))
		require.Equal(t, reconcile.ReasonSettled, outcome.Reason)
		require.Equal(t, [][]plan.Step{{plan.StepUp}, {plan.StepUp}}, w.engine.steps())
		require.Equal(t, 2, w.row(t).Applied.Generation)
	})
}

func TestWrongTokenChangesNothing(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "pool")
		w.deliver(t, "m2", moved("moves"))
		time.Sleep(time.Minute)

		outcome := w.confirm(t, 3, "guessed", false)
		require.Equal(t, reconcile.ReasonBackoff, outcome.Reason)
		require.Equal(t, hookTimeout-time.Minute, outcome.Delay, "it goes on waiting")
		require.Equal(t, 1, w.row(t).Applied.Generation)
		require.Len(t, w.engine.operations(), 1)

		require.Equal(t, reconcile.ReasonSettled, w.confirm(t, 4, w.hook.last().Token, false).Reason)
	})
}

// A hook that cannot be reached is asked again, with another token, and the
// change is taken back when that went wrong too often.
func TestHookThatIsDown(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "pool")
		w.hook.failure = errors.New("connection refused")

		outcome := w.deliver(t, "m2", moved("moves"))
		require.Equal(t, reconcile.ReasonBackoff, outcome.Reason)
		require.Equal(t, "cutover", w.row(t).Last.Failure.Step)

		for range attempts - 1 {
			time.Sleep(time.Hour)

			_, err := w.settle(t, &message{id: "m2"}, w.row(t))
			require.NoError(t, err)
		}

		rec := w.row(t)
		require.False(t, rec.NeedsWork())
		require.Nil(t, rec.Change)
		require.Equal(t, 1, rec.Applied.Generation)
		require.Equal(t, rec.DesiredSeq, rec.FailedSeq)
		require.Equal(t, [][]plan.Step{{plan.StepUp}, {plan.StepUp}}, w.engine.steps(), "up, and the way back")
		require.NotEqual(t, w.hook.requests[0].Token, w.hook.requests[1].Token)
		require.Equal(t, w.hook.requests[0].ChangeID, w.hook.requests[1].ChangeID)
	})
}

// A change that fails before the new topology serves leaves the tenant in its
// tier, and its names are not used again.
func TestFailedTierChangeGoesBack(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "safe")
		w.engine.will(fail(tenant.KindInvalid, "no such instance class"))

		outcome := w.deliver(t, "m2", moved("silo"))
		require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonFailed}, outcome)

		rec := w.row(t)
		require.Nil(t, rec.Change)
		require.Equal(t, "safe", rec.Applied.Spec.Tier)
		require.Equal(t, endpoint(), rec.Outputs)

		back := w.engine.operations()[1]
		require.Equal(t, []plan.Step{plan.StepUp}, back.Steps)
		require.Equal(t, []int{1}, generations(back.Topologies))
		require.True(t, back.Topologies[0].Protect)

		again := moved("silo")
		again.Version, again.ID = version(3), "e3"
		w.deliver(t, "m3", again)
		require.Equal(t, 3, w.row(t).Applied.Generation)
	})
}

// What a tier change replaced is not lost to a failure after it.
func TestFailedRetirementKeepsTheOldTopology(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "safe")
		w.deliver(t, "m2", moved("silo"))
		w.engine.will(func(context.Context, engine.Operation, engine.Watch) engine.Result {
			return engine.Result{
				Failure:   &tenant.Failure{Kind: tenant.KindInvalid, Message: "refused", Step: string(plan.StepPrepareDelete)},
				Resources: 5, StackCreated: true, Clean: true,
			}
		})

		outcome := w.deliver(t, "m3", event(3, tenant.EventRetire))
		require.Equal(t, reconcile.ReasonFailed, outcome.Reason)
		require.Len(t, w.engine.operations(), 2, "it is not compensated")

		rec := w.row(t)
		require.Equal(t, tenant.StageRetiring, rec.Change.Stage)
		require.Equal(t, 1, rec.Change.Other.Generation)
		require.Equal(t, 2, rec.Applied.Generation)

		w.deliver(t, "m4", event(4, tenant.EventRetire))
		require.Equal(t, []plan.Step{plan.StepPrepareDelete, plan.StepUp}, w.engine.operations()[2].Steps)
		require.Nil(t, w.row(t).Change)
	})
}
