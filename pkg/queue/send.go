package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// The attributes that DeadLetter puts on a message.
const (
	AttributeReasonCode    = "lessor-reason-code"
	AttributeReason        = "lessor-reason"
	AttributeOriginalID    = "original-message-id"
	AttributeFirstReceived = "first-received"
)

const (
	// maxAttributes is how many attributes SQS takes with a message.
	maxAttributes = 10
	// maxReasonBytes keeps a reason readable and the message small: attributes
	// count towards its size.
	maxReasonBytes = 1 << 10
	stringType     = "String"
)

// Send puts a message on the queue and returns its id.
func (q *Queue) Send(ctx context.Context, body []byte) (string, error) {
	if len(body) > MaxBodyBytes {
		return "", fmt.Errorf("sending a message: %w: it has %d bytes and may have %d", ErrTooLarge, len(body), MaxBodyBytes)
	}

	id, err := send(ctx, q.api, q.cfg.URL, body, nil)
	if err != nil {
		return "", fmt.Errorf("sending to %w", explain(err, variableURL, q.cfg.URL, "sqs:SendMessage"))
	}

	return id, nil
}

func send(ctx context.Context, api Sender, url string, body []byte, attributes map[string]types.MessageAttributeValue) (string, error) {
	out, err := api.SendMessage(ctx, &sqs.SendMessageInput{
		QueueUrl:          aws.String(url),
		MessageBody:       aws.String(string(body)),
		MessageAttributes: attributes,
	}, attemptTimeout(attemptSlack))
	if err != nil {
		return "", err // the caller knows which queue it is
	}

	return aws.ToString(out.MessageId), nil
}

// DeadLetter moves a message out of the way, with the reason in its attributes.
// It is sent before it is deleted, so that a crash in between leaves two copies
// and never none.
func (q *Queue) DeadLetter(ctx context.Context, m Message, code, reason string) error {
	if q.cfg.DeadLetterURL == "" {
		return fmt.Errorf("moving message %s to the dead-letter queue: %s %w", m.ID, variableDeadLetterURL, errNotConfigured)
	}

	first := m.FirstReceivedAt
	if first.IsZero() {
		first = m.ReceivedAt
	}

	attributes := map[string]types.MessageAttributeValue{
		AttributeReasonCode:    text(code),
		AttributeReason:        text(reason),
		AttributeOriginalID:    text(m.ID),
		AttributeFirstReceived: text(first.UTC().Format(time.RFC3339Nano)),
	}

	for _, name := range slices.Sorted(maps.Keys(m.sent)) {
		if _, ours := attributes[name]; !ours && len(attributes) < maxAttributes {
			attributes[name] = m.sent[name]
		}
	}

	if _, err := send(ctx, q.api, q.cfg.DeadLetterURL, m.Body, attributes); err != nil {
		return fmt.Errorf("moving message %s to %w", m.ID,
			explain(err, variableDeadLetterURL, q.cfg.DeadLetterURL, "sqs:SendMessage"))
	}

	return q.Delete(ctx, m)
}

// text makes a value that SQS takes: valid UTF-8, not empty, without the
// characters that XML 1.0 has no place for.
func text(s string) types.MessageAttributeValue {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return r
		case r < ' ' || r == '\uFFFE' || r == '\uFFFF' || r == utf8.RuneError:
			return '?'
		default:
			return r
		}
	}, s)

	if len(s) > maxReasonBytes {
		cut := maxReasonBytes
		for !utf8.RuneStart(s[cut]) {
			cut--
		}

		s = s[:cut] + "…"
	}

	if s == "" {
		s = "-"
	}

	return types.MessageAttributeValue{DataType: aws.String(stringType), StringValue: aws.String(s)}
}

// Depth is how many messages a queue holds, about.
type Depth struct {
	Visible  int
	InFlight int
	Delayed  int
}

// Depth asks SQS for the approximate counts of the queue of events, which lag
// behind.
func (q *Queue) Depth(ctx context.Context) (Depth, error) {
	return q.depth(ctx, variableURL, q.cfg.URL)
}

// DeadLetterDepth is Depth for the dead-letter queue.
func (q *Queue) DeadLetterDepth(ctx context.Context) (Depth, error) {
	if q.cfg.DeadLetterURL == "" {
		return Depth{}, fmt.Errorf("counting dead letters: %s %w", variableDeadLetterURL, errNotConfigured)
	}

	return q.depth(ctx, variableDeadLetterURL, q.cfg.DeadLetterURL)
}

func (q *Queue) depth(ctx context.Context, variable, url string) (Depth, error) {
	names := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
	}

	out, err := q.api.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl:       aws.String(url),
		AttributeNames: names,
	}, attemptTimeout(attemptSlack))
	if err != nil {
		return Depth{}, fmt.Errorf("counting the messages of %w", explain(err, variable, url, "sqs:GetQueueAttributes"))
	}

	var counts [3]int

	for i, name := range names {
		if counts[i], err = strconv.Atoi(out.Attributes[string(name)]); err != nil {
			return Depth{}, fmt.Errorf("counting the messages of %s %s: %s: %w", variable, url, name, err)
		}
	}

	return Depth{Visible: counts[0], InFlight: counts[1], Delayed: counts[2]}, nil
}
