package reconcile_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// within reports whether d is a delay for base, which chance shortens by a fifth.
func within(t *testing.T, base, d time.Duration) {
	t.Helper()
	require.LessOrEqual(t, d, base)
	require.GreaterOrEqual(t, d, base-base/5-time.Millisecond)
}

func TestFailedAttemptIsRetried(t *testing.T) {
	t.Parallel()

	tests := map[tenant.Kind]int{
		tenant.KindTransient: 1, tenant.KindThrottled: 0, tenant.KindQuota: 1, tenant.KindDenied: 1, tenant.KindTimeout: 1,
		tenant.KindConflict: 1, tenant.KindUnknown: 1, tenant.KindLocked: 0,
	}

	for kind, counted := range tests {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				w.engine.will(fail(kind, "no luck"))

				outcome := w.deliver(t, "m1", created(1))
				require.Equal(t, reconcile.ActionDelay, outcome.Action)
				require.Equal(t, reconcile.ReasonBackoff, outcome.Reason)
				within(t, backoff, outcome.Delay)

				rec := w.row(t)
				free(t, rec)
				require.Equal(t, counted, rec.Attempts)
				require.True(t, rec.NeedsWork())
				require.Zero(t, rec.FailedSeq)
				require.Equal(t, kind, rec.Last.Failure.Kind)
				require.True(t, rec.Stack.Created)
				require.Empty(t, w.publisher.published(), "it may work yet")

				// Another message does not bypass the backoff.
				other := w.deliver(t, "m2", created(1))
				require.Equal(t, reconcile.ReasonBackoff, other.Reason)
				require.Equal(t, time.Until(rec.NotBefore), other.Delay)
				require.Len(t, w.engine.operations(), 1)

				time.Sleep(time.Until(rec.NotBefore))
				require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)
				require.True(t, w.engine.operations()[1].Stack.Created, "the engine selects the stack")

				rec = w.row(t)
				require.Zero(t, rec.Attempts)
				require.Zero(t, rec.NotBefore)
			})
		})
	}
}

func TestChangeEndsABackoff(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.engine.will(fail(tenant.KindTransient, "no luck"))
		require.Equal(t, reconcile.ReasonBackoff, w.deliver(t, "m1", created(1)).Reason)
		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m2", updated(2, "large")).Reason)
		require.Equal(t, reconcile.ReasonUnchanged, w.deliver(t, "m1", created(1)).Reason)
		require.Len(t, w.engine.operations(), 2)
	})
}

// A retry that is due while a change came in is not waited for.
func TestFailureWhileAChangeCameInGoesRoundAtOnce(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.engine.will(during(func() {
			w.handOver(t, "m2", updated(2, "large"))
		}, fail(tenant.KindTransient, "no luck")))

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)
		require.Len(t, w.engine.operations(), 2)
		require.Equal(t, int64(2), w.row(t).AppliedSeq)
		require.Zero(t, w.row(t).Attempts)
	})
}

func TestAttemptsEnd(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "keep")

		no := fail(tenant.KindTransient, "no luck")
		w.engine.will(slices.Repeat([]act{no}, attempts)...)

		for attempt := 1; attempt < attempts; attempt++ {
			outcome := w.deliver(t, "m2", updated(2, "large"))
			within(t, backoff<<(attempt-1), outcome.Delay)
			require.Equal(t, attempt, w.row(t).Attempts)
			time.Sleep(outcome.Delay)
		}

		outcome := w.deliver(t, "m2", updated(2, "large"))
		require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonFailed}, outcome)

		rec := w.row(t)
		free(t, rec)
		require.Equal(t, attempts, rec.Attempts)
		require.Equal(t, int64(2), rec.FailedSeq)
		require.Equal(t, int64(1), rec.AppliedSeq)
		require.Equal(t, endpoint(), rec.Outputs, "it still works")
		require.False(t, rec.NeedsWork())

		published := w.publisher.published()
		require.Len(t, published, 1)
		require.Equal(t, result.TypeFailed, published[0].Type)
		require.Equal(t, "no luck", published[0].Outcome.Failure.Message)
		require.Contains(t, published[0].Spec.Parameters, "size", "it tells what was wanted")

		// Nothing more until the next event.
		require.Equal(t, reconcile.ReasonUnchanged, w.deliver(t, "m3", updated(2, "large")).Reason)
		require.Len(t, w.engine.operations(), attempts)

		// The next event has all attempts before it.
		w.engine.will(no)
		require.Equal(t, reconcile.ReasonBackoff, w.deliver(t, "m4", updated(3, "small")).Reason)
		require.Equal(t, 1, w.row(t).Attempts)
	})
}

func TestTierWithoutALimitHasFiveAttempts(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "pool")

		no := fail(tenant.KindUnknown, "no luck")
		w.engine.will(slices.Repeat([]act{no}, 6)...)

		for outcome := w.deliver(t, "m2", updated(2, "large")); outcome.Reason == reconcile.ReasonBackoff; {
			time.Sleep(outcome.Delay)
			outcome = w.deliver(t, "m2", updated(2, "large"))
		}

		require.Len(t, w.engine.operations(), 5)
	})
}

// Trouble that is not the tenant's: the lease is let go and the error tells the
// worker to bring the message back.
func TestTableOutageUnderTheLease(t *testing.T) {
	t.Parallel()

	// fails is which update of the tenure is refused: acquire, begin, settle.
	tests := map[string]struct {
		fails int
		ops   int
		held  bool
	}{
		"acquiring":               {fails: 1},
		"recording the operation": {fails: 2},
		"recording the outcome":   {fails: 3, ops: 1, held: true},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				rec := w.accept(t, created(1))
				updates := 0

				w.table.Intercept(func(operation string) error {
					if operation == "UpdateItem" {
						updates++
					}

					if operation == "UpdateItem" && updates == tt.fails {
						return errOutage
					}

					return nil
				}, nil)

				_, err := w.settle(t, &message{id: "m1"}, rec)
				require.ErrorIs(t, err, errOutage)
				require.Len(t, w.engine.operations(), tt.ops)

				rec = w.row(t)
				require.Equal(t, tt.held, rec.Lease.Owner != "")
				require.Zero(t, rec.Attempts)
				require.True(t, rec.NeedsWork())

				// The message comes back, at last to a lease that is dead.
				w.leases.Stale(rec)
				time.Sleep(duration + margin)
				require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)
				require.Equal(t, plan.StepUp, w.engine.operations()[tt.ops].Steps[0])
			})
		})
	}
}
