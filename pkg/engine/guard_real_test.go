package engine_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/awsplugin"
	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// deployNetworks makes a network for each of its ranges, by name.
func deployNetworks(ctx *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
	p := struct {
		Ranges map[string]string `json:"ranges"`
		Label  string            `json:"label"`
	}{}
	if err := engine.Decode(t.Parameters, &p); err != nil {
		return nil, err
	}

	for _, name := range slices.Sorted(maps.Keys(p.Ranges)) {
		err := ctx.RegisterResource(cloudsim.TypeVPC, t.Name(name), pulumi.Map{
			"cidrBlock": pulumi.String(p.Ranges[name]), "tags": pulumi.StringMap{"label": pulumi.String(p.Label)},
		}, &pulumi.CustomResourceState{}, pulumi.Version(awsplugin.Version), pulumi.Protect(t.Protect))
		if err != nil {
			return nil, err
		}
	}

	return pulumi.Map{"label": pulumi.String(p.Label)}, nil
}

// networks is an operation on networks with these ranges.
func (c *cloudBed) networks(label string, ranges map[string]string, steps ...plan.Step) engine.Operation {
	op := c.operation("acme", true, "networks", steps...)
	op.Topologies[0].Parameters = tenant.Parameters{"ranges": encoded(ranges), "label": encoded(label)}

	return op
}

func encoded(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}

	return text
}

// changes counts what happened in the cloud so far.
func (c *cloudBed) changes(t *testing.T) int {
	t.Helper()

	log, err := c.cloud.Log(t.Context(), 0)
	require.NoError(t, err)

	return len(log)
}

func requireProcesses(t *testing.T, want int, res engine.Result) {
	t.Helper()

	require.Nil(t, res.Failure)
	require.Equal(t, want, res.Processes)
}

