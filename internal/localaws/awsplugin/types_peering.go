package awsplugin

import (
	"strings"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

func peeringTypes() []resourceType {
	return []resourceType{
		{
			typ: cloudsim.TypePeering, service: "EC2", noun: "EC2 VPC Peering Connection", taggable: true, timeout: ec2Timeout,
			calls: calls{
				"CreateVpcPeeringConnection", "DescribeVpcPeeringConnections", "ModifyVpcPeeringConnectionOptions",
				"DeleteVpcPeeringConnection",
			},
			inputs: map[string]property{
				"vpcId":      {required: true, replace: true},
				"peerVpcId":  {required: true, replace: true},
				"autoAccept": {},
			},
			outputs: []string{"acceptStatus", "peerOwnerId", "peerRegion"},
		},
		{
			typ: cloudsim.TypeRouteTable, service: "EC2", noun: "EC2 Route Table", taggable: true, timeout: ec2Timeout,
			calls:   calls{"CreateRouteTable", "DescribeRouteTables", "CreateTags", "DeleteRouteTable"},
			inputs:  map[string]property{"vpcId": {required: true, replace: true}},
			outputs: []string{"arn", "ownerId"},
		},
		{
			typ: cloudsim.TypeRoute, service: "EC2", noun: "EC2 Route", timeout: ec2Timeout,
			calls: calls{"CreateRoute", "DescribeRouteTables", "ReplaceRoute", "DeleteRoute"},
			// TABLE_DESTINATION is the import id.
			idOf: func(_ *clients, id string) string {
				if table, destination, ok := strings.Cut(id, "_"); ok {
					return cloudsim.RouteID(table, destination)
				}

				return id
			},
			inputs: map[string]property{
				"routeTableId":           {required: true, replace: true},
				"destinationCidrBlock":   {required: true, replace: true},
				"vpcPeeringConnectionId": {required: true},
			},
			outputs: []string{"state", "origin"},
		},
		{
			typ: cloudsim.TypeRouteAssociation, service: "EC2", noun: "EC2 Route Table Association", timeout: ec2Timeout,
			calls: calls{"AssociateRouteTable", "DescribeRouteTables", "ReplaceRouteTableAssociation", "DisassociateRouteTable"},
			// SUBNET/TABLE is the import id.
			idOf: func(_ *clients, id string) string {
				if subnet, _, ok := strings.Cut(id, "/"); ok {
					return cloudsim.AssociationID(subnet)
				}

				return id
			},
			inputs: map[string]property{
				"subnetId":     {required: true, replace: true},
				"routeTableId": {required: true},
			},
		},
	}
}
