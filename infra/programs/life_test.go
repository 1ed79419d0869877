package programs_test

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// life is one tenant on the real CLI, with the simulator as its cloud.
type life struct {
	*engine.Runner

	t   *testing.T
	top engine.Topology
	// created is whether the stack has a checkpoint.
	created bool
}

func newLife(t *testing.T, id tenant.ID) *life {
	t.Helper()

	return &life{Runner: newRunner(t, engine.ChildArgument), t: t, top: topology(func(top *engine.Topology) {
		// The cloud outlives a run of the test.
		top.Tenant, top.Program = id+tenant.ID("_"+strings.ToLower(rand.Text()[:8])), "silo"
	})}
}

// newRunner makes a runner whose child processes get an argument.
func newRunner(t *testing.T, argument string) *engine.Runner {
	t.Helper()

	if testing.Short() {
		t.Skip("it needs the real CLI")
	}

	self, err := os.Executable()
	require.NoError(t, err)

	runner, err := engine.NewRunner(t.Context(), engine.Config{
		Pulumi: os.Getenv("LESSOR_PULUMI"), PluginDir: os.Getenv("LESSOR_PLUGIN_DIR"), WorkDir: filepath.Join(t.TempDir(), "work"),
		SecretsProvider: os.Getenv("LESSOR_SECRETS_PROVIDER"), Project: "lessor", OperationTimeout: time.Minute,
		InterruptGrace: time.Second, Parallel: 8,
	}, engine.WithCommand(self, argument))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runner.Close()) })

	return runner
}

func (l *life) run(steps ...plan.Step) engine.Result {
	l.t.Helper()

	bucket, _, _ := strings.Cut(os.Getenv("LESSOR_STATE_BUCKETS"), ",")

	result := l.Run(l.t.Context(), 0, engine.Operation{
		ID: "01OP", Tenant: l.top.Tenant, Fence: 1, Steps: steps,
		Stack:      tenant.Stack{Project: "lessor", Name: engine.StackName(l.top.Tenant), Shard: bucket, Created: l.created},
		Topologies: []engine.Topology{l.top},
		Deadline:   time.Now().Add(time.Minute),
	}, engine.Watch{})

	l.created = result.StackCreated

	return result
}

func (l *life) must(steps ...plan.Step) engine.Result {
	l.t.Helper()

	result := l.run(steps...)
	require.Nil(l.t, result.Failure, "%+v", result.Failure)

	return result
}

// resources of the tenant in the simulator, by type.
func (l *life) resources() map[string][]cloudsim.Resource {
	l.t.Helper()

	list, err := local.Cloud().OfTenant(l.t.Context(), l.top.Tenant.String())
	require.NoError(l.t, err)

	byType := map[string][]cloudsim.Resource{}
	for _, r := range list {
		byType[r.Type] = append(byType[r.Type], r)
	}

	return byType
}

// database is the tenant's only one.
func (l *life) database() cloudsim.Resource {
	l.t.Helper()

	found := l.resources()[cloudsim.TypeInstance]
	require.Len(l.t, found, 1)

	return found[0]
}

// mutations counts what happened to the tenant's resources.
func (l *life) mutations() int {
	l.t.Helper()

	entries, err := local.Cloud().Log(l.t.Context(), 0)
	require.NoError(l.t, err)

	n := 0

	for _, e := range entries {
		if e.Tenant == l.top.Tenant.String() {
			n++
		}
	}

	return n
}

// siloResources is how many resources a silo over two zones has.
const siloResources = 13

