package cloudsim_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// lodging is a VPC with two subnets and its endpoints.
type lodging struct {
	vpc, one, two, access, gateway, face cloudsim.Resource
}

func (a *account) lodging() lodging {
	a.t.Helper()

	var l lodging

	l.vpc = a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.1.0.0/16", "enableDnsSupport": true, "enableDnsHostnames": true})
	l.one = a.must(cloudsim.TypeSubnet, props{"vpcId": l.vpc.ID, "cidrBlock": "10.1.0.0/20", "availabilityZone": "us-east-1a"})
	l.two = a.must(cloudsim.TypeSubnet, props{"vpcId": l.vpc.ID, "cidrBlock": "10.1.16.0/20", "availabilityZone": "us-east-1b"})
	l.access = a.must(cloudsim.TypeSecurityGroup, props{"vpcId": l.vpc.ID, "name": "endpoints"})
	l.gateway = a.must(cloudsim.TypeEndpoint, l.to("s3", props{
		"vpcEndpointType": "Gateway", "routeTableIds": []any{l.vpc.Outputs["mainRouteTableId"]},
	}))
	l.face = a.must(cloudsim.TypeEndpoint, l.interfaceTo("ecr.api", nil))

	return l
}

func (l lodging) to(service string, changes props) props {
	inputs := props{"vpcId": l.vpc.ID, "serviceName": "com.amazonaws.us-east-1." + service}
	maps.Copy(inputs, changes)

	return inputs
}

func (l lodging) interfaceTo(service string, changes props) props {
	inputs := l.to(service, props{
		"vpcEndpointType": "Interface", "subnetIds": []any{l.one.ID, l.two.ID}, "securityGroupIds": []any{l.access.ID}, "privateDnsEnabled": true,
	})
	maps.Copy(inputs, changes)

	return inputs
}

func TestEndpointIsRefusedAsByAWS(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		inputs func(a *account, l lodging) props
		code   string
		text   string
	}{
		"without a vpc": {
			func(_ *account, l lodging) props { return l.to("s3", props{"vpcId": "vpc-0"}) }, "InvalidVpcID.NotFound", "'vpc-0' does not exist",
		},
		"of another region": {
			func(_ *account, l lodging) props { return l.to("", props{"serviceName": "com.amazonaws.eu-west-1.s3"}) },
			"InvalidServiceName", "'com.amazonaws.eu-west-1.s3' does not exist",
		},
		"gateway to what has none": {
			func(_ *account, l lodging) props { return l.to("sqs", nil) }, "InvalidParameter", "does not support the Gateway endpoint type",
		},
		"gateway twice in a table": {
			func(_ *account, l lodging) props {
				return l.to("s3", props{"routeTableIds": []any{l.vpc.Outputs["mainRouteTableId"]}})
			}, "RouteAlreadyExists", "already has a route",
		},
		"gateway in no table": {
			func(_ *account, l lodging) props { return l.to("dynamodb", props{"routeTableIds": []any{"rtb-0"}}) },
			"InvalidRouteTableID.NotFound", "'rtb-0' does not exist",
		},
		"gateway in a table of others": {
			func(a *account, l lodging) props {
				other := a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.2.0.0/16"})

				return l.to("dynamodb", props{"routeTableIds": []any{a.must(cloudsim.TypeRouteTable, props{"vpcId": other.ID}).ID}})
			}, "InvalidParameterValue", "belong to different networks",
		},
		"interface in no subnet": {
			func(_ *account, l lodging) props { return l.interfaceTo("sqs", props{"subnetIds": []any{"subnet-0"}}) },
			"InvalidSubnetId.NotFound", "'subnet-0' does not exist",
		},
		"interface in a subnet of others": {
			func(a *account, l lodging) props {
				other := a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.2.0.0/16"})

				return l.interfaceTo("sqs", props{"subnetIds": []any{a.must(cloudsim.TypeSubnet, props{"vpcId": other.ID, "cidrBlock": "10.2.0.0/20"}).ID}})
			}, "InvalidParameter", "does not belong to VPC",
		},
		"interface twice in a zone": {
			func(a *account, l lodging) props {
				third := a.must(cloudsim.TypeSubnet, props{"vpcId": l.vpc.ID, "cidrBlock": "10.1.32.0/20", "availabilityZone": "us-east-1a"})

				return l.interfaceTo("sqs", props{"subnetIds": []any{l.one.ID, third.ID}})
			}, "DuplicateSubnetsInSameZone", "different availability zones",
		},
		"interface without its security group": {
			func(_ *account, l lodging) props {
				return l.interfaceTo("sqs", props{"securityGroupIds": []any{"sg-0"}})
			},
			"InvalidGroup.NotFound", "'sg-0' does not exist",
		},
		"private name twice": {
			func(_ *account, l lodging) props { return l.interfaceTo("ecr.api", nil) }, "InvalidParameter", "already a conflicting DNS domain",
		},
		"private name where none resolves": {
			func(a *account, l lodging) props {
				deaf := a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.3.0.0/16", "enableDnsSupport": true})

				return l.interfaceTo("sqs", props{"vpcId": deaf.ID, "subnetIds": []any{}})
			}, "InvalidParameter", "requires both enableDnsSupport and enableDnsHostnames",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			a := newAccount(t, instant())
			inputs := tc.inputs(a, a.lodging())
			_, err := a.create(cloudsim.TypeEndpoint, inputs)
			refused(t, err, tc.code, tc.text)
		})
	}
}

// What an endpoint has its interfaces in stays.
func TestEndpointKeepsItsNetwork(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	l := a.lodging()

	require.Equal(t, "available", l.face.Outputs["state"])
	require.Equal(t, "arn:aws:ec2:us-east-1:"+cloudsim.Account+":vpc-endpoint/"+l.face.ID, l.face.ARN())

	for _, kept := range []cloudsim.Resource{l.one, l.access, l.vpc} {
		refused(t, a.remove(kept, nil), "DependencyViolation", "")
	}

	require.NoError(t, a.remove(l.face, nil))
	require.NoError(t, a.remove(l.one, nil))
	require.NoError(t, a.remove(l.two, nil))
	require.NoError(t, a.remove(l.access, nil))
	refused(t, a.remove(l.vpc, nil), "DependencyViolation", "has dependencies")
	require.NoError(t, a.remove(l.gateway, nil))
	require.NoError(t, a.remove(l.vpc, nil))
}