func TestAGuardOnTheRealCLI(t *testing.T) {
	t.Parallel()

	c := newCloudBed(t, time.Minute)
	guard := &tenant.Guard{MaxDeletes: new(0), MaxReplaces: new(0)}
	run := func(op engine.Operation) engine.Result { return <-c.run(t.Context(), op) }
	guarded := func(op engine.Operation) engine.Operation {
		op.Guard = guard

		return op
	}

	first := map[string]string{"a": "10.0.0.0/16", "b": "10.1.0.0/16", "c": "10.2.0.0/16"}
	op := c.networks("red", first, plan.StepUp)
	op.Stack.Created = false
	requireProcesses(t, 2, run(op))

	t.Log("a guard costs a process, and none costs none")

	requireProcesses(t, 1, run(c.networks("red", first, plan.StepUp)))
	requireProcesses(t, 2, run(guarded(c.networks("red", first, plan.StepUp))))
	requireProcesses(t, 2, run(guarded(c.networks("blue", first, plan.StepUp))))

	t.Log("a preview tells everything and changes nothing")

	second := map[string]string{"a": "10.0.0.0/16", "c": "10.3.0.0/16", "d": "10.4.0.0/16"}
	all := []tenant.Difference{
		{Type: cloudsim.TypeVPC, Name: "t1-b", Action: "delete"},
		{Type: cloudsim.TypeVPC, Name: "t1-c", Action: "replace", Properties: []string{"cidrBlock", "tags"}},
		{Type: cloudsim.TypeVPC, Name: "t1-a", Action: "update", Properties: []string{"tags"}},
		{Type: cloudsim.TypeVPC, Name: "t1-d", Action: "create"},
	}
	before := c.changes(t)

	res := run(c.networks("green", second, plan.StepPreview))
	requireProcesses(t, 1, res)
	require.Equal(t, all, res.Report)

	t.Log("the guard stops the same")

	res = run(guarded(c.networks("green", second, plan.StepUp)))
	require.NotNil(t, res.Failure)
	require.Equal(t, &tenant.Failure{
		Kind: tenant.KindApproval, Step: "up",
		Message: "the guard of the tier stops an update that would delete 1 resource, where maxDeletes is 0, and replace 1 resource, " +
			"where maxReplaces is 0: delete aws:ec2/vpc:Vpc t1-b, replace aws:ec2/vpc:Vpc t1-c",
		Hint: "see `enqueue status acme`, then `enqueue approve acme`",
	}, res.Failure)
	require.Equal(t, all, res.Report)
	require.Equal(t, all[:2], res.Exceeds.Report)
	require.True(t, res.Clean)
	require.Equal(t, 1, res.Processes)
	require.Empty(t, res.Changes)
	require.Equal(t, 3, res.Resources)
	require.Equal(t, before, c.changes(t), "nothing was changed")
	require.ElementsMatch(t, []string{"t1-a", "t1-b", "t1-c"}, c.inState(t))

	t.Log("a requested preview serves the guard too")

	res = run(guarded(c.networks("green", second, plan.StepRefresh, plan.StepPreview, plan.StepUp)))
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindApproval, res.Failure.Kind)
	require.Equal(t, 2, res.Processes, "refresh and preview")
	require.Equal(t, all, res.Report)

	t.Log("another change is not what was approved")

	stopped := res.Exceeds
	third := map[string]string{"c": "10.3.0.0/16"}
	op = guarded(c.networks("green", third, plan.StepUp))
	op.Approved = stopped
	res = run(op)
	require.NotNil(t, res.Failure)
	require.NotEqual(t, stopped.Digest, res.Exceeds.Digest)
	require.Len(t, res.Exceeds.Report, 3)
	require.Equal(t, before, c.changes(t))

	t.Log("what was approved passes")

	op = guarded(c.networks("green", second, plan.StepUp))
	op.Approved = stopped
	res = run(op)
	requireProcesses(t, 2, res)
	require.Nil(t, res.Exceeds)
	require.Empty(t, res.Report)
	require.Equal(t, 1, res.Changes["delete"])
	require.JSONEq(t, `"green"`, string(res.Outputs["label"]))
	require.ElementsMatch(t, []string{"t1-a", "t1-c", "t1-d"}, c.inState(t))

	t.Log("with a refresh, the guard sees what is really there")

	gone, err := c.cloud.List(t.Context(), cloudsim.Filter{Type: cloudsim.TypeVPC})
	require.NoError(t, err)

	i := slices.IndexFunc(gone, func(r cloudsim.Resource) bool { return r.Text("cidrBlock") == "10.4.0.0/16" })
	require.NoError(t, c.cloud.Remove(t.Context(), cloudsim.Removal{Type: cloudsim.TypeVPC, Region: gone[i].Region, ID: gone[i].ID}))

	fourth := map[string]string{"a": "10.0.0.0/16", "c": "10.3.0.0/16"}
	res = run(guarded(c.networks("green", fourth, plan.StepUp)))
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindApproval, res.Failure.Kind, "the state has it yet")
	requireProcesses(t, 2, run(guarded(c.networks("green", fourth, plan.StepRefresh, plan.StepUp))))
	require.ElementsMatch(t, []string{"t1-a", "t1-c"}, c.inState(t))

	t.Log("two topologies are previewed as one")

	op = guarded(c.networks("green", fourth, plan.StepPreview, plan.StepUp))
	beside := op.Topologies[0]
	beside.Generation = 2
	op.Topologies = []engine.Topology{beside, op.Topologies[0]}
	res = run(op)
	requireProcesses(t, 2, res)
	require.Equal(t, []tenant.Difference{
		{Type: cloudsim.TypeVPC, Name: "t2-a", Action: "create"}, {Type: cloudsim.TypeVPC, Name: "t2-c", Action: "create"},
	}, res.Report)

	op.Topologies[0].Parameters = tenant.Parameters{"ranges": encoded(map[string]string{"a": "10.0.0.0/16"})}
	res = run(op)
	require.NotNil(t, res.Failure)
	require.Equal(t, []tenant.Difference{{Type: cloudsim.TypeVPC, Name: "t2-c", Action: "delete"}}, res.Exceeds.Report)

	t.Log("no approval takes away what is protected")

	op = c.networks("green", fourth, plan.StepUp)
	op.Topologies[0].Protect = true
	requireProcesses(t, 1, run(op))

	before = c.changes(t)
	op = guarded(c.networks("green", third, plan.StepUp))
	op.Topologies[0].Protect = true
	res = run(op)
	require.NotNil(t, res.Failure)
	require.Contains(t, res.Failure.Hint, "protected")
	require.Nil(t, res.Exceeds)
	require.Equal(t, before, c.changes(t))
}
