package programs_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// commons makes what the tenants of a tier share, and returns the parameters
// that name it.
func commons(t *testing.T, region, name string) tenant.Parameters {
	t.Helper()

	add := func(typ string, inputs map[string]any) string {
		r, err := local.Cloud().Create(t.Context(), cloudsim.Creation{Type: typ, Region: region, Inputs: inputs})
		require.NoError(t, err)

		return r.ID
	}

	vpc := add(cloudsim.TypeVPC, map[string]any{"cidrBlock": "10.0.0.0/16"})
	subnets := []any{
		add(cloudsim.TypeSubnet, map[string]any{"vpcId": vpc, "cidrBlock": "10.0.0.0/20", "availabilityZone": region + "a"}),
		add(cloudsim.TypeSubnet, map[string]any{"vpcId": vpc, "cidrBlock": "10.0.16.0/20", "availabilityZone": region + "b"}),
	}
	access := add(cloudsim.TypeSecurityGroup, map[string]any{"vpcId": vpc, "name": name})
	balancer := add(cloudsim.TypeLoadBalancer, map[string]any{"name": name, "subnets": subnets, "securityGroups": []any{access}})
	parameters := tenant.Parameters{}

	for parameter, value := range map[string]any{
		"clusterArn": add(cloudsim.TypeCluster, map[string]any{"name": name}),
		"listenerArn": add(cloudsim.TypeListener, map[string]any{
			"loadBalancerArn": balancer, "port": 443, "protocol": "HTTPS", "certificateArn": "arn:aws:acm:x",
			"defaultActions": []any{map[string]any{"type": "fixed-response"}},
		}),
		"vpcId": vpc, "subnetIds": subnets, "securityGroupIds": []any{access},
		"executionRoleArn": "arn:aws:iam::000000000000:role/execution", "domain": "tenants.example.com", "image": "images.example.com/app:1",
	} {
		raw, err := json.Marshal(value)
		require.NoError(t, err)

		parameters[parameter] = raw
	}

	return parameters
}

func (l *life) bridge(parameters tenant.Parameters) {
	l.top.Program, l.top.Tier = "bridge", "business"
	l.top.Parameters = maps.Clone(parameters)
}

// one is the tenant's only resource of a type.
func (l *life) one(typ string) cloudsim.Resource {
	l.t.Helper()

	found := l.resources()[typ]
	require.Len(l.t, found, 1, typ)

	return found[0]
}

// bridgeResources is how many resources a bridge has.
const bridgeResources = 10

