package cloudsim_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// peered is a hub and a VPC that is peered with it, with a table whose route leads
// to the hub.
type peered struct {
	hub, vpc, subnet, peering, table, route, association cloudsim.Resource
}

func (a *account) peered() peered {
	a.t.Helper()

	var p peered

	p.hub = a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16"})
	p.vpc = a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.1.0.0/16"})
	p.subnet = a.must(cloudsim.TypeSubnet, props{"vpcId": p.vpc.ID, "cidrBlock": "10.1.0.0/20"})
	p.peering = a.must(cloudsim.TypePeering, props{"vpcId": p.vpc.ID, "peerVpcId": p.hub.ID, "autoAccept": true})
	p.table = a.must(cloudsim.TypeRouteTable, props{"vpcId": p.vpc.ID})
	p.route = a.must(cloudsim.TypeRoute, p.to(nil))
	p.association = a.must(cloudsim.TypeRouteAssociation, props{"subnetId": p.subnet.ID, "routeTableId": p.table.ID})

	return p
}

// to is a route to the hub, with changes.
func (p peered) to(changes props) props {
	inputs := props{
		"routeTableId": p.table.ID, "destinationCidrBlock": p.hub.Inputs["cidrBlock"], "vpcPeeringConnectionId": p.peering.ID,
	}
	maps.Copy(inputs, changes)

	return inputs
}

func TestPeeringIsRefusedAsByAWS(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		typ    string
		inputs func(a *account, p peered) props
		code   string
		text   string
	}{
		"without a vpc": {
			cloudsim.TypePeering, func(_ *account, p peered) props { return props{"vpcId": "vpc-0", "peerVpcId": p.hub.ID} },
			"InvalidVpcID.NotFound", "'vpc-0' does not exist",
		},
		"without a hub": {
			cloudsim.TypePeering, func(_ *account, p peered) props { return props{"vpcId": p.hub.ID, "peerVpcId": "vpc-0"} },
			"InvalidVpcID.NotFound", "'vpc-0' does not exist",
		},
		"overlapping ranges": {
			cloudsim.TypePeering, func(a *account, p peered) props {
				return props{"vpcId": a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.0.128.0/20"}).ID, "peerVpcId": p.hub.ID}
			},
			"VpcPeeringConnectionFailed", "overlapping CIDR range",
		},
		"a second connection": {
			cloudsim.TypePeering, func(_ *account, p peered) props { return props{"vpcId": p.vpc.ID, "peerVpcId": p.hub.ID} },
			"VpcPeeringConnectionAlreadyExists", "already exists: pcx-",
		},
		"a second connection from the other side": {
			cloudsim.TypePeering, func(_ *account, p peered) props { return props{"vpcId": p.hub.ID, "peerVpcId": p.vpc.ID} },
			"VpcPeeringConnectionAlreadyExists", "already exists: pcx-",
		},
		"a table without a vpc": {
			cloudsim.TypeRouteTable, func(*account, peered) props { return props{"vpcId": "vpc-0"} },
			"InvalidVpcID.NotFound", "'vpc-0' does not exist",
		},
		"a route without a table": {
			cloudsim.TypeRoute, func(_ *account, p peered) props { return p.to(props{"routeTableId": "rtb-0"}) },
			"InvalidRouteTableID.NotFound", "'rtb-0' does not exist",
		},
		"a route to nowhere": {
			cloudsim.TypeRoute, func(_ *account, p peered) props { return p.to(props{"destinationCidrBlock": "10.0.0.1/16"}) },
			"InvalidParameterValue", "not a valid CIDR block",
		},
		"a route within the vpc": {
			cloudsim.TypeRoute, func(_ *account, p peered) props { return p.to(props{"destinationCidrBlock": "10.1.128.0/20"}) },
			"InvalidParameterValue", "only supports interface and instance targets",
		},
		"a second route": {
			cloudsim.TypeRoute, func(_ *account, p peered) props { return p.to(nil) },
			"RouteAlreadyExists", "The route identified by 10.0.0.0/16 already exists.",
		},
		"a route over no connection": {
			cloudsim.TypeRoute, func(_ *account, p peered) props {
				return p.to(props{"destinationCidrBlock": "10.2.0.0/16", "vpcPeeringConnectionId": "pcx-0"})
			},
			"InvalidVpcPeeringConnectionID.NotFound", "'pcx-0' does not exist",
		},
		"a route over the connection of others": {
			cloudsim.TypeRoute, func(a *account, p peered) props {
				other := a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.2.0.0/16"})

				return p.to(props{"routeTableId": other.Outputs["mainRouteTableId"]})
			},
			"InvalidParameterValue", "belong to different networks",
		},
		"a route over a connection that is not accepted": {
			cloudsim.TypeRoute, func(a *account, p peered) props {
				other := a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.2.0.0/16"})
				peering := a.must(cloudsim.TypePeering, props{"vpcId": p.vpc.ID, "peerVpcId": other.ID})

				return p.to(props{"destinationCidrBlock": "10.2.0.0/16", "vpcPeeringConnectionId": peering.ID})
			},
			"InvalidStateTransition", "is not active",
		},
		"a subnet with two tables": {
			cloudsim.TypeRouteAssociation, func(a *account, p peered) props {
				return props{"subnetId": p.subnet.ID, "routeTableId": a.must(cloudsim.TypeRouteTable, props{"vpcId": p.vpc.ID}).ID}
			},
			"Resource.AlreadyAssociated", "conflicts with an existing association",
		},
		"a table without a subnet": {
			cloudsim.TypeRouteAssociation, func(_ *account, p peered) props { return props{"subnetId": "subnet-0", "routeTableId": p.table.ID} },
			"InvalidSubnetID.NotFound", "'subnet-0' does not exist",
		},
		"a subnet without a table": {
			cloudsim.TypeRouteAssociation, func(a *account, p peered) props {
				return props{"subnetId": a.must(cloudsim.TypeSubnet, props{"vpcId": p.vpc.ID, "cidrBlock": "10.1.16.0/20"}).ID, "routeTableId": "rtb-0"}
			},
			"InvalidRouteTableID.NotFound", "'rtb-0' does not exist",
		},
		"a subnet and a table of two networks": {
			cloudsim.TypeRouteAssociation, func(a *account, p peered) props {
				return props{"subnetId": a.must(cloudsim.TypeSubnet, props{"vpcId": p.hub.ID, "cidrBlock": "10.0.0.0/20"}).ID, "routeTableId": p.table.ID}
			},
			"InvalidParameterValue", "belong to different networks",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			a := newAccount(t, instant())
			inputs := tc.inputs(a, a.peered())
			_, err := a.create(tc.typ, inputs)
			refused(t, err, tc.code, tc.text)
		})
	}
}

