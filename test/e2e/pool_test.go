package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// poolCatalog has pools of its own names: the tests share one cloud.
const poolCatalog = `version: 1
tiers:
  free:
    program: pool
    pool: pool-lodge
    poolParameters: [sharedEndpoint]
  business:
    program: bridge
    pool: pool-lodge
    poolParameters: [clusterArn, listenerArn, scheme, vpcId, subnetIds, securityGroupIds, executionRoleArn]
    parameters: {domain: tenants.example.com, image: "images.example.com/app:1"}
  pool-lodge:
    program: shared
    protect: true
  hapless:
    program: pool
    pool: pool-hapless
    poolParameters: [sharedEndpoint]
  pool-hapless: {program: failing, maxAttempts: 2}
`

const (
	lodge   = tenant.ID("pool-lodge-us-east-1")
	hapless = tenant.ID("pool-hapless-us-east-1")
)

func withPoolCatalog(t *testing.T) string {
	t.Helper()

	path := filepath.Join(t.TempDir(), "pools.yaml")
	require.NoError(t, os.WriteFile(path, []byte(poolCatalog), 0o600))

	return "LESSOR_CATALOG=" + path
}

// rowOf reads the row of a tenant.
func (f *fleet) rowOf(id tenant.ID) tenant.Record {
	f.t.Helper()

	rec, err := f.rows.Get(f.t.Context(), id)
	require.NoError(f.t, err)

	return rec
}

// ready waits until nothing is left to do for a tenant, and requires that it went
// well.
func (f *fleet) ready(id tenant.ID) tenant.Record {
	f.t.Helper()

	var rec tenant.Record

	f.await(fmt.Sprintf("%s to be done", id), 2*time.Minute, func() bool {
		rec = f.rowOf(id)

		return rec.Exists() && !rec.NeedsWork() && rec.Lease.Owner == ""
	})
	require.Greater(f.t, rec.AppliedSeq, rec.FailedSeq, "%+v", rec.Last)

	return rec
}

// lodgesLater waits until a tenant is seen to wait for a pool.
func (f *fleet) lodgesLater(id, pool tenant.ID) {
	f.t.Helper()

	f.await(fmt.Sprintf("%s to wait", id), time.Minute, func() bool {
		last := f.rowOf(id).Last

		return last != nil && last.Failure != nil && last.Failure.Kind == tenant.KindWaiting
	})
	require.Contains(f.t, f.rowOf(id).Last.Failure.Message, "waiting for pool "+pool.String())
}

func (f *fleet) delete(id tenant.ID) {
	f.t.Helper()
	f.send(f.event(tenant.EventDeleted, id, time.Now(), func(e *tenant.Event) { e.AcceptDataLoss = true }))
}

// left waits until nothing of a tenant is left.
func (f *fleet) left(id tenant.ID) {
	f.t.Helper()

	f.await(fmt.Sprintf("%s to be gone", id), 2*time.Minute, func() bool {
		rec := f.rowOf(id)

		return !rec.NeedsWork() && rec.Lease.Owner == "" && rec.Applied.Spec.Phase == tenant.PhaseAbsent
	})
}

// refused waits until the newest wish for a tenant was refused.
func (f *fleet) refused(id tenant.ID) *tenant.Failure {
	f.t.Helper()

	f.await(fmt.Sprintf("%s to be refused", id), time.Minute, func() bool {
		rec := f.rowOf(id)

		return rec.Exists() && !rec.NeedsWork() && rec.FailedSeq > rec.AppliedSeq
	})

	return f.rowOf(id).Last.Failure
}

// succeeded is when the first operation of a tenant went well.
func (f *fleet) succeeded(id tenant.ID) time.Time {
	f.t.Helper()

	for _, op := range f.operations(id) {
		if op.Message == "operation succeeded" {
			return op.Time
		}
	}

	require.FailNow(f.t, "no operation succeeded", id)

	return time.Time{}
}

