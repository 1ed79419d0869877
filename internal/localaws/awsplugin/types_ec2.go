package awsplugin

import (
	"time"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

const ec2Timeout = 10 * time.Minute

func ec2Types() []resourceType {
	return []resourceType{
		{
			typ: "aws:ec2/vpc:Vpc", service: "EC2", noun: "EC2 VPC", taggable: true, timeout: ec2Timeout,
			calls: calls{"CreateVpc", "DescribeVpcs", "ModifyVpcAttribute", "DeleteVpc"},
			inputs: map[string]property{
				"cidrBlock":                        {required: true, replace: true},
				"instanceTenancy":                  {fallback: "default"},
				"enableDnsSupport":                 {fallback: true},
				"enableDnsHostnames":               {computed: true},
				"enableNetworkAddressUsageMetrics": {computed: true},
				"assignGeneratedIpv6CidrBlock":     {},
			},
			outputs: []string{
				"arn", "ownerId", "mainRouteTableId", "defaultRouteTableId", "defaultNetworkAclId", "defaultSecurityGroupId",
				"dhcpOptionsId",
			},
		},
		{
			typ: "aws:ec2/subnet:Subnet", service: "EC2", noun: "EC2 Subnet", taggable: true, timeout: ec2Timeout,
			calls: calls{"CreateSubnet", "DescribeSubnets", "ModifySubnetAttribute", "DeleteSubnet"},
			inputs: map[string]property{
				"vpcId":                                {required: true, replace: true},
				"cidrBlock":                            {required: true, replace: true},
				"availabilityZone":                     {computed: true, replace: true},
				"availabilityZoneId":                   {computed: true, replace: true},
				"mapPublicIpOnLaunch":                  {fallback: false},
				"assignIpv6AddressOnCreation":          {fallback: false},
				"enableDns64":                          {fallback: false},
				"enableResourceNameDnsARecordOnLaunch": {fallback: false},
				"privateDnsHostnameTypeOnLaunch":       {computed: true},
			},
			outputs: []string{"arn", "ownerId"},
		},
		{
			typ: "aws:ec2/securityGroup:SecurityGroup", service: "EC2", noun: "Security Group", taggable: true, timeout: ec2Timeout,
			calls: calls{"CreateSecurityGroup", "DescribeSecurityGroups", "AuthorizeSecurityGroupIngress", "DeleteSecurityGroup"},
			name:  autoName{property: "name", limit: 255},
			inputs: map[string]property{
				"name":                {replace: true},
				"description":         {replace: true, fallback: managed},
				"vpcId":               {replace: true, computed: true},
				"ingress":             {computed: true},
				"egress":              {computed: true},
				"revokeRulesOnDelete": {fallback: false},
			},
			outputs: []string{"arn", "ownerId"},
		},
		{
			typ: cloudsim.TypeEndpoint, service: "EC2", noun: "EC2 VPC Endpoint", taggable: true, timeout: ec2Timeout,
			calls: calls{"CreateVpcEndpoint", "DescribeVpcEndpoints", "ModifyVpcEndpoint", "DeleteVpcEndpoints"},
			inputs: map[string]property{
				"vpcId":             {required: true, replace: true},
				"serviceName":       {required: true, replace: true},
				"vpcEndpointType":   {fallback: "Gateway", replace: true},
				"subnetIds":         {},
				"securityGroupIds":  {},
				"routeTableIds":     {},
				"privateDnsEnabled": {fallback: false},
			},
			outputs: []string{"arn", "ownerId", "state"},
		},
	}
}
