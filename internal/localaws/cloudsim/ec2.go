package cloudsim

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

const (
	minVPCBits       = 16
	maxVPCBits       = 28
	codeDependency   = "DependencyViolation"
	codeInvalidValue = "InvalidParameterValue"
	codeInvalidCombo = "InvalidParameterCombination"
)

// availabilityZones are the suffixes of the zones that every simulated region
// has. https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/using-regions-availability-zones.html
const availabilityZones = "abc"

func ec2Kinds() map[string]kind {
	return map[string]kind{
		TypeVPC: {
			prefix: "vpc-",
			missing: func(id string) *Error {
				return notFound("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", id)
			},
			check:   checkVPC,
			fill:    fillVPC,
			blocked: vpcBlocked,
		},
		TypeSubnet: {
			prefix: "subnet-",
			missing: func(id string) *Error {
				return notFound("InvalidSubnetID.NotFound", "The subnet ID '%s' does not exist", id)
			},
			check:   checkSubnet,
			fill:    fillSubnet,
			blocked: subnetBlocked,
			deleted: subnetDeleted,
		},
		TypeSecurityGroup: {
			prefix: "sg-",
			name:   "name",
			scope:  "vpcId",
			// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html
			names: regexp.MustCompile(`^[a-zA-Z0-9 ._\-:/()#,@\[\]+=&;{}!$*]{1,255}$`),
			badName: func(name string) *Error {
				return badRequest(codeInvalidValue, "Value (%s) for parameter GroupName is invalid. "+
					"Character sets beyond ASCII are not supported, and it has at most 255 characters.", name)
			},
			taken: func(r *Resource) *Error {
				return badRequest("InvalidGroup.Duplicate", "The security group '%s' already exists for VPC '%s'",
					r.Text("name"), r.Text("vpcId"))
			},
			missing: func(id string) *Error {
				return notFound("InvalidGroup.NotFound", "The security group '%s' does not exist", id)
			},
			check:   checkSecurityGroup,
			fill:    fillSecurityGroup,
			blocked: securityGroupBlocked,
		},
	}
}

// checkVPC: a VPC has a block between /16 and /28.
// https://docs.aws.amazon.com/vpc/latest/userguide/vpc-cidr-blocks.html
func checkVPC(_ *Cloud, r, old *Resource) *Error {
	prefix, ok := r.cidr()
	if !ok {
		return badRequest(codeInvalidValue, "Value (%s) for parameter cidrBlock is invalid. This is not a valid CIDR block.",
			r.Text("cidrBlock"))
	}

	if bits := prefix.Bits(); bits < minVPCBits || bits > maxVPCBits {
		return badRequest("InvalidVpc.Range", "The CIDR '%s' is invalid.", prefix)
	}

	if old != nil && old.Text("cidrBlock") != r.Text("cidrBlock") {
		return badRequest("OperationNotPermitted", "The CIDR of a VPC cannot be changed.")
	}

	return nil
}

func fillVPC(_ *Cloud, r *Resource) {
	r.set("arn", arn("ec2", r.Region, "vpc/"+r.ID))
	r.set("ownerId", Account)
	r.set("mainRouteTableId", "rtb-"+strings.TrimPrefix(r.ID, "vpc-"))
	r.set("defaultRouteTableId", "rtb-"+strings.TrimPrefix(r.ID, "vpc-"))
	r.set("defaultNetworkAclId", "acl-"+strings.TrimPrefix(r.ID, "vpc-"))
	r.set("defaultSecurityGroupId", "sg-"+strings.TrimPrefix(r.ID, "vpc-"))
	r.set("dhcpOptionsId", "dopt-"+strings.TrimPrefix(r.ID, "vpc-"))
}

// vpcBlocked: what stands in a VPC keeps it.
// https://docs.aws.amazon.com/vpc/latest/userguide/delete-vpc.html
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteVpc.html
func vpcBlocked(c *Cloud, r, _ *Resource) *Error {
	for _, typ := range []string{TypeSubnet, TypeSecurityGroup, TypeRouteTable, TypePeering, TypeEndpoint} {
		for _, other := range c.of(typ, r.Region) {
			if other.uses(r.ID, "vpcId", "peerVpcId") {
				return badRequest(codeDependency, "The vpc '%s' has dependencies and cannot be deleted.", r.ID)
			}
		}
	}

	return nil
}

// checkSubnet: a subnet is within its VPC, apart from the other subnets, and in
// a zone that there is.
// https://docs.aws.amazon.com/vpc/latest/userguide/subnet-sizing.html
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
func checkSubnet(c *Cloud, r, old *Resource) *Error {
	vpc := c.find(TypeVPC, r.Region, r.Text("vpcId"))
	if vpc == nil {
		return badRequest("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", r.Text("vpcId"))
	}

	prefix, ok := r.cidr()
	within, _ := vpc.cidr()

	if !ok || prefix.Bits() > maxVPCBits || prefix.Bits() < within.Bits() || !within.Contains(prefix.Addr()) {
		return badRequest("InvalidSubnet.Range", "The CIDR '%s' is invalid.", r.Text("cidrBlock"))
	}

	if other := c.overlapping(r, vpc.ID, prefix); other != "" {
		return badRequest("InvalidSubnet.Conflict", "The CIDR '%s' conflicts with another subnet", prefix)
	}

	zone := r.Text("availabilityZone")
	if zone != "" && !slices.Contains(zonesOf(r.Region), zone) {
		return badRequest(codeInvalidValue, "Value (%s) for parameter availabilityZone is invalid. "+
			"Subnets can currently only be created in the following availability zones: %s.",
			zone, strings.Join(zonesOf(r.Region), ", "))
	}

	if old != nil && (old.Text("vpcId") != vpc.ID || old.Text("cidrBlock") != r.Text("cidrBlock")) {
		return badRequest("OperationNotPermitted", "The VPC and the CIDR of a subnet cannot be changed.")
	}

	return nil
}

