package programs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// peering is a silo that is peered with a hub and has a block of a pool.
func peering(changes ...func(*engine.Topology)) engine.Topology {
	return topology(append([]func(*engine.Topology){
		func(top *engine.Topology) { top.Network = "10.64.16.0/20" },
		with("peerVpcId", `"vpc-00000001"`), with("peerCidr", `"10.0.0.0/16"`),
	}, changes...)...)
}

func TestSiloTakesItsBlock(t *testing.T) {
	t.Parallel()

	block := func(top *engine.Topology) { top.Network = "10.64.16.0/20" }
	out := must(t, programs.Silo(), topology(block, with("cidr", `"10.9.0.0/16"`)))

	require.Equal(t, "10.64.16.0/20", out.inputs("t1-vpc")["cidrBlock"])
	require.Equal(t, "10.64.16.0/24", out.inputs("t1-private-1")["cidrBlock"])
	require.Equal(t, "10.64.17.0/24", out.inputs("t1-private-2")["cidrBlock"])

	for _, access := range []string{"t1-db-access", "t1-alb-access"} {
		require.Equal(t, []any{[]any{"10.64.16.0/20"}}, admitted(out, access))
	}

	for name := range out.resources {
		require.NotContains(t, name, "peer")
		require.NotContains(t, name, "route")
	}
}

func TestSharedTakesItsBlock(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Shared(), topology(func(top *engine.Topology) { top.Network = "10.64.16.0/20" }))
	require.Equal(t, "10.64.16.0/20", out.inputs("t1-vpc")["cidrBlock"])
	require.Equal(t, []any{[]any{"10.64.16.0/20"}}, admitted(out, "t1-db-access"))
}

// admitted are the ranges that the ingress rules of a security group name.
func admitted(out outcome, name string) []any {
	rules, _ := out.inputs(name)["ingress"].([]any)
	ranges := make([]any, 0, len(rules))

	for _, r := range rules {
		rule, _ := r.(map[string]any)
		ranges = append(ranges, rule["cidrBlocks"])
	}

	return ranges
}

func TestSiloPeering(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Silo(), peering(with("peerRouteTableIds", `["rtb-0000000a","rtb-0000000b"]`)))

	connection := out.inputs("t1-peering")
	require.Equal(t, "t1-vpc-id", connection["vpcId"])
	require.Equal(t, "vpc-00000001", connection["peerVpcId"])
	require.Equal(t, true, connection["autoAccept"])

	require.Equal(t, map[string]any{
		"routeTableId": "t1-routes-id", "destinationCidrBlock": "10.0.0.0/16", "vpcPeeringConnectionId": "t1-peering-id",
	}, out.inputs("t1-to-hub"))
	require.Equal(t, map[string]any{"subnetId": "t1-private-1-id", "routeTableId": "t1-routes-id"}, out.inputs("t1-private-1-routes"))
	require.Equal(t, map[string]any{"subnetId": "t1-private-2-id", "routeTableId": "t1-routes-id"}, out.inputs("t1-private-2-routes"))

	for _, table := range []string{"rtb-0000000a", "rtb-0000000b"} {
		require.Equal(t, map[string]any{
			"routeTableId": table, "destinationCidrBlock": "10.64.16.0/20", "vpcPeeringConnectionId": "t1-peering-id",
		}, out.inputs("t1-from-"+table))
	}

	t.Log("a peering lets nothing in by itself")
	require.Equal(t, []any{[]any{"10.64.16.0/20"}}, admitted(out, "t1-alb-access"))
	require.Equal(t, []any{[]any{"10.64.16.0/20"}}, admitted(out, "t1-db-access"))

	for name, r := range out.resources {
		if !strings.HasPrefix(r.TypeToken, "aws:ec2/") {
			continue
		}

		in := out.inputs(name)
		tags, _ := in["tags"].(map[string]any)
		_, verdict := inventory.Identify(inventory.Known{Type: r.TypeToken, Inputs: in}, nil)
		require.True(t, verdict == inventory.Exists || tags[inventory.TagName] != nil, "%s is not found by its name", name)
	}
}

func TestSiloPeerAccess(t *testing.T) {
	t.Parallel()

	own, hub := []any{"10.64.16.0/20"}, []any{"10.0.0.0/16"}

	for access, want := range map[string]struct{ balancer, database []any }{
		`["loadBalancer"]`:             {[]any{own, hub}, []any{own}},
		`["database"]`:                 {[]any{own}, []any{own, hub}},
		`["database", "loadBalancer"]`: {[]any{own, hub}, []any{own, hub}},
	} {
		out := must(t, programs.Silo(), peering(with("peerAccess", access)))
		require.Equal(t, want.balancer, admitted(out, "t1-alb-access"), access)
		require.Equal(t, want.database, admitted(out, "t1-db-access"), access)

		suspended := must(t, programs.Silo(), peering(with("peerAccess", access), func(top *engine.Topology) { top.Phase = tenant.PhaseSuspended }))
		require.Empty(t, admitted(suspended, "t1-alb-access"))
		require.Empty(t, admitted(suspended, "t1-db-access"))
	}

	out := must(t, programs.Silo(), peering(with("peerAccess", `["database", "loadBalancer"]`)))

	for access, port := range map[string]float64{"t1-alb-access": 80, "t1-db-access": 5432} {
		rules, _ := out.inputs(access)["ingress"].([]any)
		rule, _ := rules[1].(map[string]any)
		require.InEpsilon(t, port, rule["fromPort"], 0)
		require.InEpsilon(t, port, rule["toPort"], 0)
		require.Equal(t, "tcp", rule["protocol"])
	}
}

// What AWS would refuse when the network stands is refused before anything is made.
func TestSiloRefusesToPeer(t *testing.T) {
	t.Parallel()

	unpooled := func(top *engine.Topology) { top.Network = "" }

	for name, tc := range map[string]struct {
		topology engine.Topology
		want     string
	}{
		"a block within the hub":  {peering(with("peerCidr", `"10.64.0.0/16"`)), "parameters.peerCidr: 10.64.0.0/16 overlaps 10.64.16.0/20"},
		"a hub within the block":  {peering(with("peerCidr", `"10.64.16.0/28"`)), "parameters.peerCidr: 10.64.16.0/28 overlaps 10.64.16.0/20"},
		"a range of its own":      {peering(unpooled, with("cidr", `"10.0.128.0/20"`)), "parameters.peerCidr: 10.0.0.0/16 overlaps 10.0.128.0/20"},
		"the range of all others": {peering(unpooled, with("peerCidr", `"10.1.0.0/16"`)), "parameters.peerVpcId: the network has the default range 10.0.0.0/16"},
	} {
		out, err := deploy(t, programs.Silo(), tc.topology)
		require.ErrorContains(t, err, tc.want, name)

		var parameter *engine.ParameterError

		require.ErrorAs(t, err, &parameter)
		require.Empty(t, out.resources, name)
	}

	require.Equal(t, "10.1.0.0/16", must(t, programs.Silo(), peering(unpooled, with("cidr", `"10.1.0.0/16"`))).inputs("t1-vpc")["cidrBlock"])
}
