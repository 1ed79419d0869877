package programs

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// NetworkArgs say what a Network is like.
type NetworkArgs struct {
	// CIDR is the range of the VPC.
	CIDR netip.Prefix
	// Zones are the availability zones; each gets a private subnet.
	Zones []string
}

// Network is a VPC with a private subnet in each of its zones and no way to the
// internet.
type Network struct {
	pulumi.ResourceState

	VPC     *ec2.Vpc
	Subnets []*ec2.Subnet
}

const (
	minVPCBits = 16
	maxVPCBits = 24
	// subnetBits more than the VPC's make 16 subnets of equal size, enough for
	// every zone twice.
	subnetBits = 4
)

// NewNetwork declares a network.
func NewNetwork(ctx *pulumi.Context, topology engine.Topology, args NetworkArgs, opts ...pulumi.ResourceOption) (*Network, error) {
	network := &Network{}
	if err := ctx.RegisterComponentResource("lessor:programs:Network", topology.Name("network"), network, opts...); err != nil {
		return nil, fmt.Errorf("network: %w", err)
	}

	within := pulumi.Parent(network)

	vpc, err := ec2.NewVpc(ctx, topology.Name("vpc"), &ec2.VpcArgs{
		CidrBlock: pulumi.String(args.CIDR.String()),
		// The database's name resolves in the VPC only with both of them.
		EnableDnsSupport:   pulumi.Bool(true),
		EnableDnsHostnames: pulumi.Bool(true),
		Tags:               named(topology.PhysicalName("vpc", maxTagValue)),
	}, within)
	if err != nil {
		return nil, fmt.Errorf("vpc: %w", err)
	}

	network.VPC = vpc

	for i, zone := range args.Zones {
		part := fmt.Sprintf("private-%d", i+1)

		subnet, err := ec2.NewSubnet(ctx, topology.Name(part), &ec2.SubnetArgs{
			VpcId:            vpc.ID(),
			CidrBlock:        pulumi.String(subnetRange(args.CIDR, i).String()),
			AvailabilityZone: pulumi.String(zone),
			Tags:             named(topology.PhysicalName(part, maxTagValue)),
		}, within)
		if err != nil {
			return nil, fmt.Errorf("subnet in %s: %w", zone, err)
		}

		network.Subnets = append(network.Subnets, subnet)
	}

	return network, nil
}

// SubnetIDs are the ids of the subnets, in the order of the zones.
func (n *Network) SubnetIDs() pulumi.StringArray {
	ids := make(pulumi.StringArray, 0, len(n.Subnets))
	for _, subnet := range n.Subnets {
		ids = append(ids, subnet.ID())
	}

	return ids
}

// subnetRange is the index-th of the equal ranges that a VPC is split into.
func subnetRange(vpc netip.Prefix, index int) netip.Prefix {
	const lowestByte, perByte = 3, 8

	bits := vpc.Bits() + subnetBits
	address := vpc.Masked().Addr().As4()
	offset := uint32(index) << (netip.IPv4Unspecified().BitLen() - bits) //nolint:gosec // a handful of zones

	for i := lowestByte; i >= 0; i-- {
		address[i] |= byte(offset)
		offset >>= perByte
	}

	return netip.PrefixFrom(netip.AddrFrom4(address), bits)
}

// rangeOf is the range of a topology's network: what the pool of its tier gave, or
// else the parameter cidr.
func rangeOf(topology engine.Topology, cidr string) (netip.Prefix, error) {
	return parseRange(cmp.Or(topology.Network, cidr))
}

// parseRange reads the range of a VPC and explains what is wrong with it.
func parseRange(cidr string) (netip.Prefix, error) {
	const name = "cidr"

	prefix, err := netip.ParsePrefix(cidr)

	switch {
	case err != nil || !prefix.Addr().Is4():
		return netip.Prefix{}, problem(name, "%q is no IPv4 range such as 10.0.0.0/16", cidr)
	case prefix != prefix.Masked():
		return netip.Prefix{}, problem(name, "%s has bits beyond its length; write %s", cidr, prefix.Masked())
	case prefix.Bits() < minVPCBits || prefix.Bits() > maxVPCBits:
		return netip.Prefix{}, problem(name, "%s must be between /%d and /%d", cidr, minVPCBits, maxVPCBits)
	case !prefix.Addr().IsPrivate():
		return netip.Prefix{}, problem(name, "%s is not private; take a part of 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16", cidr)
	default:
		return prefix, nil
	}
}

var zoneForm = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-\d[a-z]$`)

// checkZones judges the names of zones; none leaves the choice to us.
func checkZones(zones []string) error {
	if len(zones) == 0 {
		return nil
	}

	if len(zones) < minZones || len(zones) > maxZones {
		return problem("zones", "%d zones are not between %d and %d", len(zones), minZones, maxZones)
	}

	for _, zone := range zones {
		if !zoneForm.MatchString(zone) {
			return problem("zones", "%q is no availability zone such as eu-west-1a", zone)
		}
	}

	return distinct("zones", zones)
}

// placeZones are the zones named, or the first n of the region.
func placeZones(region string, named []string, n int) ([]string, error) {
	if len(named) == 0 {
		return zonesOf(region, n), nil
	}

	for _, zone := range named {
		if !strings.HasPrefix(zone, region) {
			return nil, problem("zones", "%s is not in the tenant's region %s", zone, region)
		}
	}

	return named, nil
}

// zonesOf names the first n zones of a region, which needs no call to AWS.
func zonesOf(region string, n int) []string {
	zones := make([]string, 0, n)
	for i := range n {
		zones = append(zones, region+string(rune('a'+i)))
	}

	return zones
}