func (c *Cloud) overlapping(r *Resource, vpc string, prefix netip.Prefix) string {
	for _, other := range c.of(TypeSubnet, r.Region) {
		if other.ID == r.ID || other.Text("vpcId") != vpc {
			continue
		}

		if taken, _ := other.cidr(); taken.Overlaps(prefix) {
			return other.ID
		}
	}

	return ""
}

func zonesOf(region string) []string {
	zones := make([]string, 0, len(availabilityZones))
	for _, suffix := range availabilityZones {
		zones = append(zones, region+string(suffix))
	}

	return zones
}

func fillSubnet(_ *Cloud, r *Resource) {
	if r.Text("availabilityZone") == "" {
		r.set("availabilityZone", r.Region+availabilityZones[:1])
	}

	r.set("arn", arn("ec2", r.Region, "subnet/"+r.ID))
	r.set("ownerId", Account)
	r.set("availabilityZoneId", fmt.Sprintf("%s-az%d", shortRegion(r.Region), zoneNumber(r.Text("availabilityZone"))))
}

func zoneNumber(zone string) int {
	return strings.IndexByte(availabilityZones, zone[len(zone)-1]) + 1
}

// shortRegion turns us-east-1 into use1, as the ids of zones have it.
func shortRegion(region string) string {
	parts := strings.Split(region, "-")
	for i := 1; i < len(parts)-1; i++ {
		parts[i] = parts[i][:min(len(parts[i]), 1)]
	}

	return strings.Join(parts, "")
}

// subnetBlocked: a database, a load balancer or a service in a subnet keeps it,
// because its network interface is there. https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteSubnet.html
func subnetBlocked(c *Cloud, r, _ *Resource) *Error {
	if c.attached(r.Region, r.ID) {
		return badRequest(codeDependency, "The subnet '%s' has dependencies and cannot be deleted.", r.ID)
	}

	for _, group := range c.of(TypeSubnetGroup, r.Region) {
		if !group.uses(r.ID, "subnetIds") {
			continue
		}

		for _, db := range c.of(TypeInstance, r.Region) {
			if db.Text("dbSubnetGroupName") == group.ID {
				return badRequest(codeDependency, "The subnet '%s' has dependencies and cannot be deleted.", r.ID)
			}
		}
	}

	return nil
}

// attached reports whether a load balancer, an endpoint or the tasks of a service
// have network interfaces in a subnet or with a security group. Tasks that are being stopped
// have theirs until they are.
// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-lifecycle-explanation.html
func (c *Cloud) attached(region, id string) bool {
	for _, balancer := range c.of(TypeLoadBalancer, region) {
		if balancer.uses(id, "subnets", "securityGroups") {
			return true
		}
	}

	for _, endpoint := range c.of(TypeEndpoint, region) {
		if endpoint.uses(id, "subnetIds", "securityGroupIds") {
			return true
		}
	}

	for _, service := range c.of(TypeService, region) {
		if count, _ := service.number("desiredCount"); count == 0 && service.State == StateAvailable {
			continue
		}

		for _, network := range service.parts("networkConfiguration") {
			if network.uses(id, "subnets", "securityGroups") {
				return true
			}
		}
	}

	return false
}

// checkSecurityGroup: names that look like ids are refused, and a rule's source
// must exist.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html
func checkSecurityGroup(c *Cloud, r, _ *Resource) *Error {
	if strings.HasPrefix(r.Text("name"), "sg-") {
		return badRequest(codeInvalidValue, "Invalid parameter: GroupName may not be in the format sg-*.")
	}

	if vpc := r.Text("vpcId"); vpc != "" && c.find(TypeVPC, r.Region, vpc) == nil {
		return badRequest("InvalidVpcID.NotFound", "The vpc ID '%s' does not exist", vpc)
	}

	for _, source := range r.ruleSources() {
		if source != r.ID && c.find(TypeSecurityGroup, r.Region, source) == nil {
			return badRequest("InvalidGroup.NotFound", "The security group '%s' does not exist", source)
		}
	}

	return nil
}

func fillSecurityGroup(_ *Cloud, r *Resource) {
	r.set("arn", arn("ec2", r.Region, "security-group/"+r.ID))
	r.set("ownerId", Account)
}

// ruleSources are the security groups that the rules of one admit.
func (r *Resource) ruleSources() []string {
	var sources []string

	for _, direction := range []string{"ingress", "egress"} {
		rules, _ := r.Inputs[direction].([]any)
		for _, rule := range rules {
			properties, _ := rule.(map[string]any)
			sources = append(sources, (&Resource{Inputs: properties}).texts("securityGroups")...)
		}
	}

	return sources
}

// securityGroupBlocked: a group in use cannot go.
// https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DeleteSecurityGroup.html
func securityGroupBlocked(c *Cloud, r, _ *Resource) *Error {
	refusal := badRequest(codeDependency, "resource %s has a dependent object", r.ID)
	if c.attached(r.Region, r.ID) {
		return refusal
	}

	for _, db := range c.of(TypeInstance, r.Region) {
		if db.uses(r.ID, "vpcSecurityGroupIds") {
			return refusal
		}
	}

	for _, other := range c.of(TypeSecurityGroup, r.Region) {
		if other.ID != r.ID && slices.Contains(other.ruleSources(), r.ID) {
			return refusal
		}
	}

	return nil
}