func TestSiloLife(t *testing.T) {
	t.Parallel()

	l := newLife(t, "Acme_Life")
	cloud := local.Cloud()

	t.Log("a preview of what is not there yet makes nothing")
	require.Len(t, l.must(plan.StepPreview).Report, siloResources)
	require.Empty(t, l.resources())

	t.Log("up")

	result := l.must(plan.StepUp)
	require.Equal(t, siloResources, result.Resources)

	made := l.resources()
	require.Len(t, made[cloudsim.TypeVPC], 1)
	require.Len(t, made[cloudsim.TypeSubnet], 2)
	require.Len(t, made[cloudsim.TypeSecurityGroup], 2)
	require.Len(t, made[cloudsim.TypeCluster], 1)
	require.Len(t, made[cloudsim.TypeListener], 1)
	require.InEpsilon(t, 30.0, made[cloudsim.TypeLogGroup][0].Inputs["retentionInDays"], 0)
	require.Len(t, made[cloudsim.TypeLoadBalancer], 1)
	require.Equal(t, cloudsim.StateAvailable, made[cloudsim.TypeLoadBalancer][0].State)
	require.Len(t, made[cloudsim.TypeLoadBalancer][0].Inputs["subnets"], 2)
	require.Len(t, made[cloudsim.TypeKey], 1)
	require.Len(t, made[cloudsim.TypeSubnetGroup], 1)
	require.NotEqual(t, made[cloudsim.TypeSubnet][0].Inputs["availabilityZone"], made[cloudsim.TypeSubnet][1].Inputs["availabilityZone"])

	db := l.database()
	require.Equal(t, cloudsim.StateAvailable, db.State)
	require.Equal(t, l.top.PhysicalName("db", 63), db.ID)
	require.Equal(t, made[cloudsim.TypeKey][0].Outputs["arn"], db.Inputs["kmsKeyId"])
	require.Equal(t, true, db.Inputs["storageEncrypted"])
	require.NotContains(t, db.Inputs, "password")
	require.Equal(t, map[string]string{
		"tenant-id": l.top.Tenant.String(), "tier": "enterprise", "managed-by": "lessor", "Name": db.ID,
	}, db.Tags)
	require.JSONEq(t, `"`+made[cloudsim.TypeVPC][0].ID+`"`, string(result.Outputs["vpcId"]))
	require.JSONEq(t, `"`+db.Text("endpoint")+`"`, string(result.Outputs["databaseEndpoint"]))
	require.Contains(t, string(result.Outputs["databaseSecretArn"]), "secret:rds!db-")

	t.Log("no change: nothing is touched")

	before := l.mutations()
	again := l.must(plan.StepRefresh, plan.StepUp)
	require.Equal(t, before, l.mutations())
	require.Zero(t, again.Changes["create"]+again.Changes["update"]+again.Changes["replace"]+again.Changes["delete"], "%v", again.Changes)
	require.Equal(t, result.Outputs, again.Outputs)
	require.Empty(t, l.must(plan.StepRefresh).Report)
	require.Empty(t, l.must(plan.StepPreview).Report)

	t.Log("protection")

	l.top.Protect = true
	l.must(plan.StepUp)
	require.Equal(t, true, l.database().Inputs["deletionProtection"])

	t.Log("a changed parameter changes one resource")

	with("storageGiB", "50")(&l.top)

	changed := l.must(plan.StepUp)
	require.Equal(t, 1, changed.Changes["update"], "%v", changed.Changes)
	require.InEpsilon(t, 50.0, l.database().Inputs["allocatedStorage"], 0)
	require.Equal(t, db.Outputs["endpoint"], l.database().Outputs["endpoint"])

	t.Log("a suspended tenant keeps its data and lets nothing connect")

	l.top.Phase = tenant.PhaseSuspended
	l.must(plan.StepUp)

	for _, access := range l.resources()[cloudsim.TypeSecurityGroup] {
		require.Empty(t, access.Inputs["ingress"], access.Tags["Name"])
	}

	l.top.Phase = tenant.PhaseActive
	l.must(plan.StepUp)

	for _, access := range l.resources()[cloudsim.TypeSecurityGroup] {
		require.Len(t, access.Inputs["ingress"], 1, access.Tags["Name"])
	}

	t.Log("drift is seen and repaired")

	drifted := l.database()
	drifted.Inputs["backupRetentionPeriod"] = 1
	_, err := cloud.Change(t.Context(), cloudsim.Change{
		Type: drifted.Type, Region: drifted.Region, ID: drifted.ID, Inputs: drifted.Inputs, Behind: true,
	})
	require.NoError(t, err)
	require.Equal(t, []tenant.Difference{
		{Type: drifted.Type, Name: "t1-db", Action: "update", Properties: []string{"backupRetentionPeriod"}, Drift: true},
	}, l.must(plan.StepRefresh).Report)

	l.must(plan.StepRefresh, plan.StepUp)
	require.InEpsilon(t, 7.0, l.database().Inputs["backupRetentionPeriod"], 0)

	t.Log("a resource that somebody deleted is made anew")

	alias := l.database()
	alias.Type, alias.ID = cloudsim.TypeAlias, "alias/"+l.top.PhysicalName("key", 250)
	require.NoError(t, cloud.Remove(t.Context(), cloudsim.Removal{Type: alias.Type, Region: alias.Region, ID: alias.ID, Behind: true}))
	l.must(plan.StepRefresh, plan.StepUp)

	_, err = cloud.Get(t.Context(), alias.Type, alias.Region, alias.ID)
	require.NoError(t, err)

	t.Log("deletion leaves the snapshot and the key that it needs")

	refused := l.run(plan.StepDestroy)
	require.NotNil(t, refused.Failure)

	l.top.FinalSnapshot = l.top.Tenant.Slug(63) + "-final"
	l.must(plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove)

	left := l.resources()
	require.Len(t, left[cloudsim.TypeSnapshot], 1)
	require.Equal(t, l.top.Tenant.Slug(63)+"-final", left[cloudsim.TypeSnapshot][0].ID)
	require.Len(t, left[cloudsim.TypeKey], 1)
	require.Equal(t, cloudsim.StateAvailable, left[cloudsim.TypeKey][0].State)
	require.Equal(t, left[cloudsim.TypeSnapshot][0].ID, left[cloudsim.TypeKey][0].Tags[inventory.TagKeptFor])
	require.Len(t, left, 2, "%v", left)

	t.Log("another life under the same id starts clean")

	l.created, l.top.Protect, l.top.FinalSnapshot = false, false, ""
	require.Equal(t, siloResources, l.must(plan.StepUp).Resources)
	l.must(plan.StepDestroy, plan.StepRemove)
	require.Len(t, l.resources(), 2)
}

