package e2e_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// soon makes leases and messages short, so that a death is noticed in seconds.
func soon() []string {
	return []string{"LESSOR_VISIBILITY_TIMEOUT=10s", "LESSOR_LEASE_DURATION=8s", "LESSOR_LEASE_MARGIN=2s"}
}

// A provider has made a resource and everything dies before anybody could write
// that down. The successor finds the resource, by its name or by its tag, and
// makes no second one.
func TestHalfMadeResourcesAreTakenOver(t *testing.T) {
	t.Parallel()

	for _, typ := range []string{cloudsim.TypeVPC, cloudsim.TypeQueue} {
		t.Run(strings.ReplaceAll(typ, ":", "-"), func(t *testing.T) {
			t.Parallel()

			id := tenant.ID("heir-" + strings.ToLower(typ[strings.LastIndex(typ, ":")+1:]))
			fault, err := local.Cloud().SetFault(t.Context(), cloudsim.Fault{
				Effect: cloudsim.EffectHang, After: true, Operation: cloudsim.OperationCreate, Type: typ, Tenant: string(id),
			})
			require.NoError(t, err)

			f := newFleet(t, 1, soon()...)
			f.create(id, "wired")
			f.struck(fault.ID)

			victim := f.workers[0]
			f.signal(syscall.SIGKILL, f.processes()...)
			<-victim.exited

			victim.exited <- nil

			require.NoError(t, local.Cloud().ClearFaults(t.Context(), fault.ID))
			f.start()

			rec := f.settled(id)
			require.Equal(t, int64(1), rec.AppliedSeq, "%+v", rec.Last)
			require.Zero(t, rec.Attempts)
			require.Empty(t, rec.Last.Orphans)

			done := map[tenant.RepairAction]int{}
			for _, r := range rec.Last.Repairs {
				done[r.Action]++
			}

			require.Equal(t, 1, done[tenant.RepairLock], rec.Last.Repairs)
			require.Equal(t, 1, done[tenant.RepairImported], rec.Last.Repairs)

			list, err := local.Cloud().OfTenant(t.Context(), string(id))
			require.NoError(t, err)
			require.Len(t, list, 2, "one network and one queue")
			require.Empty(t, f.locks(rec.Stack))

			f.send(f.event(tenant.EventDeleted, id, time.Now(), nil))
			require.False(t, f.applied(id, 2).Stack.Created)

			list, err = local.Cloud().OfTenant(t.Context(), string(id))
			require.NoError(t, err)
			require.Empty(t, list)
		})
	}
}

// The cloud makes a resource and its answer is lost: the provider dies, or it asks
// again and hears that the name is taken. The next attempt adopts the resource.
func TestLostAnswersOfTheCloud(t *testing.T) {
	t.Parallel()

	for name, fault := range map[string]cloudsim.Fault{
		"provider-dies": {Effect: cloudsim.EffectCrash, Type: cloudsim.TypeVPC},
		"asked-again": {
			Effect: cloudsim.EffectFail, After: true, Type: cloudsim.TypeQueue, Code: "QueueAlreadyExists",
			Message: "A queue already exists with the same name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			id := tenant.ID("deaf-" + name)
			fault.Operation, fault.Tenant = cloudsim.OperationCreate, string(id)

			set, err := local.Cloud().SetFault(t.Context(), fault)
			require.NoError(t, err)

			f := newFleet(t, 1)
			f.create(id, "wired")
			f.struck(set.ID)

			rec := f.settled(id)
			require.Equal(t, int64(1), rec.AppliedSeq, "%+v", rec.Last)
			require.Len(t, rec.Last.Repairs, 1)
			require.Equal(t, tenant.RepairImported, rec.Last.Repairs[0].Action)

			list, err := local.Cloud().OfTenant(t.Context(), string(id))
			require.NoError(t, err)
			require.Len(t, list, 2, "one network and one queue")
		})
	}
}

// A name that somebody else has is no lost answer: what they made is left alone.
func TestANameThatIsTakenIsNotAdopted(t *testing.T) {
	t.Parallel()

	const id = tenant.ID("latecomer")

	other, err := local.Cloud().Create(t.Context(), cloudsim.Creation{
		Type: cloudsim.TypeQueue, Region: "us-east-1", Inputs: map[string]any{"name": "latecomer-t1-queue"},
	})
	require.NoError(t, err)

	f := newFleet(t, 1)
	f.create(id, "wired")

	var rec tenant.Record

	f.await("the first attempt to fail", time.Minute, func() bool {
		rec, err = f.rows.Get(t.Context(), id)
		require.NoError(t, err)

		return rec.Attempts > 0
	})

	require.Equal(t, tenant.KindConflict, rec.Last.Failure.Kind, rec.Last.Failure)
	require.Contains(t, rec.Last.Failure.Hint, "enqueue orphans")

	// It is deleted without harm to what is not the tenant's.
	f.send(f.event(tenant.EventDeleted, id, time.Now(), nil))
	require.Equal(t, tenant.PhaseAbsent, f.applied(id, 2).Applied.Spec.Phase)

	left, err := local.Cloud().Get(t.Context(), other.Type, other.Region, other.ID)
	require.NoError(t, err)
	require.Empty(t, left.Tenant())
}

