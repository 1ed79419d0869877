package programs_test

import (
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// foreign makes a resource that is not lessor's.
func foreign(t *testing.T, typ, region string, inputs map[string]any) cloudsim.Resource {
	t.Helper()

	r, err := local.Cloud().Create(t.Context(), cloudsim.Creation{
		Type: typ, Region: region, Inputs: inputs, Tags: map[string]string{"team": "billing"},
	})
	require.NoError(t, err)

	return r
}

// What AWS would refuse in the middle is refused before anything is made: a name
// that something has which is not the tenant's.
func TestSiloFindsItsNameTaken(t *testing.T) {
	t.Parallel()

	l := newLife(t, "taken")
	name := l.top.PhysicalName("cluster", 255)
	before := foreign(t, cloudsim.TypeCluster, l.top.Region, map[string]any{"name": name})

	for _, steps := range [][]plan.Step{{plan.StepPreview}, {plan.StepUp}, {plan.StepRefresh, plan.StepUp}} {
		refused := l.run(steps...)
		require.NotNil(t, refused.Failure)
		require.Equal(t, tenant.KindConflict, refused.Failure.Kind)
		require.Equal(t, name, refused.Failure.Resource)
		require.Contains(t, refused.Failure.Message, "there is a cluster named "+name+" already, which is not in the tenant's state")
		require.Contains(t, refused.Failure.Hint, "delete or rename it")
		require.Zero(t, l.mutations(), "nothing was tried")
	}

	t.Log("what a rollback does")
	l.must(plan.StepDestroy, plan.StepRemove)
	require.Zero(t, l.mutations())

	after, err := local.Cloud().Get(t.Context(), before.Type, before.Region, before.ID)
	require.NoError(t, err)
	require.Equal(t, before, after, "it is untouched")

	t.Log("once it is gone, the tenant is made, and what is the tenant's is no stranger")
	require.NoError(t, local.Cloud().Remove(t.Context(), cloudsim.Removal{Type: before.Type, Region: before.Region, ID: before.ID}))

	l.created = false
	l.must(plan.StepUp)
	l.must(plan.StepUp)
	l.must(plan.StepDestroy, plan.StepRemove)
}

// hubs have ranges of their own, since the cloud outlives a run of the test.
var hubs atomic.Int32 //nolint:gochecknoglobals // a counter of the process

func TestPeeredSiloLife(t *testing.T) {
	t.Parallel()

	l := newLife(t, "peered")
	hub := foreign(t, cloudsim.TypeVPC, l.top.Region, map[string]any{"cidrBlock": fmt.Sprintf("10.%d.0.0/16", hubs.Add(1))})
	table := foreign(t, cloudsim.TypeRouteTable, l.top.Region, map[string]any{"vpcId": hub.ID})

	l.top.Network = "10.200.16.0/20"
	with("peerVpcId", `"`+hub.ID+`"`)(&l.top)
	with("peerCidr", fmt.Sprintf("%q", hub.Text("cidrBlock")))(&l.top)
	with("peerRouteTableIds", `["`+table.ID+`"]`)(&l.top)
	with("peerAccess", `["loadBalancer"]`)(&l.top)

	t.Log("a block that overlaps the hub's range is refused before anything is made")

	block := l.top.Network
	l.top.Network = netip.MustParsePrefix(hub.Text("cidrBlock")).Addr().String() + "/20"
	refused := l.run(plan.StepUp)
	require.NotNil(t, refused.Failure)
	require.Equal(t, tenant.KindInvalid, refused.Failure.Kind)
	require.Contains(t, refused.Failure.Message, "parameters.peerCidr: "+hub.Text("cidrBlock")+" overlaps "+l.top.Network)
	require.Zero(t, l.mutations())

	l.top.Network = block

	t.Log("up")
	// A connection, a table, a route each way, and an association for each subnet.
	require.Equal(t, siloResources+6, l.must(plan.StepUp).Resources)

	made := l.resources()
	require.Equal(t, block, made[cloudsim.TypeVPC][0].Inputs["cidrBlock"])
	require.Len(t, made[cloudsim.TypePeering], 1)
	require.Equal(t, "active", made[cloudsim.TypePeering][0].Text("acceptStatus"))

	back, err := local.Cloud().Get(t.Context(), cloudsim.TypeRoute, l.top.Region, cloudsim.RouteID(table.ID, block))
	require.NoError(t, err)
	require.Equal(t, made[cloudsim.TypePeering][0].ID, back.Inputs["vpcPeeringConnectionId"])

	for _, access := range made[cloudsim.TypeSecurityGroup] {
		rules := 1
		if access.Text("name") == l.top.PhysicalName("alb", 255) {
			rules = 2
		}

		require.Len(t, access.Inputs["ingress"], rules, access.Text("name"))
	}

	again := l.must(plan.StepRefresh, plan.StepUp)
	require.Zero(t, again.Changes["create"]+again.Changes["update"]+again.Changes["replace"]+again.Changes["delete"], "%v", again.Changes)

	t.Log("another tenant's network has the same hub, and its own block")

	other := newLife(t, "peered-too")
	other.top.Parameters, other.top.Network = l.top.Parameters, "10.200.32.0/20"
	other.must(plan.StepUp)
	require.Equal(t, programs.NameSilo, other.top.Program)

	t.Log("gone without a trace, and the hub is untouched")

	for _, life := range []*life{l, other} {
		life.must(plan.StepDestroy, plan.StepRemove)
		require.Empty(t, life.resources())
	}

	_, err = local.Cloud().Get(t.Context(), back.Type, l.top.Region, back.ID)
	require.True(t, cloudsim.IsNotFound(err))

	for _, before := range []cloudsim.Resource{hub, table} {
		after, err := local.Cloud().Get(t.Context(), before.Type, before.Region, before.ID)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
}
