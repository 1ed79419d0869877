package awsplugin

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

func queueData() *dataPlane {
	return &dataPlane{
		create: createQueue,
		update: func(ctx context.Context, c *clients, p part) error {
			return setQueue(ctx, c, p.id, queueAttributes(p.inputs))
		},
		remove: func(ctx context.Context, c *clients, p part) error {
			_, err := c.sqs.DeleteQueue(ctx, &sqs.DeleteQueueInput{QueueUrl: &p.id})

			return err //nolint:wrapcheck // explained by the caller
		},
	}
}

func createQueue(ctx context.Context, c *clients, p part) (id string, outputs map[string]any, err error) {
	made, err := c.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{
		QueueName: aws.String(p.inputs.text("name")), Attributes: queueAttributes(p.inputs), Tags: p.tags,
	})
	if err != nil {
		return "", nil, err //nolint:wrapcheck // explained by the caller
	}

	arn := string(sqstypes.QueueAttributeNameQueueArn)

	got, err := c.sqs.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: made.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	if err != nil {
		return "", nil, err //nolint:wrapcheck // explained by the caller
	}

	url := c.reachable(*made.QueueUrl)

	return url, map[string]any{"arn": got.Attributes[arn], "url": url}, nil
}

// reachable puts our endpoint into a queue's URL. The emulator's own has the
// address that it would have without a proxy, one made from an ARN that of AWS.
func (c *clients) reachable(url string) string {
	const partsOfPath = 2

	parts := strings.Split(url, "/")
	if len(parts) < partsOfPath {
		return url
	}

	return c.endpoint + "/" + strings.Join(parts[len(parts)-partsOfPath:], "/")
}

// queueAttributes translates inputs into attributes of SQS. An attribute that
// is not given is not touched.
func queueAttributes(inputs bag) map[string]string {
	attributes := map[string]string{}

	for input, attribute := range map[string]sqstypes.QueueAttributeName{
		"delaySeconds":             sqstypes.QueueAttributeNameDelaySeconds,
		"maxMessageSize":           sqstypes.QueueAttributeNameMaximumMessageSize,
		"messageRetentionSeconds":  sqstypes.QueueAttributeNameMessageRetentionPeriod,
		"receiveWaitTimeSeconds":   sqstypes.QueueAttributeNameReceiveMessageWaitTimeSeconds,
		"visibilityTimeoutSeconds": sqstypes.QueueAttributeNameVisibilityTimeout,
	} {
		if n, ok := inputs.number(input); ok {
			attributes[string(attribute)] = strconv.Itoa(n)
		}
	}

	for input, attribute := range map[string]sqstypes.QueueAttributeName{
		"policy":        sqstypes.QueueAttributeNamePolicy,
		"redrivePolicy": sqstypes.QueueAttributeNameRedrivePolicy,
	} {
		if s := inputs.text(input); s != "" {
			attributes[string(attribute)] = s
		}
	}

	if inputs.flag("fifoQueue") {
		attributes[string(sqstypes.QueueAttributeNameFifoQueue)] = "true"
		deduplication := strconv.FormatBool(inputs.flag("contentBasedDeduplication"))
		attributes[string(sqstypes.QueueAttributeNameContentBasedDeduplication)] = deduplication
	}

	return attributes
}

func setQueue(ctx context.Context, c *clients, url string, attributes map[string]string) error {
	delete(attributes, string(sqstypes.QueueAttributeNameFifoQueue))

	_, err := c.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{QueueUrl: &url, Attributes: attributes})

	return err //nolint:wrapcheck // explained by the caller
}

// queueSetting is a type that sets one attribute of a queue.
func queueSetting(attribute, input string) *dataPlane {
	set := func(ctx context.Context, c *clients, p part) error {
		return setQueue(ctx, c, p.inputs.text("queueUrl"), map[string]string{attribute: p.inputs.text(input)})
	}

	return &dataPlane{
		create: func(ctx context.Context, c *clients, p part) (string, map[string]any, error) {
			return "", nil, set(ctx, c, p)
		},
		update: set,
		remove: func(ctx context.Context, c *clients, p part) error {
			return setQueue(ctx, c, p.inputs.text("queueUrl"), map[string]string{attribute: ""})
		},
	}
}

func topicData() *dataPlane {
	return &dataPlane{
		create: func(ctx context.Context, c *clients, p part) (string, map[string]any, error) {
			made, err := c.sns.CreateTopic(ctx, &sns.CreateTopicInput{Name: aws.String(p.inputs.text("name"))})
			if err != nil {
				return "", nil, fmt.Errorf("topic: %w", err)
			}

			return *made.TopicArn, map[string]any{"arn": *made.TopicArn}, nil
		},
		remove: func(ctx context.Context, c *clients, p part) error {
			_, err := c.sns.DeleteTopic(ctx, &sns.DeleteTopicInput{TopicArn: &p.id})

			return err //nolint:wrapcheck // explained by the caller
		},
	}
}
