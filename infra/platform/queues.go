package platform

import (
	"fmt"
	"time"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/sns"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/sqs"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// messageRetention is the longest that SQS offers. An accepted event must
	// not be lost because the fleet was down for a week.
	messageRetention = 14 * 24 * time.Hour
	receiveWait      = 20 * time.Second
	maxMessageBytes  = 256 << 10
)

type queues struct {
	events      *sqs.Queue
	deadLetters *sqs.Queue
}

func newQueues(ctx *pulumi.Context, cfg Config, opts ...pulumi.ResourceOption) (queues, error) {
	deadLetters, err := sqs.NewQueue(ctx, "dead-letters", &sqs.QueueArgs{
		Name:                    pulumi.String(cfg.Name + "-dead-letters"),
		MessageRetentionSeconds: seconds(messageRetention),
		MaxMessageSize:          pulumi.Int(maxMessageBytes),
		SqsManagedSseEnabled:    pulumi.Bool(true),
	}, withProtection(cfg, opts)...)
	if err != nil {
		return queues{}, fmt.Errorf("declaring the dead-letter queue: %w", err)
	}

	redrive := pulumi.JSONMarshal(pulumi.Map{
		"deadLetterTargetArn": deadLetters.Arn,
		"maxReceiveCount":     pulumi.Int(cfg.MaxReceiveCount),
	})

	events, err := sqs.NewQueue(ctx, "events", &sqs.QueueArgs{
		Name:                     pulumi.String(cfg.Name + "-events"),
		MessageRetentionSeconds:  seconds(messageRetention),
		MaxMessageSize:           pulumi.Int(maxMessageBytes),
		ReceiveWaitTimeSeconds:   seconds(receiveWait),
		VisibilityTimeoutSeconds: seconds(cfg.VisibilityTimeout),
		RedrivePolicy:            redrive,
		SqsManagedSseEnabled:     pulumi.Bool(true),
	}, withProtection(cfg, opts)...)
	if err != nil {
		return queues{}, fmt.Errorf("declaring the event queue: %w", err)
	}

	return queues{events: events, deadLetters: deadLetters}, nil
}

func newResultsTopic(ctx *pulumi.Context, cfg Config, opts ...pulumi.ResourceOption) (*sns.Topic, error) {
	topic, err := sns.NewTopic(ctx, "results", &sns.TopicArgs{
		Name:           pulumi.String(cfg.Name + "-results"),
		KmsMasterKeyId: pulumi.String("alias/aws/sns"),
	}, opts...)
	if err != nil {
		return nil, fmt.Errorf("declaring the results topic: %w", err)
	}

	return topic, nil
}

func withProtection(cfg Config, opts []pulumi.ResourceOption) []pulumi.ResourceOption {
	return append([]pulumi.ResourceOption{pulumi.Protect(cfg.Protect)}, opts...)
}

func seconds(d time.Duration) pulumi.Int {
	return pulumi.Int(d / time.Second)
}
