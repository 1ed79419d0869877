package worker_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/sweep"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	sweepInterval = 5 * time.Minute
	sweepAge      = 15 * time.Minute
)

// accept puts an event into a row, whose message is lost.
func (w *world) accept(t *testing.T, e tenant.Event) tenant.Record {
	t.Helper()

	rec, _, err := w.rows.Accept(t.Context(), e)
	require.NoError(t, err)

	return rec
}

func (w *world) waiting(reason sweep.Reason) float64 {
	return testutil.ToFloat64(w.worker.Metrics().TenantsWaiting.WithLabelValues(string(reason)))
}

func (w *world) swept(action string) float64 {
	return testutil.ToFloat64(w.worker.Metrics().SweepRows.WithLabelValues(action))
}

func TestALostMessageIsMadeUpFor(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newSweepingWorld(t, 1, sweep.Config{Interval: sweepInterval, Age: sweepAge})
		w.accept(t, created("acme"))
		w.start(t)

		pass(sweepAge - time.Minute)
		require.True(t, w.row(t).NeedsWork())

		pass(time.Minute + 2*sweepInterval)
		require.False(t, w.row(t).NeedsWork())
		require.Equal(t, 1, w.engine.started())
		require.Empty(t, w.sqs.Bodies(w.url))
		require.InDelta(t, 1, w.swept("nudged"), 0)
		require.Zero(t, w.swept("ended"))
		require.Zero(t, w.waiting(sweep.ReasonWork), "the sweep after it")
		require.InDelta(t, time.Now().Unix(), testutil.ToFloat64(w.worker.Metrics().LastSweep), (2 * sweepInterval).Seconds())
	})
}

// Its message was deleted with an old receipt, and events are handed over to it.
func TestTheMessageOfADeadWorkerIsMadeUpFor(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newSweepingWorld(t, 1, sweep.Config{Interval: sweepInterval, Age: sweepAge})
		_, err := w.leases().Acquire(t.Context(), w.accept(t, created("acme")), "gone")
		require.NoError(t, err)
		w.start(t)

		e := created("acme")
		e.ID, e.Type, e.Tier, e.Region = "suspended", tenant.EventSuspended, "", ""
		e.Version = tenant.TimeVersion(time.Now(), e.ID, e.Source)
		w.send(t, e)
		require.Empty(t, w.sqs.Bodies(w.url), "handed over to the dead")

		pass(sweepAge + 3*sweepInterval)
		require.Equal(t, int64(2), w.row(t).AppliedSeq)
		require.Empty(t, w.row(t).Lease.Owner)
		require.Equal(t, int64(3), w.row(t).Fence)
		require.InDelta(t, 1, w.swept("ended"), 0)
		require.InDelta(t, 1, w.swept("nudged"), 0)
	})
}

func TestAPausedFleetIsNotSwept(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newSweepingWorld(t, 1, sweep.Config{Interval: sweepInterval, Age: sweepAge})
		w.accept(t, created("acme"))
		require.NoError(t, w.rows.Pause(t.Context(), "incident"))
		w.start(t)

		pass(24 * time.Hour)
		require.Zero(t, w.table.Calls("Scan"))

		require.NoError(t, w.rows.Unpause(t.Context()))
		pass(2*sweepInterval + time.Minute)
		require.False(t, w.row(t).NeedsWork())
	})
}

func TestTheSweepEndsWithTheDrain(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newSweepingWorld(t, 1, sweep.Config{Interval: sweepInterval, Age: sweepAge})
		w.start(t)
		pass(2 * sweepInterval)

		claimed, err := w.rows.ClaimSweep(t.Context(), "another", time.Minute)
		require.NoError(t, err)
		require.False(t, claimed)

		w.end(t)

		claimed, err = w.rows.ClaimSweep(t.Context(), "another", time.Minute)
		require.NoError(t, err)
		require.True(t, claimed)

		scans := w.table.Calls("Scan")

		pass(time.Hour)
		require.Equal(t, scans, w.table.Calls("Scan"))
	})
}

func TestOnlyTheOneWhoSweepsKnowsWhoWaits(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newSweepingWorld(t, 1, sweep.Config{Interval: sweepInterval, Age: sweepAge})
		w.accept(t, created("acme"))
		require.NoError(t, w.rows.SetHold(t.Context(), "acme", "people"))
		w.start(t)

		pass(2 * sweepInterval)
		require.InDelta(t, 1, w.waiting(sweep.ReasonHeld), 0)

		_, err := w.rows.ClaimSweep(t.Context(), "another", time.Minute)
		require.NoError(t, err)

		row := w.table.Item("sweep")
		row["sweep_owner"] = row["pk"]
		w.table.Put(row)
		pass(2 * sweepInterval)
		require.Zero(t, w.waiting(sweep.ReasonHeld), "another one counts now")
	})
}
