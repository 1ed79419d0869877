package programs_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// sharedResources is how many resources a pool over two zones has.
const sharedResources = 24

// lodger is a tenant of a program that gets the parameters it knows from the
// outputs of a pool.
func lodger(t *testing.T, id tenant.ID, program, tier string, pool engine.Result, names ...string) *life {
	t.Helper()

	l := newLife(t, id)
	l.top.Program, l.top.Tier, l.top.Parameters = program, tier, tenant.Parameters{}

	for _, name := range names {
		require.Contains(t, pool.Outputs, name)
		l.top.Parameters[name] = pool.Outputs[name]
	}

	return l
}

// TestSharedLife: tenants live on what a pool has, and the cloud keeps it while
// they do.
func TestSharedLife(t *testing.T) {
	t.Parallel()

	l := newLife(t, "pool-life")
	l.top.Program, l.top.Tier = "shared", "pool-business"

	t.Log("a preview makes nothing")
	require.Len(t, l.must(plan.StepPreview).Report, sharedResources)
	require.Empty(t, l.resources())

	t.Log("up")

	result := l.must(plan.StepUp)
	require.Equal(t, sharedResources, result.Resources)

	counts := map[string]int{}

	for typ, list := range l.resources() {
		counts[typ] = len(list)

		for _, r := range list {
			require.Equal(t, "pool-business", r.Tags["tier"])
			require.NotEmpty(t, r.Tags["Name"])
		}
	}

	require.Equal(t, map[string]int{
		cloudsim.TypeVPC: 1, cloudsim.TypeSubnet: 2, cloudsim.TypeSecurityGroup: 4, cloudsim.TypeEndpoint: 7, cloudsim.TypeKey: 1, cloudsim.TypeSubnetGroup: 1,
		cloudsim.TypeInstance: 1, cloudsim.TypeLogGroup: 1, cloudsim.TypeCluster: 1, cloudsim.TypeLoadBalancer: 1, cloudsim.TypeListener: 1,
		cloudsim.TypeRole: 1,
	}, counts, "and an alias and an inline policy, which carry no tags")

	db, cluster := l.database(), l.one(cloudsim.TypeCluster)
	require.JSONEq(t, `"`+db.Text("endpoint")+`"`, string(result.Outputs["sharedEndpoint"]))

	t.Log("no change: nothing is touched")

	before := l.mutations()
	require.Equal(t, result.Outputs, l.must(plan.StepRefresh, plan.StepUp).Outputs)
	require.Equal(t, before, l.mutations())

	t.Log("tenants move in")

	free := lodger(t, "lodger-free", "pool", "free", result, "sharedEndpoint")
	require.Equal(t, result.Outputs["sharedEndpoint"], free.must(plan.StepUp).Outputs["sharedEndpoint"])

	business := lodger(t, "lodger-business", "bridge", "business", result,
		"clusterArn", "listenerArn", "scheme", "vpcId", "subnetIds", "securityGroupIds", "executionRoleArn")
	maps.Copy(business.top.Parameters, tenant.Parameters{"domain": []byte(`"tenants.example.com"`), "image": []byte(`"images.example.com/app:1"`)})
	business.must(plan.StepUp)
	require.Equal(t, cluster.ARN(), business.one(cloudsim.TypeService).Inputs["cluster"])
	require.Equal(t, before, l.mutations(), "the pool notices nothing")

	t.Log("while they live there, the cloud does not let go of the pool")
	require.NotNil(t, l.run(plan.StepDestroy).Failure)
	require.Len(t, l.resources()[cloudsim.TypeVPC], 1)
	business.must(plan.StepDestroy, plan.StepRemove)
	l.must(plan.StepUp)

	t.Log("suspended: nothing gets in, and the outputs stay")

	l.top.Phase = tenant.PhaseSuspended
	suspended := l.must(plan.StepUp).Outputs
	require.JSONEq(t, "false", string(suspended["serving"]))

	l.top.Phase = tenant.PhaseActive

	resumed := l.must(plan.StepUp).Outputs
	require.JSONEq(t, "true", string(resumed["serving"]))

	t.Log("deleted: the snapshot and its key stay")

	l.top.Protect = true
	l.must(plan.StepUp)
	require.NotNil(t, l.run(plan.StepDestroy).Failure)

	l.top.FinalSnapshot = l.top.Tenant.Slug(63) + "-final"
	l.must(plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove)

	left := l.resources()
	require.Len(t, left, 2, "%v", left)
	require.Len(t, left[cloudsim.TypeSnapshot], 1)
	require.Len(t, left[cloudsim.TypeKey], 1)
}
