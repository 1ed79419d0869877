package programs

import (
	"fmt"
	"net/netip"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/lb"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// BalancerArgs say what a Balancer is like.
type BalancerArgs struct {
	Network *Network
	// Clients is the range that may connect while the tenant is serving.
	Clients netip.Prefix
	// Peer is a range beyond that may connect, too; none if it is not valid.
	Peer netip.Prefix
	// CertificateARN makes the listener one for HTTPS; "" leaves it at HTTP.
	CertificateARN string
}

// Balancer is an application load balancer in the private subnets of a network.
// Its listener answers 404 until services add their rules.
type Balancer struct {
	pulumi.ResourceState

	LoadBalancer  *lb.LoadBalancer
	Listener      *lb.Listener
	SecurityGroup *ec2.SecurityGroup
}

const (
	portHTTP, portHTTPS = 80, 443
	// tlsPolicy is AWS's recommended one.
	// https://docs.aws.amazon.com/elasticloadbalancing/latest/application/describe-ssl-policies.html
	tlsPolicy = "ELBSecurityPolicy-TLS13-1-2-2021-06"
	maxPorts  = 65535
)

// NewBalancer declares a load balancer. While the tenant is suspended nothing can
// connect to it.
func NewBalancer(ctx *pulumi.Context, topology engine.Topology, args BalancerArgs, opts ...pulumi.ResourceOption) (*Balancer, error) {
	balancer := &Balancer{}
	if err := ctx.RegisterComponentResource("lessor:programs:Balancer", topology.Name("balancer"), balancer, opts...); err != nil {
		return nil, fmt.Errorf("balancer: %w", err)
	}

	within := pulumi.Parent(balancer)

	var err error

	if balancer.SecurityGroup, err = newBalancerAccess(ctx, topology, args, within); err != nil {
		return nil, fmt.Errorf("security group: %w", err)
	}

	name := topology.PhysicalName("alb", maxBalancerName)

	balancer.LoadBalancer, err = lb.NewLoadBalancer(ctx, topology.Name("alb"), &lb.LoadBalancerArgs{
		Name:                    pulumi.String(name),
		Internal:                pulumi.Bool(true),
		LoadBalancerType:        pulumi.String("application"),
		Subnets:                 args.Network.SubnetIDs(),
		SecurityGroups:          pulumi.StringArray{balancer.SecurityGroup.ID()},
		DropInvalidHeaderFields: pulumi.Bool(true),
		Tags:                    named(name),
	}, within)
	if err != nil {
		return nil, fmt.Errorf("load balancer: %w", err)
	}

	listener := &lb.ListenerArgs{
		LoadBalancerArn: balancer.LoadBalancer.Arn,
		Port:            pulumi.Int(args.port()),
		Protocol:        pulumi.String("HTTP"),
		DefaultActions: lb.ListenerDefaultActionArray{lb.ListenerDefaultActionArgs{
			Type: pulumi.String("fixed-response"),
			FixedResponse: lb.ListenerDefaultActionFixedResponseArgs{
				StatusCode: pulumi.String("404"), ContentType: pulumi.String("text/plain"), MessageBody: pulumi.String("no such service"),
			},
		}},
		Tags: named(topology.PhysicalName("listener", maxTagValue)),
	}

	if args.CertificateARN != "" {
		listener.Protocol = pulumi.String("HTTPS")
		listener.CertificateArn = pulumi.String(args.CertificateARN)
		listener.SslPolicy = pulumi.String(tlsPolicy)
	}

	balancer.Listener, err = lb.NewListener(ctx, topology.Name("listener"), listener, within)
	if err != nil {
		return nil, fmt.Errorf("listener: %w", err)
	}

	return balancer, nil
}

func (args BalancerArgs) port() int {
	if args.CertificateARN == "" {
		return portHTTP
	}

	return portHTTPS
}

func newBalancerAccess(
	ctx *pulumi.Context, topology engine.Topology, args BalancerArgs, opts ...pulumi.ResourceOption,
) (*ec2.SecurityGroup, error) {
	name := topology.PhysicalName("alb", maxSecurityGroupName)
	clients := pulumi.ToStringArray([]string{args.Clients.String()})
	ingress := ec2.SecurityGroupIngressArray{}

	if serving(topology) {
		ingress = append(ingress, ec2.SecurityGroupIngressArgs{
			Description: pulumi.String("Requests from the tenant's own network"),
			Protocol:    pulumi.String("tcp"),
			FromPort:    pulumi.Int(args.port()),
			ToPort:      pulumi.Int(args.port()),
			CidrBlocks:  clients,
		})
		ingress = append(ingress, admit(args.Peer, args.port(), "Requests")...)
	}

	return ec2.NewSecurityGroup(ctx, topology.Name("alb-access"), &ec2.SecurityGroupArgs{ //nolint:wrapcheck // by the caller
		Name:        pulumi.String(name),
		Description: pulumi.String("Access to the load balancer of tenant " + topology.Tenant.String()),
		VpcId:       args.Network.VPC.ID(),
		Ingress:     ingress,
		Egress: ec2.SecurityGroupEgressArray{ec2.SecurityGroupEgressArgs{
			Description: pulumi.String("To services in the tenant's own network"),
			Protocol:    pulumi.String("tcp"), FromPort: pulumi.Int(0), ToPort: pulumi.Int(maxPorts), CidrBlocks: clients,
		}},
		Tags: named(name),
	}, opts...)
}
