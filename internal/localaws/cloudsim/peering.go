package cloudsim

import (
	"fmt"
	"hash/crc32"
	"strings"
)

const (
	statusActive  = "active"
	codeNoVPC     = "InvalidVpcID.NotFound"
	codeNoTable   = "InvalidRouteTableID.NotFound"
	codeNoPeering = "InvalidVpcPeeringConnectionID.NotFound"
	textNoVPC     = "The vpc ID '%s' does not exist"
	textNoTable   = "The routeTable ID '%s' does not exist"
	textNoPeering = "The vpcPeeringConnection ID '%s' does not exist"
	textElsewhere = "route table %s and %s belong to different networks"
	destination   = "destinationCidrBlock"
)

func peeringKinds() map[string]kind {
	return map[string]kind{
		TypePeering: {
			prefix:  "pcx-",
			missing: func(id string) *Error { return notFound(codeNoPeering, textNoPeering, id) },
			check:   checkPeering,
			fill:    fillPeering,
		},
		TypeRouteTable: {
			prefix:  "rtb-",
			missing: func(id string) *Error { return notFound(codeNoTable, textNoTable, id) },
			check:   checkRouteTable,
			fill:    fillRouteTable,
			blocked: routeTableBlocked,
			deleted: routeTableDeleted,
		},
		// A table has one route to a destination.
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
		TypeRoute: {
			id:    func(_ *Cloud, r *Resource) string { return RouteID(r.Text("routeTableId"), r.Text(destination)) },
			name:  destination,
			scope: "routeTableId",
			taken: func(r *Resource) *Error {
				return badRequest("RouteAlreadyExists", "The route identified by %s already exists.", r.Text(destination))
			},
			missing: func(string) *Error {
				return notFound("InvalidRoute.NotFound", "no route with the destination exists in the route table")
			},
			check: checkRoute,
			fill:  func(_ *Cloud, r *Resource) { r.set("state", statusActive) },
		},
		// A subnet is associated with one table.
		// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateRouteTable.html
		TypeRouteAssociation: {
			id:   func(_ *Cloud, r *Resource) string { return AssociationID(r.Text("subnetId")) },
			name: "subnetId",
			taken: func(r *Resource) *Error {
				return badRequest("Resource.AlreadyAssociated",
					"the specified association for route table %s conflicts with an existing association", r.Text("routeTableId"))
			},
			missing: func(id string) *Error {
				return notFound("InvalidAssociationID.NotFound", "The association ID '%s' does not exist", id)
			},
			check: checkAssociation,
		},
	}
}

// RouteID is the id that the provider makes up for a route, which has none at AWS.
func RouteID(table, destination string) string {
	return fmt.Sprintf("r-%s%d", table, crc32.ChecksumIEEE([]byte(destination)))
}

// AssociationID is the id of the association of a subnet.
func AssociationID(subnet string) string { return "rtbassoc-" + strings.TrimPrefix(subnet, "subnet-") }

// checkPeering: both VPCs exist, their ranges are apart, and there is no other
// connection between them. AWS makes a connection between overlapping VPCs in state
// failed, which the provider reports as an error; here it is not made at all.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateVpcPeeringConnection.html
// https://docs.aws.amazon.com/vpc/latest/peering/vpc-peering-basics.html
func checkPeering(c *Cloud, r, _ *Resource) *Error {
	mine, theirs := c.find(TypeVPC, r.Region, r.Text("vpcId")), c.find(TypeVPC, r.Region, r.Text("peerVpcId"))

	switch {
	case mine == nil:
		return badRequest(codeNoVPC, textNoVPC, r.Text("vpcId"))
	case theirs == nil:
		return badRequest(codeNoVPC, textNoVPC, r.Text("peerVpcId"))
	}

	a, _ := mine.cidr()
	b, _ := theirs.cidr()

	if a.Overlaps(b) {
		return badRequest("VpcPeeringConnectionFailed",
			"unexpected state 'failed', wanted target 'active, pending-acceptance'. last error: "+
				"Failed due to incorrect VPC-ID, Account ID, or overlapping CIDR range")
	}

	for _, other := range c.of(TypePeering, r.Region) {
		if other.ID != r.ID && other.joins(mine.ID) && other.joins(theirs.ID) {
			return badRequest("VpcPeeringConnectionAlreadyExists",
				"A VPC peering connection between %s and %s already exists: %s", mine.ID, theirs.ID, other.ID)
		}
	}

	return nil
}

// joins reports whether a VPC is a side of a peering connection.
func (r *Resource) joins(vpc string) bool { return r.uses(vpc, "vpcId", "peerVpcId") }

