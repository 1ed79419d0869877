package e2e_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// A tenant moves to infrastructure of its own and back, and is deleted. What
// the tiers promise is compared with what is in the cloud.
func TestTiersAndBack(t *testing.T) {
	t.Parallel()

	const mover = tenant.ID("mover")

	f := newFleet(t, 1, "LESSOR_SWEEP_INTERVAL=1s")
	resources := func() int {
		list, err := local.Cloud().OfTenant(t.Context(), string(mover))
		require.NoError(t, err)

		return len(list)
	}

	f.create(mover, "free")
	require.Equal(t, int64(1), f.settled(mover).AppliedSeq)
	require.Zero(t, resources(), "a pool has no resource of its own")

	f.send(f.event(tenant.EventTierChanged, mover, time.Now(), func(e *tenant.Event) { e.Tier = "enterprise" }))
	rec := f.alone(mover, 2)

	require.Positive(t, resources())
	require.Contains(t, rec.Outputs, "databaseEndpoint")
	require.Equal(t, 2, rec.Applied.Generation)

	f.send(f.event(tenant.EventSuspended, mover, time.Now(), nil))
	rec = f.applied(mover, 4)
	require.JSONEq(t, "false", string(rec.Outputs["serving"]))
	require.Positive(t, resources(), "the data of a suspended tenant is kept")

	// The old topology is protected: the change must lift that by itself.
	f.send(f.event(tenant.EventTierChanged, mover, time.Now(), func(e *tenant.Event) { e.Tier = "free" }))
	rec = f.alone(mover, 5)
	require.NotContains(t, rec.Outputs, "databaseEndpoint")
	require.Equal(t, 3, rec.Applied.Generation)
	require.Zero(t, rec.Last.Resources)

	f.send(f.event(tenant.EventDeleted, mover, time.Now(), nil))
	rec = f.applied(mover, 7)
	require.Equal(t, tenant.PhaseAbsent, rec.Applied.Spec.Phase)
	require.False(t, rec.Stack.Created)
}

// alone waits until a tier change is applied and what it replaced is gone.
func (f *fleet) alone(id tenant.ID, sequence int64) tenant.Record {
	f.t.Helper()

	rec := f.applied(id, sequence)

	f.await("the old topology to go", time.Minute, func() bool {
		rec = f.settled(id)
		require.LessOrEqual(f.t, rec.FailedSeq, rec.AppliedSeq, "%+v", rec.Last)

		return rec.Change == nil
	})

	return rec
}

// applied waits until a change is applied.
func (f *fleet) applied(id tenant.ID, sequence int64) tenant.Record {
	f.t.Helper()

	var rec tenant.Record

	f.await("the change to be applied", time.Minute, func() bool {
		rec = f.settled(id)
		require.Less(f.t, rec.FailedSeq, sequence, "%+v", rec.Last)

		return rec.AppliedSeq >= sequence
	})

	return rec
}

// A worker that is told to stop lets its operation finish and leaves nothing
// to do for others.
func TestDrainFinishesTheOperation(t *testing.T) {
	t.Parallel()

	f := newFleet(t, 1)
	f.create("leisurely", "slow")
	f.programRuns()

	w := f.workers[0]
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGTERM))

	err := <-w.exited
	w.exited <- nil

	require.NoError(t, err, "a drain ends with 0")
	require.Equal(t, int64(1), f.settled("leisurely").AppliedSeq)
	f.idle(time.Minute)
}

// A second signal interrupts the operation. The worker gives the message and
// the lease back, and the next worker starts at once.
func TestSecondSignalInterrupts(t *testing.T) {
	t.Parallel()

	f := newFleet(t, 1)
	f.create("interrupted", "slow")
	f.programRuns()

	w := f.workers[0]
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGTERM))
	f.await("the worker to drain", time.Minute, func() bool {
		return containsLine(w.log.bytes(), "draining")
	})
	require.NoError(t, w.cmd.Process.Signal(syscall.SIGTERM))

	<-w.exited

	w.exited <- nil

	f.start()
	require.Equal(t, int64(1), f.settled("interrupted").AppliedSeq)
	require.Zero(t, f.settled("interrupted").Attempts, "an interrupt is no failed attempt")
}

// A worker is killed in the middle of an operation. Its child ends by itself,
// and another worker resumes once the message is back and the lease is dead.
func TestKilledWorkerIsTakenOver(t *testing.T) {
	t.Parallel()

	const visibility, lease, margin = 10 * time.Second, 8 * time.Second, 2 * time.Second

	f := newFleet(t, 1, "LESSOR_VISIBILITY_TIMEOUT="+visibility.String(), "LESSOR_LEASE_DURATION="+lease.String(),
		"LESSOR_LEASE_MARGIN="+margin.String())
	f.create("orphan", "slow")
	f.programRuns()

	victim := f.workers[0]
	require.NoError(t, victim.cmd.Process.Kill())
	<-victim.exited

	victim.exited <- nil

	killed := time.Now()

	f.start()
	f.await("the other worker to resume", visibility+lease+margin+5*time.Second, func() bool {
		return len(started(f.operations("orphan"))) == 2
	})
	t.Logf("resumed %s after the kill", time.Since(killed).Round(time.Second))

	rec := f.settled("orphan")
	require.Equal(t, int64(1), rec.AppliedSeq)
	require.Equal(t, int64(2), rec.Fence)
	f.idle(time.Minute)
}
