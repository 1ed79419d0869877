package result

import (
	"context"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// TopicAPI is what is used of SNS.
type TopicAPI interface {
	Publish(ctx context.Context, in *sns.PublishInput, opts ...func(*sns.Options)) (*sns.PublishOutput, error)
}

// BusAPI is what is used of EventBridge.
type BusAPI interface {
	PutEvents(
		ctx context.Context, in *eventbridge.PutEventsInput, opts ...func(*eventbridge.Options),
	) (*eventbridge.PutEventsOutput, error)
}

// QueueAPI is what is used of SQS.
type QueueAPI interface {
	GetQueueUrl(ctx context.Context, in *sqs.GetQueueUrlInput, opts ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error)
	SendMessage(ctx context.Context, in *sqs.SendMessageInput, opts ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// Clients are the services that results can go to. Only the one of the target
// is used.
type Clients struct {
	Topic TopicAPI
	Bus   BusAPI
	Queue QueueAPI
}

// Publisher sends results to the target. It is safe for concurrent use.
type Publisher struct {
	target  target
	clients Clients

	// queueURL is looked up once where the target is a queue's ARN.
	mu       sync.Mutex
	queueURL string
}

// New makes a publisher that uses AWS in the region of its target. A wrong
// target is an error that wraps ErrTarget.
func New(cfg Config, awsConfig aws.Config) (*Publisher, error) {
	t, err := parseTarget(cfg.Target)
	if err != nil {
		return nil, err
	}

	if t.region != "" {
		awsConfig.Region = t.region
	}

	return NewWithClients(cfg, Clients{
		Topic: sns.NewFromConfig(awsConfig),
		Bus:   eventbridge.NewFromConfig(awsConfig),
		Queue: sqs.NewFromConfig(awsConfig),
	})
}

// NewWithClients makes a publisher from clients that are there already.
func NewWithClients(cfg Config, clients Clients) (*Publisher, error) {
	t, err := parseTarget(cfg.Target)
	if err != nil {
		return nil, err
	}

	return &Publisher{target: t, clients: clients}, nil
}

// Publish sends one result and returns once the target has it. It may be sent
// again, with the same ID. Without a target it does nothing.
func (p *Publisher) Publish(ctx context.Context, e Event) error {
	var err error

	switch p.target.service {
	case serviceNone:
		return nil
	case serviceTopic:
		err = p.toTopic(ctx, e)
	case serviceBus:
		err = p.toBus(ctx, e)
	case serviceQueue:
		err = p.toQueue(ctx, e)
	}

	if err != nil {
		return fmt.Errorf("sending %s of operation %s to %s (LESSOR_RESULT_TARGET): %w", e.Type, e.OperationID, p.target.address, err)
	}

	return nil
}
