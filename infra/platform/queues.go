package platform

import (
	"fmt"
	"time"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/sqs"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// messageRetention is the longest that SQS offers. An accepted event must
	// not be lost because the fleet was down for a week.
	messageRetention = 14 * 24 * time.Hour
	receiveWait      = 20 * time.Second
	// maxDeadLetterBytes is the most that pulumi-aws v6 lets a queue have,
	// though SQS itself has gone up to 1 MiB.
	// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/quotas-messages.html
	maxDeadLetterBytes = 256 << 10
	// reasonRoom is for what the worker adds to a message that it sets aside.
	// Attributes count, so a message may not be larger on its way in.
	reasonRoom      = 16 << 10
	maxMessageBytes = maxDeadLetterBytes - reasonRoom
)

// QueuesArgs say how the queues shall be.
type QueuesArgs struct {
	Name              string
	VisibilityTimeout time.Duration
	MaxReceiveCount   int
	// Key encrypts them.
	Key *kms.Key
	// Sources are the ARNs of SNS topics and EventBridge rules that may send,
	// Services their principals.
	Sources  []string
	Services []string
}

// Queues are the queue of events and the one for messages that no worker can
// use.
type Queues struct {
	pulumi.ResourceState

	Events      *sqs.Queue
	DeadLetters *sqs.Queue
}

// NewQueues declares the queues, with who may send to them besides those whom
// IAM allows it.
func NewQueues(ctx *pulumi.Context, name string, args QueuesArgs, opts ...pulumi.ResourceOption) (*Queues, error) {
	queues := &Queues{}
	if err := ctx.RegisterComponentResource("lessor:platform:Queues", name, queues, opts...); err != nil {
		return nil, fmt.Errorf("queues: %w", err)
	}

	within := pulumi.Parent(queues)

	var err error

	queues.DeadLetters, err = sqs.NewQueue(ctx, "dead-letters", &sqs.QueueArgs{
		Name:                    pulumi.String(args.Name + "-dead-letters"),
		MessageRetentionSeconds: seconds(messageRetention),
		MaxMessageSize:          pulumi.Int(maxDeadLetterBytes),
		KmsMasterKeyId:          args.Key.Arn,
	}, within)
	if err != nil {
		return nil, fmt.Errorf("dead-letter queue: %w", err)
	}

	redrive := pulumi.JSONMarshal(pulumi.Map{
		"deadLetterTargetArn": queues.DeadLetters.Arn,
		"maxReceiveCount":     pulumi.Int(args.MaxReceiveCount),
	})

	queues.Events, err = sqs.NewQueue(ctx, "events", &sqs.QueueArgs{
		Name:                     pulumi.String(args.Name + "-events"),
		MessageRetentionSeconds:  seconds(messageRetention),
		MaxMessageSize:           pulumi.Int(maxMessageBytes),
		ReceiveWaitTimeSeconds:   seconds(receiveWait),
		VisibilityTimeoutSeconds: seconds(args.VisibilityTimeout),
		RedrivePolicy:            redrive,
		KmsMasterKeyId:           args.Key.Arn,
	}, within)
	if err != nil {
		return nil, fmt.Errorf("event queue: %w", err)
	}

	for part, policy := range map[string]*sqs.QueuePolicyArgs{
		"events":       {QueueUrl: queues.Events.Url, Policy: args.policy(queues.Events)},
		"dead-letters": {QueueUrl: queues.DeadLetters.Url, Policy: document(tlsOnly("sqs:*", queues.DeadLetters.Arn))},
	} {
		if _, err := sqs.NewQueuePolicy(ctx, part, policy, within); err != nil {
			return nil, fmt.Errorf("policy of queue %s: %w", part, err)
		}
	}

	return queues, nil
}

// policy of the queue of events.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-basic-examples-of-sqs-policies.html
func (args QueuesArgs) policy(queue *sqs.Queue) pulumi.StringOutput {
	statements := []Statement{tlsOnly("sqs:*", queue.Arn)}

	if len(args.Sources) > 0 {
		statements = append(statements, Statement{
			ID: "EventSources", Principal: pulumi.Map{"Service": pulumi.ToStringArray(args.Services)},
			Actions: []string{actionSend}, Resources: pulumi.StringArray{queue.Arn},
			Condition: pulumi.Map{"ArnEquals": pulumi.Map{"aws:SourceArn": pulumi.ToStringArray(args.Sources)}},
		})
	}

	return document(statements...)
}

func seconds(d time.Duration) pulumi.Int {
	return pulumi.Int(d / time.Second)
}
