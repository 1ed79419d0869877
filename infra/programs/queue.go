package programs

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/sqs"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// QueueArgs say what a Queue is like.
type QueueArgs struct {
	VisibilitySeconds int
	RetentionDays     int
	// MaxReceiveCount is how often a message is received before it is moved to
	// the dead-letter queue.
	MaxReceiveCount int
}

// Queue is an SQS queue of a tenant's own with its own dead-letter queue, both
// encrypted by SQS.
type Queue struct {
	pulumi.ResourceState

	Queue       *sqs.Queue
	DeadLetters *sqs.Queue
}

const (
	secondsPerDay = 24 * 60 * 60
	// deadLetterDays is the longest that SQS offers: a message keeps its age
	// when it is moved.
	deadLetterDays = 14
	longPoll       = 20
)

// NewQueue declares a queue.
func NewQueue(ctx *pulumi.Context, topology engine.Topology, args QueueArgs, opts ...pulumi.ResourceOption) (*Queue, error) {
	component := &Queue{}
	if err := ctx.RegisterComponentResource("lessor:programs:Queue", topology.Name("work"), component, opts...); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}

	kept := []pulumi.ResourceOption{pulumi.Parent(component), pulumi.Protect(topology.Protect)}
	name := topology.PhysicalName("dead", maxQueueName)

	var err error

	component.DeadLetters, err = sqs.NewQueue(ctx, topology.Name("dead-letters"), &sqs.QueueArgs{
		Name:                    pulumi.String(name),
		MessageRetentionSeconds: pulumi.Int(deadLetterDays * secondsPerDay),
		SqsManagedSseEnabled:    pulumi.Bool(true),
		Tags:                    named(name),
	}, kept...)
	if err != nil {
		return nil, fmt.Errorf("dead-letter queue: %w", err)
	}

	name = topology.PhysicalName("work", maxQueueName)

	component.Queue, err = sqs.NewQueue(ctx, topology.Name("queue"), &sqs.QueueArgs{
		Name:                     pulumi.String(name),
		VisibilityTimeoutSeconds: pulumi.Int(args.VisibilitySeconds),
		MessageRetentionSeconds:  pulumi.Int(args.RetentionDays * secondsPerDay),
		ReceiveWaitTimeSeconds:   pulumi.Int(longPoll),
		SqsManagedSseEnabled:     pulumi.Bool(true),
		RedrivePolicy: pulumi.JSONMarshal(pulumi.Map{
			"deadLetterTargetArn": component.DeadLetters.Arn, "maxReceiveCount": pulumi.Int(args.MaxReceiveCount),
		}),
		Tags: named(name),
	}, kept...)
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}

	return component, nil
}

// Access lets messages be sent and received. The dead-letter queue is for people:
// SQS moves messages there by itself.
func (q *Queue) Access() Statement {
	return Statement{
		ID: "Messages",
		Actions: []string{
			"sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage",
			"sqs:SendMessage",
		},
		Resources: []pulumi.StringInput{q.Queue.Arn},
	}
}
