package programs

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// Hub is a VPC of the same account and region that others are peered with.
type Hub struct {
	VPCID string
	// CIDR is its range.
	CIDR netip.Prefix
	// RouteTableIDs are its route tables that get a route back.
	RouteTableIDs []string
}

// Peering connects a network with a hub: a connection that is accepted at once, and
// the routes there and back. It lets nothing in by itself; security groups do.
type Peering struct {
	pulumi.ResourceState

	Connection *ec2.VpcPeeringConnection
	Routes     *ec2.RouteTable
}

// What of a tenant the hub may connect to.
const (
	admitBalancer = "loadBalancer"
	admitDatabase = "database"
)

// NewPeering declares a peering of a network, whose range is cidr.
func NewPeering(
	ctx *pulumi.Context, topology engine.Topology, network *Network, cidr netip.Prefix, hub Hub, opts ...pulumi.ResourceOption,
) (*Peering, error) {
	peering := &Peering{}
	if err := ctx.RegisterComponentResource("lessor:programs:Peering", topology.Name("peered"), peering, opts...); err != nil {
		return nil, fmt.Errorf("peering: %w", err)
	}

	within := pulumi.Parent(peering)

	var err error

	peering.Connection, err = ec2.NewVpcPeeringConnection(ctx, topology.Name("peering"), &ec2.VpcPeeringConnectionArgs{
		VpcId:      network.VPC.ID(),
		PeerVpcId:  pulumi.String(hub.VPCID),
		AutoAccept: pulumi.Bool(true),
		Tags:       named(topology.PhysicalName("peering", maxTagValue)),
	}, within)
	if err != nil {
		return nil, fmt.Errorf("connection: %w", err)
	}

	peering.Routes, err = ec2.NewRouteTable(ctx, topology.Name("routes"), &ec2.RouteTableArgs{
		VpcId: network.VPC.ID(),
		Tags:  named(topology.PhysicalName("routes", maxTagValue)),
	}, within)
	if err != nil {
		return nil, fmt.Errorf("route table: %w", err)
	}

	if err := peering.route(ctx, topology.Name("to-hub"), peering.Routes.ID(), hub.CIDR, within); err != nil {
		return nil, err
	}

	for i, subnet := range network.Subnets {
		_, err := ec2.NewRouteTableAssociation(ctx, topology.Name(fmt.Sprintf("private-%d-routes", i+1)), &ec2.RouteTableAssociationArgs{
			SubnetId: subnet.ID(), RouteTableId: peering.Routes.ID(),
		}, within)
		if err != nil {
			return nil, fmt.Errorf("routes of subnet %d: %w", i+1, err)
		}
	}

	// They are named by their table, so that the others stay when one goes.
	for _, table := range hub.RouteTableIDs {
		if err := peering.route(ctx, topology.Name("from-"+table), pulumi.String(table), cidr, within); err != nil {
			return nil, err
		}
	}

	return peering, nil
}

func (p *Peering) route(
	ctx *pulumi.Context, name string, table pulumi.StringInput, to netip.Prefix, opts ...pulumi.ResourceOption,
) error {
	_, err := ec2.NewRoute(ctx, name, &ec2.RouteArgs{
		RouteTableId: table, DestinationCidrBlock: pulumi.String(to.String()), VpcPeeringConnectionId: p.Connection.ID(),
	}, opts...)
	if err != nil {
		return fmt.Errorf("route %s: %w", name, err)
	}

	return nil
}

// admit is an ingress rule for a hub, none for one that is not to be admitted.
func admit(hub netip.Prefix, port int, what string) ec2.SecurityGroupIngressArray {
	if !hub.IsValid() {
		return nil
	}

	return ec2.SecurityGroupIngressArray{ec2.SecurityGroupIngressArgs{
		Description: pulumi.String(what + " from the network that is peered"),
		Protocol:    pulumi.String("tcp"), FromPort: pulumi.Int(port), ToPort: pulumi.Int(port),
		CidrBlocks: pulumi.ToStringArray([]string{hub.String()}),
	}}
}

// parseHub reads the range of a hub: that of any VPC.
// https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html
func parseHub(cidr string) (netip.Prefix, error) {
	const name, maxHubBits = "peerCidr", 28

	prefix, err := netip.ParsePrefix(cidr)

	switch {
	case err != nil || !prefix.Addr().Is4():
		return netip.Prefix{}, problem(name, "%q is no IPv4 range such as 10.0.0.0/16", cidr)
	case prefix != prefix.Masked():
		return netip.Prefix{}, problem(name, "%s has bits beyond its length; write %s", cidr, prefix.Masked())
	case prefix.Bits() < minVPCBits || prefix.Bits() > maxHubBits:
		return netip.Prefix{}, problem(name, "%s must be between /%d and /%d", cidr, minVPCBits, maxHubBits)
	default:
		return prefix, nil
	}
}

// checkPeering judges the parameters of a peering. Whether ranges overlap is only
// known with the topology, whose range may come from a pool.
func (p SiloParameters) checkPeering() error {
	if p.PeerVPCID == "" {
		var problems []error

		for _, of := range []struct {
			name  string
			given bool
		}{
			{"peerCidr", p.PeerCIDR != ""},
			{"peerRouteTableIds", len(p.PeerRouteTableIDs) > 0},
			{"peerAccess", len(p.PeerAccess) > 0},
		} {
			if of.given {
				problems = append(problems, problem(of.name, "it says something of a peering, and peerVpcId is missing"))
			}
		}

		return errors.Join(problems...)
	}

	if p.PeerCIDR == "" {
		return problem("peerCidr", "missing; it is the range of peerVpcId")
	}

	_, err := parseHub(p.PeerCIDR)

	return errors.Join(err, distinct("peerRouteTableIds", p.PeerRouteTableIDs), distinct("peerAccess", p.PeerAccess))
}

// hub is what the network is peered with; its VPCID is "" if there is nothing. What
// AWS would refuse is refused here, before anything is made.
func (p SiloParameters) hub(topology engine.Topology, own netip.Prefix) (Hub, error) {
	if p.PeerVPCID == "" {
		return Hub{}, nil
	}

	cidr, err := parseHub(p.PeerCIDR)

	switch {
	case err != nil:
		return Hub{}, err
	case topology.Network == "" && p.CIDR == siloDefaults().CIDR:
		return Hub{}, problem("peerVpcId", "the network has the default range %s, as those of others may, and cannot be peered: "+
			"the tenant needs a cidr of its own, or, if it is older than the addresses of its tier, a change of tier, "+
			"which makes a new network", p.CIDR)
	case cidr.Overlaps(own):
		return Hub{}, problem("peerCidr", "%s overlaps %s, the range of the tenant's own network", cidr, own)
	}

	return Hub{VPCID: p.PeerVPCID, CIDR: cidr, RouteTableIDs: p.PeerRouteTableIDs}, nil
}

// admitted is the range of a hub that may connect to a part of the tenant, and is
// not valid if it may not.
func (p SiloParameters) admitted(part string, hub Hub) netip.Prefix {
	if slices.Contains(p.PeerAccess, part) {
		return hub.CIDR
	}

	return netip.Prefix{}
}