// fillPeering: a connection works once its other side accepted it, which the owner
// of both sides can do at once.
// https://docs.aws.amazon.com/vpc/latest/peering/vpc-peering-basics.html
func fillPeering(_ *Cloud, r *Resource) {
	r.set("peerOwnerId", Account)
	r.set("peerRegion", r.Region)
	r.set("arn", arn("ec2", r.Region, "vpc-peering-connection/"+r.ID))

	if r.flag("autoAccept") || r.Text("acceptStatus") == statusActive {
		r.set("acceptStatus", statusActive)
	} else {
		r.set("acceptStatus", "pending-acceptance")
	}
}

func checkRouteTable(c *Cloud, r, _ *Resource) *Error {
	if c.find(TypeVPC, r.Region, r.Text("vpcId")) == nil {
		return badRequest(codeNoVPC, textNoVPC, r.Text("vpcId"))
	}

	return nil
}

func fillRouteTable(_ *Cloud, r *Resource) {
	r.set("arn", arn("ec2", r.Region, "route-table/"+r.ID))
	r.set("ownerId", Account)
}

// routeTableBlocked: a table goes once no subnet uses it.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteRouteTable.html
func routeTableBlocked(c *Cloud, r, _ *Resource) *Error {
	for _, association := range c.of(TypeRouteAssociation, r.Region) {
		if association.Text("routeTableId") == r.ID {
			return badRequest(codeDependency, "The routeTable '%s' has dependencies and cannot be deleted.", r.ID)
		}
	}

	return nil
}

func routeTableDeleted(c *Cloud, r, _ *Resource) {
	for _, route := range c.of(TypeRoute, r.Region) {
		if route.Text("routeTableId") == r.ID {
			c.lose(route)
		}
	}
}

// vpcOfTable is the VPC of a route table: one that somebody made, or the main one
// of a VPC.
func (c *Cloud) vpcOfTable(region, table string) *Resource {
	if r := c.find(TypeRouteTable, region, table); r != nil {
		return c.find(TypeVPC, region, r.Text("vpcId"))
	}

	for _, vpc := range c.of(TypeVPC, region) {
		if vpc.Text("mainRouteTableId") == table {
			return vpc
		}
	}

	return nil
}

// checkRoute: what is within the VPC goes to an interface or nowhere else, and a
// peering connection carries the traffic of its own two VPCs once it is active.
// https://docs.aws.amazon.com/vpc/latest/userguide/VPC_Route_Tables.html
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateRoute.html
func checkRoute(c *Cloud, r, _ *Resource) *Error {
	vpc := c.vpcOfTable(r.Region, r.Text("routeTableId"))
	if vpc == nil {
		return badRequest(codeNoTable, textNoTable, r.Text("routeTableId"))
	}

	to, ok := (&Resource{Inputs: map[string]any{"cidrBlock": r.Text(destination)}}).cidr()
	if !ok {
		return badRequest(codeInvalidValue, "Value (%s) for parameter destinationCidrBlock is invalid. This is not a valid CIDR block.",
			r.Text(destination))
	}

	if local, _ := vpc.cidr(); local.Bits() <= to.Bits() && local.Contains(to.Addr()) {
		return badRequest(codeInvalidValue, "Route target is not supported. This route only supports interface and instance targets.")
	}

	peering := c.find(TypePeering, r.Region, r.Text("vpcPeeringConnectionId"))

	switch {
	case peering == nil:
		return badRequest(codeNoPeering, textNoPeering, r.Text("vpcPeeringConnectionId"))
	case !peering.joins(vpc.ID):
		return badRequest(codeInvalidValue, textElsewhere, r.Text("routeTableId"), peering.ID)
	case peering.Text("acceptStatus") != statusActive:
		return badRequest("InvalidStateTransition", "The vpcPeeringConnection '%s' is not active", peering.ID)
	}

	return nil
}

// checkAssociation: a table serves subnets of its own VPC.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_AssociateRouteTable.html
func checkAssociation(c *Cloud, r, _ *Resource) *Error {
	subnet, table := c.find(TypeSubnet, r.Region, r.Text("subnetId")), c.find(TypeRouteTable, r.Region, r.Text("routeTableId"))

	switch {
	case subnet == nil:
		return badRequest("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", r.Text("subnetId"))
	case table == nil:
		return badRequest(codeNoTable, textNoTable, r.Text("routeTableId"))
	case subnet.Text("vpcId") != table.Text("vpcId"):
		return badRequest(codeInvalidValue, textElsewhere, table.ID, subnet.ID)
	}

	return nil
}

// subnetDeleted: an association goes with its subnet.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteSubnet.html
func subnetDeleted(c *Cloud, r, _ *Resource) {
	if association := c.find(TypeRouteAssociation, r.Region, AssociationID(r.ID)); association != nil {
		c.lose(association)
	}
}
