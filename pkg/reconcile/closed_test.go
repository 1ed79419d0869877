package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func hold(t *testing.T, w *world) {
	t.Helper()
	require.NoError(t, w.rows.SetHold(t.Context(), acme, "audit"))
}

func TestNoOperationStarts(t *testing.T) {
	t.Parallel()

	shut := func(reason reconcile.Reason) func(*testing.T, *world) {
		return func(_ *testing.T, w *world) { w.gate.set(reason) }
	}

	tests := map[string]struct {
		shut func(t *testing.T, w *world)
		// before and later are the outcomes if it happens before the look, or
		// while the message waits for a slot.
		before, later reconcile.Outcome
	}{
		"held": {
			shut:   hold,
			before: reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonHeld},
			// The nudge that follows an unhold may have been handed over to us.
			later: reconcile.Outcome{Action: reconcile.ActionDelay, Reason: reconcile.ReasonHeld, Delay: 2 * time.Second},
		},
		"paused": {
			shut:   shut(reconcile.ReasonPaused),
			before: reconcile.Outcome{Action: reconcile.ActionDelay, Reason: reconcile.ReasonPaused, Delay: time.Minute},
			later:  reconcile.Outcome{Action: reconcile.ActionDelay, Reason: reconcile.ReasonPaused, Delay: time.Minute},
		},
		"draining": {
			shut:   shut(reconcile.ReasonDrain),
			before: reconcile.Outcome{Action: reconcile.ActionDelay, Reason: reconcile.ReasonDrain},
			later:  reconcile.Outcome{Action: reconcile.ActionDelay, Reason: reconcile.ReasonDrain},
		},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				w.accept(t, created(1))
				tt.shut(t, w)
				require.Equal(t, tt.before, w.deliver(t, "m1", created(1)))
				require.Zero(t, w.row(t).Fence, "no lease was taken")
				require.Empty(t, w.engine.operations())
			})
		})

		t.Run(name+" while it waits for a slot", func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				w.slots.onTake = func() { tt.shut(t, w) }
				require.Equal(t, tt.later, w.deliver(t, "m1", created(1)))

				rec := w.row(t)
				free(t, rec)
				require.Equal(t, int64(1), rec.Fence)
				require.Equal(t, int64(1), rec.CleanFence, "nothing was written to the state")
				require.Empty(t, w.engine.operations())
				require.True(t, rec.NeedsWork())
			})
		})
	}
}

func TestDrainEndsTheWaitForASlot(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.slots.err = context.Canceled

		outcome := w.deliver(t, "m1", created(1))
		require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelay, Reason: reconcile.ReasonDrain}, outcome)
		require.Zero(t, w.row(t).Fence)
	})
}

func TestHeldTenantGoesOnAfterTheNudge(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "silo")
		hold(t, w)

		require.Equal(t, reconcile.ReasonHeld, w.deliver(t, "m2", updated(2, "large")).Reason)
		require.Empty(t, w.engine.operations(), "the event is accepted and nothing runs")
		require.Equal(t, int64(2), w.row(t).DesiredSeq)

		require.NoError(t, w.rows.ClearHold(t.Context(), acme))
		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m3", event(0, tenant.EventNudged)).Reason)
		require.Equal(t, int64(2), w.row(t).AppliedSeq)
	})
}

// Work of a dead owner stays known as unfinished if its successor may not start:
// without that, a way back to what is applied would need no step.
func TestUnfinishedOperationSurvivesATenureWithoutWork(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.provision(t, "silo")
		w.accept(t, updated(2, "large"))

		held, err := newLeases(w.table).Acquire(t.Context(), w.row(t), "m2")
		require.NoError(t, err)
		require.NoError(t, w.rows.Progress(t.Context(), acme, held.Token(), tenant.Progress{OperationID: "dead", Step: "up"}))

		w.leases.Stale(w.row(t))
		time.Sleep(duration + margin)

		w.slots.onTake = func() { w.gate.set(reconcile.ReasonDrain) }

		require.Equal(t, reconcile.ReasonDrain, w.deliver(t, "m2", updated(2, "large")).Reason)
		require.Empty(t, w.engine.operations())
		free(t, w.row(t))

		w.slots.onTake = nil
		w.gate.set("")

		e := event(3, tenant.EventUpdated)
		e.Parameters = tenant.Parameters{"size": []byte("null")}
		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m3", e).Reason)
		require.Len(t, w.engine.operations(), 1, "half of the update may stand")
		require.Nil(t, w.row(t).Progress)
	})
}
