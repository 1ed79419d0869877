package cloudsim

import (
	"slices"
	"strings"
)

const (
	endpointGateway   = "Gateway"
	endpointInterface = "Interface"
	serviceNameInput  = "serviceName"
	endpointTypeInput = "vpcEndpointType"
)

func endpointKinds() map[string]kind {
	return map[string]kind{
		TypeEndpoint: {
			prefix: "vpce-",
			missing: func(id string) *Error {
				return notFound("InvalidVpcEndpointId.NotFound", "The Vpc Endpoint Id '%s' does not exist", id)
			},
			check: checkEndpoint,
			fill: func(_ *Cloud, r *Resource) {
				r.set("arn", arn("ec2", r.Region, "vpc-endpoint/"+r.ID))
				r.set("ownerId", Account)
				r.set("state", statusAvailable)
			},
		},
	}
}

const statusAvailable = "available"

// checkEndpoint: the VPC exists and the service is one of the region.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateVpcEndpoint.html
// https://docs.aws.amazon.com/vpc/latest/privatelink/aws-services-privatelink-support.html
func checkEndpoint(c *Cloud, r, _ *Resource) *Error {
	vpc := c.find(TypeVPC, r.Region, r.Text("vpcId"))
	if vpc == nil {
		return badRequest(codeNoVPC, textNoVPC, r.Text("vpcId"))
	}

	service, ok := strings.CutPrefix(r.Text(serviceNameInput), "com.amazonaws."+r.Region+".")
	if !ok || service == "" {
		return badRequest("InvalidServiceName", "The Vpc Endpoint Service '%s' does not exist", r.Text(serviceNameInput))
	}

	if r.Text(endpointTypeInput) == endpointInterface {
		return c.checkInterface(r, vpc)
	}

	return c.checkGateway(r, vpc, service)
}

// checkGateway: only S3 and DynamoDB have gateways, and a route table leads to one
// of each. https://docs.aws.amazon.com/vpc/latest/privatelink/gateway-endpoints.html
func (c *Cloud) checkGateway(r, vpc *Resource, service string) *Error {
	if service != "s3" && service != "dynamodb" {
		return badRequest("InvalidParameter", "The service %s does not support the %s endpoint type",
			r.Text(serviceNameInput), endpointGateway)
	}

	for _, table := range r.texts("routeTableIds") {
		other := c.find(TypeRouteTable, r.Region, table)
		if other == nil && table != vpc.Text("mainRouteTableId") {
			return badRequest(codeNoTable, textNoTable, table)
		}

		if other != nil && other.Text("vpcId") != vpc.ID {
			return badRequest(codeInvalidValue, textElsewhere, table, vpc.ID)
		}

		for _, endpoint := range c.siblings(r) {
			if slices.Contains(endpoint.texts("routeTableIds"), table) {
				return badRequest("RouteAlreadyExists", "route table %s already has a route with destination-prefix-list-id of %s",
					table, r.Text(serviceNameInput))
			}
		}
	}

	return nil
}

// siblings are the other endpoints of the same service in the same VPC.
func (c *Cloud) siblings(r *Resource) []*Resource {
	return slices.DeleteFunc(c.of(TypeEndpoint, r.Region), func(other *Resource) bool {
		return other.ID == r.ID || other.Text("vpcId") != r.Text("vpcId") || other.Text(serviceNameInput) != r.Text(serviceNameInput)
	})
}

// checkInterface: an interface is in at most one subnet of a zone, and a private
// name needs a VPC that resolves names and is there once.
// https://docs.aws.amazon.com/vpc/latest/privatelink/create-interface-endpoint.html
func (c *Cloud) checkInterface(r, vpc *Resource) *Error {
	zones := map[string]bool{}

	for _, id := range r.texts("subnetIds") {
		subnet := c.find(TypeSubnet, r.Region, id)

		switch {
		case subnet == nil:
			return badRequest("InvalidSubnetId.NotFound", "The subnet ID '%s' does not exist", id)
		case subnet.Text("vpcId") != vpc.ID:
			return badRequest("InvalidParameter", "Subnet %s does not belong to VPC %s", id, vpc.ID)
		case zones[subnet.Text("availabilityZone")]:
			return badRequest("DuplicateSubnetsInSameZone", "Found another VPC endpoint subnet in the availability zone of %s. "+
				"VPC endpoint subnets should be in different availability zones supported by the VPC endpoint service.", id)
		}

		zones[subnet.Text("availabilityZone")] = true
	}

	for _, id := range r.texts("securityGroupIds") {
		if c.find(TypeSecurityGroup, r.Region, id) == nil {
			return badRequest("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
		}
	}

	if !r.flag("privateDnsEnabled") {
		return nil
	}

	if !vpc.flag("enableDnsSupport") || !vpc.flag("enableDnsHostnames") {
		return badRequest("InvalidParameter",
			"Enabling private DNS requires both enableDnsSupport and enableDnsHostnames VPC attributes set to true for %s", vpc.ID)
	}

	for _, endpoint := range c.siblings(r) {
		if endpoint.flag("privateDnsEnabled") {
			return badRequest("InvalidParameter", "private-dns-enabled cannot be set because there is already a conflicting DNS domain "+
				"for %s in the VPC %s", r.Text(serviceNameInput), vpc.ID)
		}
	}

	return nil
}
