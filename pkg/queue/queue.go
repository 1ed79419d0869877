package queue

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Queue is the queue of events and the dead-letter queue beside it. It is safe
// for use by many goroutines.
type Queue struct {
	api API
	cfg Config
}

// New returns the queue that cfg names.
func New(api API, cfg Config) *Queue {
	if cfg.VisibilityTimeout <= 0 {
		cfg.VisibilityTimeout = defaultVisibilityTimeout
	}

	return &Queue{api: api, cfg: cfg}
}

// Receive waits for up to limit messages, at most MaxReceive, and hides them
// from others for the visibility timeout.
//
// Cancelling ctx hides what SQS has just handed out from everybody, for a whole
// visibility timeout. Let the poll end instead and give back what it brings.
func (q *Queue) Receive(ctx context.Context, limit int) ([]Message, error) {
	messages, err := receive(ctx, q.api, q.cfg.URL, limit, q.cfg.PollWait, q.cfg.VisibilityTimeout)
	if err != nil {
		return nil, fmt.Errorf("receiving from %w", explain(err, variableURL, q.cfg.URL, "sqs:ReceiveMessage"))
	}

	return messages, nil
}

func receive(ctx context.Context, api Receiver, url string, limit int, wait, visibility time.Duration) ([]Message, error) {
	out, err := api.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
		QueueUrl:                    aws.String(url),
		MaxNumberOfMessages:         int32(min(max(limit, 1), MaxReceive)),
		WaitTimeSeconds:             seconds(wait),
		VisibilityTimeout:           seconds(visibility),
		MessageSystemAttributeNames: systemAttributes(),
		MessageAttributeNames:       []string{allAttributes},
	}, attemptTimeout(wait+attemptSlack))
	if err != nil {
		return nil, err // the caller knows which queue it is
	}

	now := time.Now()
	messages := make([]Message, 0, len(out.Messages))

	for _, m := range out.Messages {
		messages = append(messages, newMessage(m, now))
	}

	return messages, nil
}

// Extend hides the message for another visibility timeout from now. It returns
// ErrReceiptLost if the message is somebody else's by now, or has been held for
// the twelve hours that SQS allows.
func (q *Queue) Extend(ctx context.Context, m Message) error {
	if err := q.hide(ctx, m, q.cfg.VisibilityTimeout); err != nil {
		return fmt.Errorf("extending message %s: %w", m.ID, err)
	}

	return nil
}

// Delay gives the message back: others can receive it after d, or at once if d
// is 0. A heartbeat must be stopped before, or its next tick undoes the delay.
func (q *Queue) Delay(ctx context.Context, m Message, d time.Duration) error {
	d = max(0, min(d, maxHold-time.Since(m.ReceivedAt)))
	if err := changeVisibility(ctx, q.api, variableURL, q.cfg.URL, m, d); err != nil {
		return fmt.Errorf("giving message %s back: %w", m.ID, err)
	}

	return nil
}

func changeVisibility(ctx context.Context, api Receiver, variable, url string, m Message, d time.Duration) error {
	_, err := api.ChangeMessageVisibility(ctx, &sqs.ChangeMessageVisibilityInput{
		QueueUrl:          aws.String(url),
		ReceiptHandle:     aws.String(m.Receipt),
		VisibilityTimeout: seconds(d),
	}, attemptTimeout(attemptSlack))

	switch {
	case receiptLost(err):
		return fmt.Errorf("%w: %w", ErrReceiptLost, err)
	case err != nil:
		return explain(err, variable, url, "sqs:ChangeMessageVisibility")
	}

	return nil
}

// Delete removes the message for good. A receipt that was lost is no error: the
// message comes back to whoever has it, and deleting twice is deleting once.
func (q *Queue) Delete(ctx context.Context, m Message) error {
	if err := remove(ctx, q.api, variableURL, q.cfg.URL, m); err != nil {
		return fmt.Errorf("deleting message %s: %w", m.ID, err)
	}

	return nil
}

func (q *Queue) hide(ctx context.Context, m Message, d time.Duration) error {
	left := maxHold - time.Since(m.ReceivedAt)
	if left < time.Second {
		return fmt.Errorf("%w: it was received %s ago and SQS lets nobody hold a message for more than 12 hours",
			ErrReceiptLost, time.Since(m.ReceivedAt).Round(time.Second))
	}

	return changeVisibility(ctx, q.api, variableURL, q.cfg.URL, m, min(d, left))
}

func remove(ctx context.Context, api Receiver, variable, url string, m Message) error {
	_, err := api.DeleteMessage(ctx, &sqs.DeleteMessageInput{
		QueueUrl:      aws.String(url),
		ReceiptHandle: aws.String(m.Receipt),
	}, attemptTimeout(attemptSlack))
	if err != nil && !receiptLost(err) {
		return explain(err, variable, url, "sqs:DeleteMessage")
	}

	return nil
}

// seconds rounds up, so that a short wait never becomes none.
func seconds(d time.Duration) int32 {
	return int32(min(math.Ceil(d.Seconds()), math.MaxInt32))
}