// A tenant whose deletion was cut short counts as gone only once nothing carries
// its tag any more, whatever its state says.
func TestNobodyIsGoneWhileSomethingIsLeft(t *testing.T) {
	t.Parallel()

	const id = tenant.ID("leaver")

	f := newFleet(t, 1, soon()...)
	f.create(id, "wired")
	require.Equal(t, int64(1), f.settled(id).AppliedSeq)

	fault, err := local.Cloud().SetFault(t.Context(), cloudsim.Fault{
		Effect: cloudsim.EffectHang, Operation: cloudsim.OperationDelete, Type: cloudsim.TypeVPC, Tenant: string(id),
	})
	require.NoError(t, err)

	f.send(f.event(tenant.EventDeleted, id, time.Now(), nil))
	f.struck(fault.ID)
	f.signal(syscall.SIGKILL, f.processes()...)
	<-f.workers[0].exited

	f.workers[0].exited <- nil

	require.NoError(t, local.Cloud().ClearFaults(t.Context(), fault.ID))

	// What a provider may have made that nobody lived to hear of.
	left, err := local.Cloud().Create(t.Context(), cloudsim.Creation{
		Type: cloudsim.TypeVPC, Region: "us-east-1", Inputs: map[string]any{"cidrBlock": "10.9.0.0/16"},
		Tags: map[string]string{cloudsim.TagTenant: string(id), "managed-by": "lessor"},
	})
	require.NoError(t, err)

	f.start()

	var rec tenant.Record

	f.await("the deletion to find what is left", 2*time.Minute, func() bool {
		rec, err = f.rows.Get(t.Context(), id)
		require.NoError(t, err)

		return rec.Last != nil && len(rec.Last.Orphans) > 0
	})

	require.Equal(t, int64(1), rec.AppliedSeq, "it is not gone")
	require.Equal(t, tenant.KindIntegrity, rec.Last.Failure.Kind)
	require.Contains(t, rec.Last.Failure.Message, left.ID)
	require.Contains(t, rec.Last.Failure.Hint, "enqueue orphans leaver")
	require.Len(t, rec.Last.Orphans, 1)

	require.NoError(t, local.Cloud().Remove(t.Context(), cloudsim.Removal{Type: left.Type, Region: left.Region, ID: left.ID}))

	rec = f.settledAt(id, 2, 2*time.Minute)
	require.Equal(t, tenant.PhaseAbsent, rec.Applied.Spec.Phase)
	require.False(t, rec.Stack.Created)
	require.Empty(t, f.locks(rec.Stack))
}

// A whole worker freezes in the middle of an update, another takes the tenant
// over and finishes it, and the first wakes up, in the worst order: the CLI and
// the provider go on before their own process could see that the lease is over.
func TestZombie(t *testing.T) {
	t.Parallel()

	const id = tenant.ID("zombie")

	f := newFleet(t, 1, soon()...)
	f.create(id, "wired")

	rec := f.settled(id)
	require.Equal(t, int64(1), rec.AppliedSeq, "%+v", rec.Last)

	fault, err := local.Cloud().SetFault(t.Context(), cloudsim.Fault{
		Effect: cloudsim.EffectHang, Operation: cloudsim.OperationUpdate, Type: cloudsim.TypeVPC, Tenant: string(id),
	})
	require.NoError(t, err)

	f.send(f.event(tenant.EventSuspended, id, time.Now(), nil))
	f.struck(fault.ID)

	frozen := f.processes()
	f.signal(syscall.SIGSTOP, frozen...)

	f.start()

	rec = f.settledAt(id, 2, 2*time.Minute)
	require.NotEqual(t, int64(1), rec.Fence)

	before := f.stamps(rec.Stack)
	require.Equal(t, rec.Fence, before[0].Fence, "the newest write is the successor's")

	require.NoError(t, local.Cloud().ClearFaults(t.Context(), fault.ID))

	var workers, others []int

	for _, pid := range frozen {
		if pid == f.workers[0].cmd.Process.Pid || isChild(pid) {
			workers = append(workers, pid)
		} else {
			others = append(others, pid)
		}
	}

	require.NotEmpty(t, others, "the CLI and the provider")
	f.signal(syscall.SIGCONT, others...)

	const head = 500 * time.Millisecond

	time.Sleep(head)
	f.signal(syscall.SIGCONT, workers...)

	f.await("the first worker to see that it was taken over", time.Minute, func() bool {
		for _, op := range f.operations(id) {
			if op.Kind == string(tenant.KindLeaseLost) {
				return true
			}
		}

		return false
	})
	f.await("its processes to end", time.Minute, func() bool {
		return !slices.ContainsFunc(others, alive)
	})

	require.Equal(t, before, f.stamps(rec.Stack), "nothing was written")

	after := f.settled(id)
	require.Equal(t, rec.AppliedSeq, after.AppliedSeq)
	require.Equal(t, rec.Fence, after.Fence)
	require.Empty(t, f.locks(rec.Stack))
	f.idle(time.Minute)
}

// settledAt waits until a change is applied, which takes a while after a death.
func (f *fleet) settledAt(id tenant.ID, sequence int64, timeout time.Duration) tenant.Record {
	f.t.Helper()

	var rec tenant.Record

	f.await("the change to be applied", timeout, func() bool {
		var err error

		rec, err = f.rows.Get(f.t.Context(), id)
		require.NoError(f.t, err)

		return rec.AppliedSeq >= sequence && rec.Lease.Owner == ""
	})

	return rec
}
