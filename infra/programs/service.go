package programs

import (
	"fmt"
	"strconv"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ecs"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/lb"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// ServiceArgs say what a Service is like.
type ServiceArgs struct {
	// ClusterARN and ListenerARN are where it runs and where its traffic comes
	// from.
	ClusterARN  string
	ListenerARN string
	// Host is the name that its traffic is addressed to.
	Host string

	VPCID            string
	SubnetIDs        []string
	SecurityGroupIDs []string

	Image           string
	Port            int
	HealthCheckPath string
	// CPU is in units of a 1024th, Memory in MiB.
	CPU, Memory int
	// Count is how many tasks serve; none do while the tenant is suspended.
	Count int
	// Role is what the containers run as, ExecutionRoleARN what starts them:
	// it pulls the image and opens the log.
	Role             *iam.Role
	ExecutionRoleARN string
	Logs             *cloudwatch.LogGroup
	Environment      map[string]pulumi.StringInput
}

// Service is an ECS service on Fargate, behind a listener of an application load
// balancer that tells tenants apart by host.
type Service struct {
	pulumi.ResourceState

	TaskDefinition *ecs.TaskDefinition
	TargetGroup    *lb.TargetGroup
	Rule           *lb.ListenerRule
	Service        *ecs.Service
}

const (
	containerName = "app"
	// targetPort is a default that every target overrides: changing it would
	// replace the target group, which is in use.
	targetPort = 80
	// graceSeconds is how long a container may take to answer health checks.
	graceSeconds = 60
	drainSeconds = 30
)

// NewService declares a service. While the tenant is suspended it has no tasks,
// and the load balancer answers for it. The rule comes first in both directions:
// what is suspended is cut off before it is stopped, and AWS accepts a target
// group for a service only once a rule sends traffic to it.
func NewService(ctx *pulumi.Context, topology engine.Topology, args ServiceArgs, opts ...pulumi.ResourceOption) (*Service, error) {
	service := &Service{}
	if err := ctx.RegisterComponentResource("lessor:programs:Service", topology.Name("app"), service, opts...); err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}

	within := pulumi.Parent(service)

	var err error

	if service.TaskDefinition, err = newTaskDefinition(ctx, topology, args, within); err != nil {
		return nil, fmt.Errorf("task definition: %w", err)
	}

	name := topology.PhysicalName("app", maxTargetGroupName)

	service.TargetGroup, err = lb.NewTargetGroup(ctx, topology.Name("targets"), &lb.TargetGroupArgs{
		Name:                pulumi.String(name),
		Port:                pulumi.Int(targetPort),
		Protocol:            pulumi.String("HTTP"),
		TargetType:          pulumi.String("ip"),
		VpcId:               pulumi.String(args.VPCID),
		DeregistrationDelay: pulumi.Int(drainSeconds),
		HealthCheck:         lb.TargetGroupHealthCheckArgs{Path: pulumi.String(args.HealthCheckPath), Matcher: pulumi.String("200-399")},
		Tags:                named(name),
	}, within)
	if err != nil {
		return nil, fmt.Errorf("target group: %w", err)
	}

	// There is no priority, so that the next free one is taken: hosts are
	// unique, so the order of rules means nothing, and a number made of the
	// tenant's id would sooner or later be another one's too.
	service.Rule, err = lb.NewListenerRule(ctx, topology.Name("route"), &lb.ListenerRuleArgs{
		ListenerArn: pulumi.String(args.ListenerARN),
		Conditions: lb.ListenerRuleConditionArray{lb.ListenerRuleConditionArgs{
			HostHeader: lb.ListenerRuleConditionHostHeaderArgs{Values: pulumi.ToStringArray([]string{args.Host})},
		}},
		Actions: lb.ListenerRuleActionArray{service.action(topology)},
		Tags:    named(topology.PhysicalName("route", maxTagValue)),
	}, within)
	if err != nil {
		return nil, fmt.Errorf("listener rule: %w", err)
	}

	if service.Service, err = newService(ctx, topology, args, service, within); err != nil {
		return nil, fmt.Errorf("service: %w", err)
	}

	return service, nil
}