func TestSiloFailsInTheMiddle(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		fault cloudsim.Fault
		want  string
		// exists is whether the database is there afterwards.
		exists bool
	}{
		"refused": {cloudsim.Fault{
			Effect: cloudsim.EffectFail, Code: "AccessDenied",
			Message: "User: arn:aws:iam::000000000000:user/x is not authorized to perform: rds:CreateDBInstance",
		}, "rds:CreateDBInstance", false},
		"crash": {cloudsim.Fault{Effect: cloudsim.EffectCrash}, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			l := newLife(t, tenant.ID("fails-"+name))
			tc.fault.Operation, tc.fault.Type, tc.fault.Tenant = cloudsim.OperationCreate, cloudsim.TypeInstance, l.top.Tenant.String()

			_, err := local.Cloud().SetFault(t.Context(), tc.fault)
			require.NoError(t, err)

			failed := l.run(plan.StepUp)
			require.NotNil(t, failed.Failure)
			require.Contains(t, failed.Failure.Message, tc.want)
			require.Equal(t, tc.exists, len(l.resources()[cloudsim.TypeInstance]) == 1)

			if tc.exists {
				return
			}

			require.NotEmpty(t, l.resources()[cloudsim.TypeVPC])

			t.Log("what was made can be unmade")
			l.must(plan.StepDestroy, plan.StepRemove)
			require.Empty(t, l.resources())
		})
	}
}