func TestPeering(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	p := a.peered()

	require.Equal(t, "active", p.peering.Outputs["acceptStatus"])
	require.Equal(t, cloudsim.Account, p.peering.Outputs["peerOwnerId"])
	require.Equal(t, cloudsim.RouteID(p.table.ID, "10.0.0.0/16"), p.route.ID)
	require.Equal(t, cloudsim.AssociationID(p.subnet.ID), p.association.ID)

	back := a.must(cloudsim.TypeRoute, p.to(props{
		"routeTableId": p.hub.Outputs["mainRouteTableId"], "destinationCidrBlock": "10.1.0.0/16",
	}))

	wide := a.must(cloudsim.TypeRoute, p.to(props{
		"routeTableId": p.hub.Outputs["mainRouteTableId"], "destinationCidrBlock": "10.0.0.0/8",
	}))

	// A change is judged as a creation is, but not by its own name.
	require.NoError(t, a.change(p.route, nil))
	refused(t, a.change(p.route, props{"vpcPeeringConnectionId": "pcx-0"}), "InvalidVpcPeeringConnectionID.NotFound", "pcx-0")
	require.NoError(t, a.change(p.peering, props{"autoAccept": false}))

	accepted, err := a.Get(t.Context(), p.peering.Type, region, p.peering.ID)
	require.NoError(t, err)
	require.Equal(t, "active", accepted.Outputs["acceptStatus"], "what is accepted stays so")
	require.NoError(t, a.change(p.association, nil))

	for _, r := range []cloudsim.Resource{p.hub, p.vpc, p.table} {
		refused(t, a.remove(r, nil), "DependencyViolation", "has dependencies and cannot be deleted")
	}

	t.Log("an association goes with its subnet, a route with its table")
	require.NoError(t, a.remove(p.subnet, nil))
	refused(t, a.remove(p.vpc, nil), "DependencyViolation", p.vpc.ID)

	_, err = a.Get(t.Context(), p.association.Type, region, p.association.ID)
	require.True(t, cloudsim.IsNotFound(err))
	require.NoError(t, a.remove(p.table, nil))

	_, err = a.Get(t.Context(), p.route.Type, region, p.route.ID)
	require.True(t, cloudsim.IsNotFound(err))

	for _, vpc := range []cloudsim.Resource{p.vpc, p.hub} {
		refused(t, a.remove(vpc, nil), "DependencyViolation", vpc.ID)
	}

	t.Log("a connection can go before its routes")
	require.NoError(t, a.remove(p.peering, nil))
	require.NoError(t, a.remove(back, nil))
	require.NoError(t, a.remove(wide, nil))
	require.NoError(t, a.remove(p.vpc, nil))
	require.NoError(t, a.remove(p.hub, nil))
}