// A sign-up makes the pool that it needs; later ones find it. The pool stays as
// long as anybody lives there, and comes back when it is needed again.
func TestPoolOfATier(t *testing.T) {
	t.Parallel()

	// Without a word from who made the pool, they would look in vain after 5 s
	// and 15 s, and then wait for twenty more.
	const slow, late = 18 * time.Second, 8 * time.Second

	_, err := local.Cloud().SetFault(t.Context(), cloudsim.Fault{
		Operation: cloudsim.OperationCreate, Type: cloudsim.TypeInstance, Tenant: lodge.String(), Effect: cloudsim.EffectDelay, Delay: slow,
	})
	require.NoError(t, err)

	f := newFleet(t, 2, withPoolCatalog(t))

	t.Log("the first two tenants come, and no pool is there")
	f.create("first", "free")
	f.create("second", "business")
	f.lodgesLater("first", lodge)

	first, second, pool := f.ready("first"), f.ready("second"), f.ready(lodge)
	require.Equal(t, "shared", pool.Applied.Blueprint.Program)
	require.Equal(t, pool.Outputs["sharedEndpoint"], first.Outputs["sharedEndpoint"])
	require.Equal(t, pool.Outputs["clusterArn"], second.Outputs["clusterArn"])
	require.Equal(t, lodge, first.Applied.Blueprint.Pool)
	require.Zero(t, first.Attempts)

	require.Equal(t, int64(1), pool.DesiredSeq, "it was asked for once")

	for _, id := range []tenant.ID{"first", "second"} {
		ops := started(f.operations(id))
		require.Len(t, ops, 1)
		require.Less(t, ops[0].Time.Sub(f.succeeded(lodge)), late, "%s goes on at once", id)
	}

	t.Log("the pool is not deleted from under them")
	f.delete(lodge)

	failure := f.refused(lodge)
	require.Equal(t, tenant.KindInvalid, failure.Kind)
	require.Contains(t, failure.Message, "2 of its tenants are left, such as first, second")

	standing, err := local.Cloud().OfTenant(t.Context(), lodge.String())
	require.NoError(t, err)
	require.NotEmpty(t, standing)

	t.Log("and goes on serving")
	f.create("third", "free")
	require.Equal(t, pool.Outputs["sharedEndpoint"], f.ready("third").Outputs["sharedEndpoint"])

	t.Log("once they are gone it can go, and leaves nothing")

	for _, id := range []tenant.ID{"first", "second", "third"} {
		f.delete(id)
	}

	for _, id := range []tenant.ID{"first", "second", "third"} {
		f.left(id)
	}

	f.delete(lodge)
	f.left(lodge)

	standing, err = local.Cloud().OfTenant(t.Context(), lodge.String())
	require.NoError(t, err)
	require.Empty(t, standing)

	t.Log("the next tenant brings it back")
	f.create("fourth", "free")
	require.NotEmpty(t, f.ready("fourth").Outputs["sharedEndpoint"])
	require.Equal(t, 2, f.rowOf(lodge).Applied.Generation)

	f.signUps(20)
}

// signUps measures how long it takes from a message to a settled tenant where the
// pool is there.
func (f *fleet) signUps(n int) {
	f.t.Helper()

	const goal = 10 * time.Second

	before := len(started(f.operations(lodge)))
	took := make([]time.Duration, 0, n)

	for i := range n {
		id := tenant.ID(fmt.Sprintf("sign-up-%d", i))
		began := time.Now()

		f.create(id, "free")

		for rec := f.rowOf(id); rec.AppliedSeq == 0; rec = f.rowOf(id) {
			require.Less(f.t, time.Since(began), time.Minute, "%+v", rec.Last)
			time.Sleep(10 * time.Millisecond)
		}

		took = append(took, time.Since(began))
	}

	slices.Sort(took)
	f.t.Logf("sign-up to an existing pool, from SendMessage to settled: median %s, fastest %s, slowest %s of %d",
		took[n/2].Round(time.Millisecond), took[0].Round(time.Millisecond), took[n-1].Round(time.Millisecond), n)

	require.Less(f.t, took[n/2], goal)
	require.Len(f.t, started(f.operations(lodge)), before, "the pool is not touched")
}

// A pool that cannot be made fails those who need it, at once and with its reason,
// and who comes later does not even wait.
func TestPoolThatCannotBeMade(t *testing.T) {
	t.Parallel()

	f := newFleet(t, 1, withPoolCatalog(t))
	f.create("unlucky", "hapless")

	failure := f.refused("unlucky")
	require.Equal(t, tenant.KindInvalid, failure.Kind)
	require.Contains(t, failure.Message, "pool "+hapless.String()+", which the tier's tenants live in, could not be made")
	require.Contains(t, failure.Message, "connection refused")
	require.Contains(t, failure.Hint, "enqueue reprovision "+hapless.String())
	require.Empty(t, f.operations("unlucky"), "no attempt was made")

	f.create("later", "hapless")
	require.Contains(t, f.refused("later").Message, "could not be made")

	t.Log("nobody takes the place of a pool, and a pool is nowhere else")
	f.create("pool-imposter", "free")
	require.Contains(t, f.refused("pool-imposter").Message, `ids that begin with "pool-" are those of pools`)
	f.create("imposter", "pool-lodge")
	require.Contains(t, f.refused("imposter").Message, `tier "pool-lodge" is one of pools`)
	require.Empty(t, f.operations("imposter"))
}