func TestBridgeLife(t *testing.T) {
	t.Parallel()

	l, neighbour := newLife(t, "Acme_Bridge"), newLife(t, "neighbour")
	shared := commons(t, l.top.Region, "life")
	l.bridge(shared)
	neighbour.bridge(shared)

	t.Log("a preview of what is not there yet makes nothing")
	require.Len(t, l.must(plan.StepPreview).Report, bridgeResources)
	require.Empty(t, l.resources())

	t.Log("up")

	result := l.must(plan.StepUp)
	require.Equal(t, bridgeResources, result.Resources)

	counts := map[string]int{}

	for typ, list := range l.resources() {
		counts[typ] = len(list)

		for _, r := range list {
			require.Equal(t, "business", r.Tags["tier"])
			require.Equal(t, "lessor", r.Tags["managed-by"])
			require.NotEmpty(t, r.Tags["Name"])
		}
	}

	require.Equal(t, map[string]int{
		cloudsim.TypeTable: 1, cloudsim.TypeQueue: 2, cloudsim.TypeLogGroup: 1, cloudsim.TypeRole: 1, cloudsim.TypeTaskDefinition: 1,
		cloudsim.TypeTargetGroup: 1, cloudsim.TypeListenerRule: 1, cloudsim.TypeService: 1,
	}, counts, "and an inline policy, which carries no tags")

	service := l.one(cloudsim.TypeService)
	require.Equal(t, cloudsim.StateAvailable, service.State)
	require.InEpsilon(t, 2.0, service.Inputs["desiredCount"], 0)
	require.Equal(t, l.one(cloudsim.TypeTaskDefinition).ID, service.Inputs["taskDefinition"])

	route := l.one(cloudsim.TypeListenerRule)
	require.JSONEq(t, `"https://`+l.top.PhysicalName("app", 63)+`.tenants.example.com"`, string(result.Outputs["endpoint"]))
	require.JSONEq(t, `"`+l.one(cloudsim.TypeTable).ID+`"`, string(result.Outputs["tableName"]))
	l.reachesOnlyItsOwn()

	t.Log("a neighbour at the same listener has a rule of its own")
	neighbour.must(plan.StepUp)
	require.NotEqual(t, route.Outputs["priority"], neighbour.one(cloudsim.TypeListenerRule).Outputs["priority"])

	theirs := neighbour.mutations()

	t.Log("no change: nothing is touched")

	before := l.mutations()
	again := l.must(plan.StepRefresh, plan.StepUp)
	require.Equal(t, before, l.mutations())
	require.Equal(t, result.Outputs, again.Outputs)
	require.Empty(t, l.must(plan.StepRefresh).Report)
	require.Empty(t, l.must(plan.StepPreview).Report)

	t.Log("protection")

	l.top.Protect = true
	l.must(plan.StepUp)
	require.Equal(t, true, l.one(cloudsim.TypeTable).Inputs["deletionProtectionEnabled"])

	l.suspendAndResume(result)

	t.Log("another image is another revision, and the service stays")
	with("image", `"images.example.com/app:2"`)(&l.top)
	l.must(plan.StepUp)

	task := l.one(cloudsim.TypeTaskDefinition)
	require.Contains(t, task.Inputs["containerDefinitions"], "app:2")
	require.Equal(t, task.ID, l.one(cloudsim.TypeService).Inputs["taskDefinition"])
	require.Equal(t, service.ID, l.one(cloudsim.TypeService).ID)

	t.Log("another port replaces nothing that is in use")
	with("containerPort", "9090")(&l.top)

	moved := l.must(plan.StepUp)
	require.Equal(t, 1, moved.Changes["replace"], "the task definition alone: %v", moved.Changes)

	t.Log("deletion is refused while it is protected, and leaves a backup")
	require.NotNil(t, l.run(plan.StepDestroy).Failure)
	require.Len(t, l.resources()[cloudsim.TypeTable], 1)

	table := l.one(cloudsim.TypeTable).ID
	l.top.FinalSnapshot = l.top.Tenant.Slug(63) + "-final"
	l.must(plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove)
	require.Empty(t, l.resources())
	require.Equal(t, 1, backups(t, table))

	t.Log("the neighbour noticed nothing")
	require.Equal(t, theirs, neighbour.mutations())
	neighbour.must(plan.StepDestroy, plan.StepRemove)
	require.Empty(t, neighbour.resources())
}

func (l *life) suspendAndResume(before engine.Result) {
	l.t.Helper()
	l.t.Log("suspended: no task, no way in, and the data stays")

	made := l.resources()
	l.top.Phase = tenant.PhaseSuspended
	l.must(plan.StepUp)

	service := l.one(cloudsim.TypeService)
	require.Zero(l.t, service.Inputs["desiredCount"])
	require.Empty(l.t, service.Inputs["loadBalancers"])

	actions, err := json.Marshal(l.one(cloudsim.TypeListenerRule).Inputs["actions"])
	require.NoError(l.t, err)
	require.Contains(l.t, string(actions), "fixed-response")
	require.NotContains(l.t, string(actions), "forward")

	for _, typ := range []string{cloudsim.TypeTable, cloudsim.TypeQueue, cloudsim.TypeLogGroup} {
		require.Equal(l.t, made[typ], l.resources()[typ], typ)
	}

	l.t.Log("resumed: the same outputs")

	l.top.Phase = tenant.PhaseActive
	require.Equal(l.t, before.Outputs, l.must(plan.StepUp).Outputs)
	require.Equal(l.t, made[cloudsim.TypeService][0].Inputs, l.one(cloudsim.TypeService).Inputs)
	require.Equal(l.t, made[cloudsim.TypeListenerRule][0].Inputs, l.one(cloudsim.TypeListenerRule).Inputs)
}

