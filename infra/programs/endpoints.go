package programs

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// EndpointsArgs say what Endpoints lead to.
type EndpointsArgs struct {
	Network *Network
	// Inside is the range that may use them.
	Inside netip.Prefix
	// Services are those that get interfaces, by the names that AWS has for
	// them in a region, such as ecr.api.
	Services []string
}

// Endpoints lead from a network without a way to the internet to services of AWS:
// gateways to S3 and DynamoDB, which cost nothing, and interfaces to others.
type Endpoints struct {
	pulumi.ResourceState

	Access     *ec2.SecurityGroup
	Gateways   []*ec2.VpcEndpoint
	Interfaces []*ec2.VpcEndpoint
}

// serviceForm is the name of a service within a region.
// https://docs.aws.amazon.com/vpc/latest/privatelink/aws-services-privatelink-support.html
const serviceForm = `^[a-z0-9][a-z0-9.-]{0,62}$`

// NewEndpoints declares endpoints. The gateways are in the network's main route
// table, which all of its subnets have.
func NewEndpoints(ctx *pulumi.Context, topology engine.Topology, args EndpointsArgs, opts ...pulumi.ResourceOption) (*Endpoints, error) {
	endpoints := &Endpoints{}
	if err := ctx.RegisterComponentResource("lessor:programs:Endpoints", topology.Name("endpoints"), endpoints, opts...); err != nil {
		return nil, fmt.Errorf("endpoints: %w", err)
	}

	within := pulumi.Parent(endpoints)

	for _, service := range []string{"s3", "dynamodb"} {
		gateway, err := ec2.NewVpcEndpoint(ctx, topology.Name("endpoint-"+service), &ec2.VpcEndpointArgs{
			VpcId:           args.Network.VPC.ID(),
			ServiceName:     pulumi.String(serviceName(topology, service)),
			VpcEndpointType: pulumi.String("Gateway"),
			RouteTableIds:   pulumi.StringArray{args.Network.VPC.MainRouteTableId},
			Tags:            named(topology.PhysicalName("endpoint-"+service, maxTagValue)),
		}, within)
		if err != nil {
			return nil, fmt.Errorf("gateway to %s: %w", service, err)
		}

		endpoints.Gateways = append(endpoints.Gateways, gateway)
	}

	if len(args.Services) == 0 {
		return endpoints, nil
	}

	if err := endpoints.interfaces(ctx, topology, args, within); err != nil {
		return nil, err
	}

	return endpoints, nil
}

func (e *Endpoints) interfaces(ctx *pulumi.Context, topology engine.Topology, args EndpointsArgs, within pulumi.ResourceOption) error {
	name := topology.PhysicalName("endpoints", maxSecurityGroupName)

	var err error

	e.Access, err = ec2.NewSecurityGroup(ctx, topology.Name("endpoint-access"), &ec2.SecurityGroupArgs{
		Name:        pulumi.String(name),
		Description: pulumi.String("Access to services of AWS from the network of " + topology.Tenant.String()),
		VpcId:       args.Network.VPC.ID(),
		Ingress: ec2.SecurityGroupIngressArray{ec2.SecurityGroupIngressArgs{
			Description: pulumi.String("HTTPS from the network"),
			Protocol:    pulumi.String("tcp"), FromPort: pulumi.Int(portHTTPS), ToPort: pulumi.Int(portHTTPS),
			CidrBlocks: pulumi.ToStringArray([]string{args.Inside.String()}),
		}},
		Egress: ec2.SecurityGroupEgressArray{},
		Tags:   named(name),
	}, within)
	if err != nil {
		return fmt.Errorf("security group: %w", err)
	}

	for _, service := range args.Services {
		part := "endpoint-" + strings.ReplaceAll(service, ".", "-")

		endpoint, err := ec2.NewVpcEndpoint(ctx, topology.Name(part), &ec2.VpcEndpointArgs{
			VpcId:             args.Network.VPC.ID(),
			ServiceName:       pulumi.String(serviceName(topology, service)),
			VpcEndpointType:   pulumi.String("Interface"),
			SubnetIds:         args.Network.SubnetIDs(),
			SecurityGroupIds:  pulumi.StringArray{e.Access.ID()},
			PrivateDnsEnabled: pulumi.Bool(true),
			Tags:              named(topology.PhysicalName(part, maxTagValue)),
		}, within)
		if err != nil {
			return fmt.Errorf("interface to %s: %w", service, err)
		}

		e.Interfaces = append(e.Interfaces, endpoint)
	}

	return nil
}

// serviceName is the whole name of a service in the topology's region.
func serviceName(topology engine.Topology, service string) string {
	return "com.amazonaws." + topology.Region + "." + service
}
