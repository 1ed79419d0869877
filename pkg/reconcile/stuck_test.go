package reconcile_test

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func deletion() tenant.Event { return event(2, tenant.EventDeleted) }

// A deletion that fails is never given up on, whatever the reason, and never
// counts as done. The outside is told once.
func TestDeletionIsTriedWithoutEnd(t *testing.T) {
	t.Parallel()

	// told is the attempt after which the outside is told.
	for kind, told := range map[tenant.Kind]int{
		tenant.KindTransient: attempts, tenant.KindDenied: attempts, tenant.KindUnknown: attempts, tenant.KindInvalid: 1,
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.provision(t, "silo")

				const tries = 20

				w.engine.will(slices.Repeat([]act{fail(kind, "stuck")}, tries)...)

				for attempt := 1; attempt <= tries; attempt++ {
					outcome := w.deliver(t, "m2", deletion())
					require.Equal(t, reconcile.ActionDelay, outcome.Action)
					require.Equal(t, attempt >= told, outcome.Reason == reconcile.ReasonStuck, "attempt %d: %s", attempt, outcome.Reason)
					within(t, min(backoff<<(attempt-1), time.Hour), outcome.Delay)

					rec := w.row(t)
					free(t, rec)
					require.True(t, rec.NeedsWork())
					require.Equal(t, attempt, rec.Attempts)
					require.Zero(t, rec.FailedSeq)
					require.Equal(t, int64(1), rec.AppliedSeq)
					require.Equal(t, kind, rec.Last.Failure.Kind, "the status says why")
					require.Empty(t, rec.Unpublished)
					require.Len(t, w.publisher.published(), map[bool]int{true: 1}[attempt >= told])
					time.Sleep(outcome.Delay)
				}

				require.Equal(t, result.TypeFailed, w.publisher.published()[0].Type)
				require.Equal(t, "stuck", w.publisher.published()[0].Outcome.Failure.Message)

				for _, steps := range w.engine.steps() {
					require.Contains(t, steps, plan.StepDestroy, "a deletion is not undone")
				}

				require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m2", deletion()).Reason)
				require.Equal(t, int64(2), w.row(t).AppliedSeq)
				require.Equal(t, result.TypeSettled, w.publisher.published()[1].Type)
			})
		})
	}
}

// A kind that is never retried is told when it first comes up, and others do
// not tell of it again.
func TestStuckDeletionIsToldOnce(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.provision(t, "silo")

		wrong, no := fail(tenant.KindInvalid, "wrong"), fail(tenant.KindDenied, "no")
		script := []act{fail(tenant.KindTransient, "no luck"), wrong, wrong, no, fail(tenant.KindThrottled, "slow"), no}
		w.engine.will(script...)

		for i, told := range []int{0, 1, 1, 1, 1, 1} {
			outcome := w.deliver(t, "m2", deletion())
			require.Len(t, w.publisher.published(), told, "operation %d", i+1)
			time.Sleep(outcome.Delay)
		}

		require.Equal(t, 5, w.row(t).Attempts, "throttling is not counted")
	})
}

// The target of results is out of reach when a stuck deletion is to be told.
func TestStuckDeletionIsToldLater(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.provision(t, "silo")
		w.publisher.breaks(errOutage)
		w.engine.will(fail(tenant.KindInvalid, "wrong"), fail(tenant.KindTransient, "no luck"))

		w.deliver(t, "m2", deletion())
		require.NotEmpty(t, w.row(t).Unpublished)

		w.publisher.breaks(nil)
		time.Sleep(time.Until(w.row(t).NotBefore))
		w.deliver(t, "m2", deletion())
		require.Len(t, w.publisher.published(), 1)
		require.Equal(t, "wrong", w.publisher.published()[0].Outcome.Failure.Message)
	})
}

// Only people can say that data may be lost, so such a deletion waits for them.
func TestRefusedDeletionIsGivenUp(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.catalog["data"] = tenant.Blueprint{Program: "silo", DataLoss: true}
		w.provision(t, "data")

		require.Equal(t, failed(), w.deliver(t, "m2", deletion()))
		require.Empty(t, w.engine.operations())
		require.NotNil(t, w.row(t).Applied)
	})
}

// A rollback that fails keeps being tried, at a pace that slows down, even if
// the catalog refuses the tenant so that there is no other operation.
func TestFailingRollbackOfARefusedTenantSlowsDown(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.engine.will(fail(tenant.KindTransient, "no luck"))
		w.deliver(t, "m1", created(1))
		w.engine.will(slices.Repeat([]act{fail(tenant.KindTransient, "stuck")}, 12)...)

		for attempt := 1; attempt <= 12; attempt++ {
			outcome := w.deliver(t, "m2", moved("platinum"))
			require.Equal(t, reconcile.ReasonStuck, outcome.Reason)
			within(t, min(backoff<<(attempt-1), time.Hour), outcome.Delay)
			require.Equal(t, attempt, w.row(t).Attempts)
			time.Sleep(outcome.Delay)
		}

		require.Equal(t, failed(), w.deliver(t, "m2", moved("platinum")))
	})
}

