package programs

import (
	"errors"
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// BridgeParameters are the parameters of Bridge.
type BridgeParameters struct {
	// ClusterARN is the shared ECS cluster, in the tenant's region.
	ClusterARN string `form:"clusterArn" json:"clusterArn" required:"true"`
	// ListenerARN is the listener of the shared load balancer.
	ListenerARN string `form:"listenerArn" json:"listenerArn" required:"true"`
	// Scheme is how customers speak to the listener: https, or http.
	Scheme string `form:"scheme" json:"scheme"`
	// VPCID is the VPC of the shared cluster.
	VPCID string `form:"vpcId" json:"vpcId" required:"true"`
	// SubnetIDs is the private subnets, in at least two zones.
	SubnetIDs []string `bounds:"2..16" form:"subnetId" json:"subnetIds" required:"true"`
	// SecurityGroupIDs is what admits the load balancer to the containers.
	SecurityGroupIDs []string `bounds:"1..5" form:"securityGroupId" json:"securityGroupIds" required:"true"`
	// ExecutionRoleARN is the role that pulls images and opens logs.
	ExecutionRoleARN string `form:"roleArn" json:"executionRoleArn" required:"true"`
	// Domain is the domain below which each tenant gets a host, at most 64 characters.
	Domain string `form:"domain" json:"domain" required:"true"`

	// Image is the container image of the application.
	Image string `form:"image" json:"image" required:"true"`
	// ContainerPort is the port that the container listens on.
	ContainerPort int `bounds:"1..65535" json:"containerPort"`
	// HealthCheckPath is what the load balancer asks for; 200 to 399 is healthy.
	HealthCheckPath string `form:"path" json:"healthCheckPath"`
	// CPU is that of a task in units of a 1024th: 256, 512, 1024, 2048, 4096, 8192 or 16384.
	CPU int `json:"cpu"`
	// Memory is that of a task in MiB, of what Fargate has for the CPU.
	Memory int `json:"memory"`
	// DesiredCount is the number of tasks; two or more are in different zones.
	DesiredCount int `bounds:"1..100" json:"desiredCount"`

	// HashKey is the table's hash key. Changing it makes an empty table.
	HashKey string `form:"attribute" json:"hashKey"`
	// RangeKey is the table's range key. Changing it makes an empty table.
	RangeKey string `form:"attribute" json:"rangeKey"`
	// PointInTimeRecovery is whether any second of the last 35 days can be restored.
	PointInTimeRecovery bool `json:"pointInTimeRecovery"`

	// VisibilitySeconds is how long a received message is hidden from others.
	VisibilitySeconds int `bounds:"0..43200" json:"visibilitySeconds"`
	// MessageRetentionDays is how long a message that nobody takes is kept.
	MessageRetentionDays int `bounds:"1..14" json:"messageRetentionDays"`
	// MaxReceiveCount is how often a message is tried before it is a dead letter.
	MaxReceiveCount int `bounds:"1..1000" json:"maxReceiveCount"`

	// LogRetentionDays is how long logs are kept, one of CloudWatch's terms: 1, 3, 5, 7, 14, 30, 60, 90 and so on.
	LogRetentionDays int `json:"logRetentionDays"`
}

// Outputs of Bridge.
const (
	OutputEndpoint           = "endpoint"
	OutputTableName          = "tableName"
	OutputQueueURL           = "queueUrl"
	OutputDeadLetterQueueURL = "deadLetterQueueUrl"
	OutputLogGroup           = "logGroup"
	OutputRoleARN            = "roleArn"
	OutputServiceName        = "serviceName"
	OutputClusterARN         = "clusterArn"
)

const (
	maxDomain = 64

	defaultPort        = 8080
	defaultCPU         = 256
	defaultMemory      = 512
	defaultCount       = 2
	defaultVisibility  = 30
	defaultMessageDays = 4
	defaultReceives    = 5
	defaultLogDays     = 30
)

// Bridge is the program for tenants that share compute and network but have data
// of their own: a table, a queue and logs, a role that reaches nothing else, and
// a service on the shared cluster behind the shared load balancer. While the
// tenant is suspended no task runs, the load balancer answers 503, and the data
// stays.
func Bridge() engine.Program {
	return program[BridgeParameters]{
		defaults: bridgeDefaults, validate: checkBridge, deploy: deployBridge,
		summary: "Shared compute and network, own data: a DynamoDB table, an SQS queue with its dead-letter queue, a log group, " +
			"a role that reaches nothing else, and an ECS service on the shared cluster behind the shared load balancer.",
		outputs: routing(
			Output{OutputEndpoint, "URL of the tenant's service."},
			Output{OutputTableName, "The tenant's DynamoDB table."},
			Output{OutputQueueURL, "The tenant's SQS queue."},
			Output{OutputDeadLetterQueueURL, "Where messages go that failed too often."},
			Output{OutputLogGroup, "The tenant's CloudWatch log group."},
			Output{OutputRoleARN, "The role that the tenant's containers run as."},
			Output{OutputServiceName, "The tenant's ECS service."},
			Output{OutputClusterARN, "The ECS cluster that it runs on."},
		),
	}
}

func bridgeDefaults() BridgeParameters {
	return BridgeParameters{
		Scheme: "https", ContainerPort: defaultPort, HealthCheckPath: "/",
		CPU: defaultCPU, Memory: defaultMemory, DesiredCount: defaultCount,
		HashKey: "pk", RangeKey: "sk", PointInTimeRecovery: true,
		VisibilitySeconds: defaultVisibility, MessageRetentionDays: defaultMessageDays, MaxReceiveCount: defaultReceives,
		LogRetentionDays: defaultLogDays,
	}
}

func checkBridge(p BridgeParameters) error {
	problems := []error{
		checkFargate(p.CPU, p.Memory), checkLogTerm("logRetentionDays", p.LogRetentionDays),
		distinct("subnetIds", p.SubnetIDs), distinct("securityGroupIds", p.SecurityGroupIDs),
	}

	if len(p.Domain) > maxDomain {
		problems = append(problems, problem("domain", "%d characters are more than %d", len(p.Domain), maxDomain))
	}

	if p.HashKey == p.RangeKey {
		problems = append(problems, problem("rangeKey", "%q is the hash key", p.RangeKey))
	}

	return errors.Join(problems...)
}

// place are the parts of an ARN that say where something is.
type place struct{ partition, region, account string }

func placeOf(arn string) place {
	const partition, region, account, all = 1, 3, 4, 6

	parts := strings.SplitN(arn, ":", all)
	if len(parts) < all {
		return place{}
	}

	return place{parts[partition], parts[region], parts[account]}
}

// checkPlace refuses what is shared in another region: AWS would, but only once
// the table stands.
func (p BridgeParameters) checkPlace(region string) error {
	var problems []error

	for _, shared := range []struct{ name, arn string }{{"clusterArn", p.ClusterARN}, {"listenerArn", p.ListenerARN}} {
		if at := placeOf(shared.arn).region; at != region {
			problems = append(problems, problem(shared.name, "it is in %s, and the tenant in %s", at, region))
		}
	}

	return errors.Join(problems...)
}

func deployBridge(ctx *pulumi.Context, topology engine.Topology, p BridgeParameters) (pulumi.Map, error) {
	if err := p.checkPlace(topology.Region); err != nil {
		return nil, err
	}

	provider, err := Provider(ctx, topology)
	if err != nil {
		return nil, err
	}

	if err := refuseTaken(ctx, topology, provider, bridgeClaims(topology, p.ClusterARN)...); err != nil {
		return nil, err
	}

	made := pulumi.Provider(provider)

	table, err := NewTable(ctx, topology, TableArgs{
		HashKey: p.HashKey, RangeKey: p.RangeKey, PointInTimeRecovery: p.PointInTimeRecovery,
	}, made)
	if err != nil {
		return nil, fmt.Errorf("declaring the table: %w", err)
	}

	queue, err := NewQueue(ctx, topology, QueueArgs{
		VisibilitySeconds: p.VisibilitySeconds, RetentionDays: p.MessageRetentionDays, MaxReceiveCount: p.MaxReceiveCount,
	}, made)
	if err != nil {
		return nil, fmt.Errorf("declaring the queue: %w", err)
	}

	logs, err := newLogs(ctx, topology, "logs", bridgeLogs(topology), p.LogRetentionDays, made)
	if err != nil {
		return nil, fmt.Errorf("declaring the logs: %w", err)
	}

	at := placeOf(p.ClusterARN)

	identity, err := NewIdentity(ctx, topology, IdentityArgs{
		Service: tasks, Account: pulumi.String(at.account),
		Source: pulumi.Sprintf("arn:%s:ecs:%s:%s:*", at.partition, at.region, at.account),
		Part:   "app", Description: "What tenant " + topology.Tenant.String() + " runs as",
		Allow: []Statement{table.Access(), queue.Access(), writeLogs(logs)},
	}, made)
	if err != nil {
		return nil, fmt.Errorf("declaring the identity: %w", err)
	}

	host := topology.PhysicalName("app", maxLabel) + "." + p.Domain

	service, err := NewService(ctx, topology, p.service(host, logs, identity, map[string]pulumi.StringInput{
		"TENANT_ID": pulumi.String(topology.Tenant), "TABLE_NAME": table.Table.Name, "QUEUE_URL": queue.Queue.Url,
	}), made)
	if err != nil {
		return nil, fmt.Errorf("declaring the service: %w", err)
	}

	return pulumi.Map{
		OutputIsolation:          pulumi.String(NameBridge),
		OutputServing:            pulumi.Bool(serving(topology)),
		OutputRegion:             pulumi.String(topology.Region),
		OutputEndpoint:           pulumi.String(p.Scheme + "://" + host),
		OutputTableName:          table.Table.Name,
		OutputQueueURL:           queue.Queue.Url,
		OutputDeadLetterQueueURL: queue.DeadLetters.Url,
		OutputLogGroup:           logs.Name,
		OutputRoleARN:            identity.Role.Arn,
		OutputServiceName:        service.Service.Name,
		OutputClusterARN:         pulumi.String(p.ClusterARN),
	}, nil
}

func bridgeLogs(topology engine.Topology) string {
	return logPrefix + topology.PhysicalName("app", maxLogGroupName-len(logPrefix))
}

func (p BridgeParameters) service(
	host string, logs *cloudwatch.LogGroup, identity *Identity, environment map[string]pulumi.StringInput,
) ServiceArgs {
	return ServiceArgs{
		ClusterARN: p.ClusterARN, ListenerARN: p.ListenerARN, Host: host, VPCID: p.VPCID, SubnetIDs: p.SubnetIDs,
		SecurityGroupIDs: p.SecurityGroupIDs, Image: p.Image, Port: p.ContainerPort, HealthCheckPath: p.HealthCheckPath,
		CPU: p.CPU, Memory: p.Memory, Count: p.DesiredCount, Role: identity.Role, ExecutionRoleARN: p.ExecutionRoleARN,
		Logs: logs, Environment: environment,
	}
}
