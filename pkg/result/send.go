package result

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	bustypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	topictypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	queuetypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// The message attributes that subscribers filter by.
const (
	attributeType   = "type"
	attributeTenant = "tenant"
	dataTypeString  = "String"
)

var errRefused = errors.New("event bus refused the event")

func (p *Publisher) toTopic(ctx context.Context, e Event) error {
	body, err := Encode(e)
	if err != nil {
		return err
	}

	attribute := func(value string) topictypes.MessageAttributeValue {
		return topictypes.MessageAttributeValue{DataType: aws.String(dataTypeString), StringValue: aws.String(value)}
	}

	_, err = p.clients.Topic.Publish(ctx, &sns.PublishInput{
		TopicArn: aws.String(p.target.address),
		Message:  aws.String(string(body)),
		MessageAttributes: map[string]topictypes.MessageAttributeValue{
			attributeType:   attribute(string(e.Type)),
			attributeTenant: attribute(e.Tenant.String()),
		},
	})
	if err != nil {
		return fmt.Errorf("publishing to the topic: %w", err)
	}

	return nil
}

func (p *Publisher) toBus(ctx context.Context, e Event) error {
	detail, err := encodeDetail(e)
	if err != nil {
		return err
	}

	out, err := p.clients.Bus.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: []bustypes.PutEventsRequestEntry{{
		EventBusName: aws.String(p.target.address),
		Source:       aws.String(source),
		DetailType:   aws.String(string(e.Type)),
		Detail:       aws.String(string(detail)),
		Time:         aws.Time(e.Time),
	}}})
	if err != nil {
		return fmt.Errorf("putting the event on the bus: %w", err)
	}

	// The call succeeds even if the one event in it did not.
	if out.FailedEntryCount > 0 {
		var code, message string
		for _, entry := range out.Entries {
			code, message = aws.ToString(entry.ErrorCode), aws.ToString(entry.ErrorMessage)
		}

		return fmt.Errorf("%w: %s: %s", errRefused, code, clip(message))
	}

	return nil
}

func (p *Publisher) toQueue(ctx context.Context, e Event) error {
	body, err := Encode(e)
	if err != nil {
		return err
	}

	queueURL, err := p.resolveQueue(ctx)
	if err != nil {
		return err
	}

	attribute := func(value string) queuetypes.MessageAttributeValue {
		return queuetypes.MessageAttributeValue{DataType: aws.String(dataTypeString), StringValue: aws.String(value)}
	}

	_, err = p.clients.Queue.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl:    aws.String(queueURL),
		MessageBody: aws.String(string(body)),
		MessageAttributes: map[string]queuetypes.MessageAttributeValue{
			attributeType:   attribute(string(e.Type)),
			attributeTenant: attribute(e.Tenant.String()),
		},
	})
	if err != nil {
		return fmt.Errorf("sending to the queue: %w", err)
	}

	return nil
}

// resolveQueue finds the URL of the queue. A failure is not remembered.
func (p *Publisher) resolveQueue(ctx context.Context) (string, error) {
	if p.target.account == "" {
		return p.target.address, nil
	}

	p.mu.Lock()
	defer p.mu.Unlock()

	if p.queueURL != "" {
		return p.queueURL, nil
	}

	out, err := p.clients.Queue.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{
		QueueName: aws.String(p.target.name), QueueOwnerAWSAccountId: aws.String(p.target.account),
	})
	if err != nil {
		return "", fmt.Errorf("looking up the queue's URL: %w", err)
	}

	p.queueURL = aws.ToString(out.QueueUrl)

	return p.queueURL, nil
}