// Throttling is waited out: it is not counted, and the waits grow.
func TestThrottlingIsWaitedOut(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		slow := fail(tenant.KindThrottled, "slow down")
		w.engine.will(slices.Repeat([]act{slow}, 15)...)

		previous := time.Duration(0)

		for range 15 {
			outcome := w.deliver(t, "m1", created(1))
			require.Equal(t, reconcile.ReasonBackoff, outcome.Reason)
			require.Zero(t, w.row(t).Attempts)
			require.LessOrEqual(t, outcome.Delay, time.Hour)
			require.Greater(t, outcome.Delay, min(previous+previous/2, 45*time.Minute))
			require.LessOrEqual(t, outcome.Delay, max(backoff, 2*previous))

			previous = outcome.Delay
			time.Sleep(outcome.Delay)
		}

		require.Greater(t, previous, 45*time.Minute)

		// Another failure begins anew, and so does throttling after it.
		w.engine.will(fail(tenant.KindTransient, "no luck"), slow)

		for range 2 {
			outcome := w.deliver(t, "m1", created(1))
			within(t, backoff, outcome.Delay)
			time.Sleep(outcome.Delay)
		}

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)
	})
}

// An operation that says that it was interrupted, when nobody did that, is not
// started again at once, or it would be without end.
func TestInterruptOfUnknownOriginIsSpaced(t *testing.T) {
	t.Parallel()

	no, stopped := fail(tenant.KindInvalid, "no"), fail(tenant.KindInterrupted, "update canceled")

	for name, script := range map[string][]act{"operation": {stopped}, "rollback": {no, stopped}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.engine.will(script...)

				outcome := w.deliver(t, "m1", created(1))
				require.Equal(t, reconcile.ReasonBackoff, outcome.Reason)
				within(t, backoff, outcome.Delay)
				require.Zero(t, w.row(t).Attempts)
			})
		})
	}
}

// Every policy with every way to retry, for a first provision and an update.
func TestPolicies(t *testing.T) {
	t.Parallel()

	type ending struct {
		kind tenant.Kind
		// max is the tier's maxAttempts, tries how often it is then tried.
		max, tries int
	}

	endings := []ending{
		{kind: tenant.KindInvalid, max: 3, tries: 1},
		{kind: tenant.KindTransient, max: 1, tries: 1},
		{kind: tenant.KindTransient, max: 4, tries: 4},
		{kind: tenant.KindConflict, max: 2, tries: 2},
	}
	policies := []struct {
		policy tenant.FailurePolicy
		stands bool
		undo   []plan.Step
	}{
		{policy: tenant.PolicyRollback, undo: undo()},
		{policy: tenant.PolicyKeep},
		{policy: tenant.PolicyRevert, stands: true, undo: up()},
		{policy: tenant.PolicyKeep, stands: true},
	}

	for _, p := range policies {
		for _, e := range endings {
			name := string(p.policy) + " " + string(e.kind) + " " + strconv.Itoa(e.max) + " stands=" + strconv.FormatBool(p.stands)

			t.Run(name, func(t *testing.T) {
				t.Parallel()

				synctest.Test(t, func(t *testing.T) {
					w := newWorld()
					w.catalog["silo"] = tenant.Blueprint{Program: "silo", OnCreate: p.policy, OnUpdate: p.policy, MaxAttempts: e.max}

					first := created(1)

					if p.stands {
						first = updated(2, "large")

						w.provision(t, "silo")
					}

					w.engine.will(slices.Repeat([]act{fail(e.kind, "no luck")}, e.tries)...)

					want := slices.Repeat([][]plan.Step{up()}, e.tries)
					if p.undo != nil {
						want = append(want, p.undo)
					}

					for range e.tries - 1 {
						outcome := w.deliver(t, "m2", first)
						require.Equal(t, reconcile.ReasonBackoff, outcome.Reason)
						time.Sleep(outcome.Delay)
					}

					require.Equal(t, failed(), w.deliver(t, "m2", first))
					require.Equal(t, want, w.engine.steps(), "undone once, after the last attempt")

					rec := w.row(t)
					require.Equal(t, rec.DesiredSeq, rec.FailedSeq)
					require.Equal(t, p.stands, rec.Applied != nil)
					require.Len(t, w.publisher.published(), 1)
				})
			})
		}
	}
}
