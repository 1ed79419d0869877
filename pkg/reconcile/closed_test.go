package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/lease"
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
		// raised is whether the fence counts up although no lease was taken.
		raised int64
	}{
		"held": {
			shut:   hold,
			before: reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonHeld},
			// The nudge that follows an unhold may have been handed over to us.
			later:  reconcile.Outcome{Action: reconcile.ActionDelay, Reason: reconcile.ReasonHeld, Delay: 2 * time.Second},
			raised: 1,
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
				require.Equal(t, tt.raised, w.row(t).Fence)
				require.Equal(t, tt.raised, w.row(t).CleanFence)
				free(t, w.row(t))
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

// An acquisition that is still on its way when its message is set aside must not
// land, or the nudge would be handed over to a lease that nobody knows of.
func TestHeldTenantLeavesNoRoomForALateAcquisition(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		before := w.accept(t, created(1))
		hold(t, w)
		require.Equal(t, reconcile.ActionDelete, w.deliver(t, "m1", created(1)).Action)

		_, err := newLeases(w.table).Acquire(t.Context(), before, "m1")
		require.ErrorIs(t, err, lease.ErrChanged)

		require.NoError(t, w.rows.ClearHold(t.Context(), acme))
		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m2", event(0, tenant.EventNudged)).Reason)
		free(t, w.row(t))
	})
}

// Whoever was quicker than the hold works under the message, so it stays.
func TestHeldTenantWhoseLeaseWasTakenMeanwhileKeepsItsMessage(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		before := w.accept(t, created(1))
		hold(t, w)

		seen := w.row(t)
		_, err := newLeases(w.table).Acquire(t.Context(), before, "m1")
		require.NoError(t, err)

		outcome, err := w.settle(t, &message{id: "m1"}, seen)
		require.NoError(t, err)
		require.Equal(t, reconcile.Outcome{Action: reconcile.ActionWatch, Reason: reconcile.ReasonBusy}, outcome)
	})
}

// A table that cannot be reached is no reason to drop a message.
func TestHeldTenantKeepsItsMessageIfTheTableFails(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.accept(t, created(1))
		hold(t, w)

		rec := w.row(t)

		w.table.Intercept(func(string) error { return errOutage }, nil)

		_, err := w.settle(t, &message{id: "m1"}, rec)
		require.ErrorIs(t, err, errOutage)
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