func (s *Service) action(topology engine.Topology) lb.ListenerRuleActionArgs {
	if serving(topology) {
		return lb.ListenerRuleActionArgs{Type: pulumi.String("forward"), TargetGroupArn: s.TargetGroup.Arn}
	}

	return lb.ListenerRuleActionArgs{Type: pulumi.String("fixed-response"), FixedResponse: lb.ListenerRuleActionFixedResponseArgs{
		StatusCode: pulumi.String("503"), ContentType: pulumi.String("text/plain"), MessageBody: pulumi.String("suspended"),
	}}
}

func newTaskDefinition(
	ctx *pulumi.Context, topology engine.Topology, args ServiceArgs, opts ...pulumi.ResourceOption,
) (*ecs.TaskDefinition, error) {
	environment := make(pulumi.Array, 0, len(args.Environment))
	for _, name := range sorted(args.Environment) {
		environment = append(environment, pulumi.Map{"name": pulumi.String(name), "value": args.Environment[name]})
	}

	name := topology.PhysicalName("app", maxECSName)

	return ecs.NewTaskDefinition(ctx, topology.Name("task"), &ecs.TaskDefinitionArgs{ //nolint:wrapcheck // by the caller
		Family:                  pulumi.String(name),
		RequiresCompatibilities: pulumi.ToStringArray([]string{"FARGATE"}),
		NetworkMode:             pulumi.String("awsvpc"),
		Cpu:                     pulumi.String(strconv.Itoa(args.CPU)),
		Memory:                  pulumi.String(strconv.Itoa(args.Memory)),
		TaskRoleArn:             args.Role.Arn,
		ExecutionRoleArn:        pulumi.String(args.ExecutionRoleARN),
		ContainerDefinitions: pulumi.JSONMarshal(pulumi.Array{pulumi.Map{
			"name":         pulumi.String(containerName),
			"image":        pulumi.String(args.Image),
			"essential":    pulumi.Bool(true),
			"portMappings": pulumi.Array{pulumi.Map{"containerPort": pulumi.Int(args.Port), "protocol": pulumi.String("tcp")}},
			"environment":  environment,
			"logConfiguration": pulumi.Map{"logDriver": pulumi.String("awslogs"), "options": pulumi.Map{
				"awslogs-group":         args.Logs.Name,
				"awslogs-region":        pulumi.String(topology.Region),
				"awslogs-stream-prefix": pulumi.String(containerName),
			}},
		}}),
		Tags: named(name),
	}, opts...)
}

func newService(
	ctx *pulumi.Context, topology engine.Topology, args ServiceArgs, parts *Service, opts ...pulumi.ResourceOption,
) (*ecs.Service, error) {
	name := topology.PhysicalName("app", maxECSName)
	service := &ecs.ServiceArgs{
		Name:           pulumi.String(name),
		Cluster:        pulumi.String(args.ClusterARN),
		TaskDefinition: parts.TaskDefinition.Arn,
		LaunchType:     pulumi.String("FARGATE"),
		DesiredCount:   pulumi.Int(0),
		NetworkConfiguration: ecs.ServiceNetworkConfigurationArgs{
			Subnets: pulumi.ToStringArray(args.SubnetIDs), SecurityGroups: pulumi.ToStringArray(args.SecurityGroupIDs),
			AssignPublicIp: pulumi.Bool(false),
		},
		DeploymentCircuitBreaker: ecs.ServiceDeploymentCircuitBreakerArgs{Enable: pulumi.Bool(true), Rollback: pulumi.Bool(true)},
		// What is done is what serves: the outputs are told to others next.
		WaitForSteadyState: pulumi.Bool(true),
		// Tasks get none of these tags: a search by tag would find them, and
		// they are in no state.
		Tags: named(name),
	}

	if serving(topology) {
		service.DesiredCount = pulumi.Int(args.Count)
		service.HealthCheckGracePeriodSeconds = pulumi.Int(graceSeconds)
		service.LoadBalancers = ecs.ServiceLoadBalancerArray{ecs.ServiceLoadBalancerArgs{
			TargetGroupArn: parts.TargetGroup.Arn, ContainerName: pulumi.String(containerName), ContainerPort: pulumi.Int(args.Port),
		}}
	}

	opts = append(opts, pulumi.DependsOn([]pulumi.Resource{parts.Rule}))

	return ecs.NewService(ctx, topology.Name("service"), service, opts...) //nolint:wrapcheck // by the caller
}
