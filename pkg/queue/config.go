// Package queue receives, keeps, delays, deletes and sends SQS messages. It
// knows nothing of what is in them.
package queue

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

const (
	// MaxBodyBytes is the largest body that Send takes.
	MaxBodyBytes = 256 << 10
	// MaxReceive is the most messages that SQS hands out in one call.
	MaxReceive = 10

	defaultVisibilityTimeout = 2 * time.Minute
	// maxHold is how long SQS lets one receiver hold a message: twelve hours
	// from the receive in total, however often it is extended. The rest is for
	// the time that the response took.
	maxHold = 12*time.Hour - time.Minute
	// attemptSlack is what an HTTP attempt may take beyond the wait of a long
	// poll. Without a limit a poll can hang for hours on a dead connection.
	attemptSlack = 10 * time.Second
)

// The variables that errors name.
const (
	variableURL           = "LESSOR_QUEUE_URL"
	variableDeadLetterURL = "LESSOR_DEAD_LETTER_QUEUE_URL"
)

// Config says which queues to use and how.
type Config struct {
	// URL is the queue of events.
	URL string `env:"LESSOR_QUEUE_URL, required"`
	// DeadLetterURL is the queue for messages that no worker can use.
	DeadLetterURL string `env:"LESSOR_DEAD_LETTER_QUEUE_URL"`
	// VisibilityTimeout is how long a message stays hidden after a receive or
	// an extension.
	VisibilityTimeout time.Duration `env:"LESSOR_VISIBILITY_TIMEOUT, default=2m"`
	// PollWait is the wait of a long poll, at most 20 seconds. The SDK cannot
	// send 0: then the queue's own setting counts.
	PollWait time.Duration `env:"LESSOR_POLL_WAIT, default=20s"`
}

// Receiver is the part of the SQS client that takes messages off a queue.
type Receiver interface {
	ReceiveMessage(ctx context.Context, in *sqs.ReceiveMessageInput, opts ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	ChangeMessageVisibility(
		ctx context.Context, in *sqs.ChangeMessageVisibilityInput, opts ...func(*sqs.Options),
	) (*sqs.ChangeMessageVisibilityOutput, error)
	DeleteMessage(ctx context.Context, in *sqs.DeleteMessageInput, opts ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error)
}

// Sender is the part of the SQS client that puts messages on a queue.
type Sender interface {
	SendMessage(ctx context.Context, in *sqs.SendMessageInput, opts ...func(*sqs.Options)) (*sqs.SendMessageOutput, error)
}

// Counter is the part of the SQS client that counts messages.
type Counter interface {
	GetQueueAttributes(
		ctx context.Context, in *sqs.GetQueueAttributesInput, opts ...func(*sqs.Options),
	) (*sqs.GetQueueAttributesOutput, error)
}

// API is what a Queue needs of the SQS client.
type API interface {
	Receiver
	Sender
	Counter
}