// reachesOnlyItsOwn compares the role's policy with what the tenant has.
func (l *life) reachesOnlyItsOwn() {
	l.t.Helper()

	role := l.one(cloudsim.TypeRole)
	inline, err := local.Cloud().Get(l.t.Context(), cloudsim.TypeRolePolicy, l.top.Region, role.ID+":own-resources")
	require.NoError(l.t, err)

	var policy struct {
		Statement []struct {
			Resource []string `json:"Resource"`
		} `json:"Statement"`
	}

	require.NoError(l.t, json.Unmarshal([]byte(inline.Text("policy")), &policy))

	var reached []string
	for _, statement := range policy.Statement {
		reached = append(reached, statement.Resource...)
	}

	var queue cloudsim.Resource

	for _, r := range l.resources()[cloudsim.TypeQueue] {
		if r.Inputs["redrivePolicy"] != nil {
			queue = r
		}
	}

	table, logs := l.one(cloudsim.TypeTable), l.one(cloudsim.TypeLogGroup)
	require.ElementsMatch(l.t, []string{table.ARN(), queue.ARN(), logs.ARN() + ":*"}, reached)
}

// backups are those that DynamoDB took of a table when it was deleted.
func backups(t *testing.T, table string) int {
	t.Helper()

	list, err := local.Cloud().List(t.Context(), cloudsim.Filter{Type: cloudsim.TypeBackup})
	require.NoError(t, err)

	n := 0

	for _, backup := range list {
		if backup.Inputs["tableName"] == table {
			n++
		}
	}

	return n
}

// A tenant that is suspended before it was ever made must be makeable: AWS takes
// a service behind a target group only once traffic is sent there.
func TestBridgeBeginsSuspended(t *testing.T) {
	t.Parallel()

	l := newLife(t, "late")
	l.bridge(commons(t, l.top.Region, "late"))
	l.top.Phase = tenant.PhaseSuspended
	require.Equal(t, bridgeResources, l.must(plan.StepUp).Resources)
	require.Zero(t, l.one(cloudsim.TypeService).Inputs["desiredCount"])

	l.top.Phase = tenant.PhaseActive
	l.must(plan.StepUp)
	require.InEpsilon(t, 2.0, l.one(cloudsim.TypeService).Inputs["desiredCount"], 0)
	l.must(plan.StepDestroy, plan.StepRemove)
	require.Empty(t, l.resources())
}

func TestBridgeFailsInTheMiddle(t *testing.T) {
	t.Parallel()

	l := newLife(t, "fails-bridge")
	l.bridge(commons(t, l.top.Region, "fails"))

	_, err := local.Cloud().SetFault(t.Context(), cloudsim.Fault{
		Effect: cloudsim.EffectFail, Code: "AccessDeniedException", Message: "not authorized to perform: ecs:CreateService",
		Operation: cloudsim.OperationCreate, Type: cloudsim.TypeService, Tenant: l.top.Tenant.String(),
	})
	require.NoError(t, err)

	failed := l.run(plan.StepUp)
	require.NotNil(t, failed.Failure)
	require.Contains(t, failed.Failure.Message, "ecs:CreateService")
	require.Len(t, l.resources()[cloudsim.TypeTable], 1)

	t.Log("what was made can be unmade")
	l.must(plan.StepDestroy, plan.StepRemove)
	require.Empty(t, l.resources())

	look, err := local.Cloud().List(t.Context(), cloudsim.Filter{Type: cloudsim.TypeRolePolicy, Tags: map[string]string{inventory.TagTenant: l.top.Tenant.String()}})
	require.NoError(t, err)
	require.Empty(t, look)
}
