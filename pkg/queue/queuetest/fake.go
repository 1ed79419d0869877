// Package queuetest holds a fake of SQS for unit tests. It behaves as AWS does
// and not as emulators do: a stale receipt deletes with success, an attribute
// that was not asked for is not returned, nobody holds a message for more than
// twelve hours. Its clock is package time, so inside testing/synctest hours pass
// in an instant.
package queuetest

import (
	"context"
	"crypto/md5" //nolint:gosec // SQS's own checksum
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

const (
	maxReceive        = 10
	maxWait           = 20
	maxVisibility     = 43200
	maxAttributes     = 10
	maxMessageBytes   = 1 << 20
	defaultVisibility = 30 * time.Second
	endpoint          = "https://sqs.us-east-1.amazonaws.com/000000000000/"
)

// Fake is an SQS with standard queues. The zero value is not usable; see New.
type Fake struct {
	mu        sync.Mutex
	queues    map[string]*queue
	changed   chan struct{}
	intercept func(operation string) error
	received  []*sqs.ReceiveMessageInput
}

// Attributes are the settings of a queue.
type Attributes struct {
	// RedriveTo is the URL of the dead-letter queue, "" for none.
	RedriveTo string
	// MaxReceiveCount is how often a message is handed out before it moves.
	MaxReceiveCount int
	// MaxMessageBytes is the largest message with its attributes, 0 for the
	// limit of SQS.
	MaxMessageBytes int
	// Delay hides new messages at first.
	Delay time.Duration
}

type queue struct {
	Attributes

	messages []*message
}

type message struct {
	id            string
	body          string
	attributes    map[string]types.MessageAttributeValue
	sentAt        time.Time
	firstReceived time.Time
	receivedAt    time.Time
	receives      int
	receipt       string
	visibleAt     time.Time
}

// inFlight is only true of a message that was received: a delayed one is not.
func (m *message) inFlight(now time.Time) bool { return m.receipt != "" && now.Before(m.visibleAt) }

// New returns an SQS without queues.
func New() *Fake { return &Fake{queues: map[string]*queue{}, changed: make(chan struct{})} }

// CreateQueue makes a queue and returns its URL.
func (f *Fake) CreateQueue(name string, attributes Attributes) string {
	f.mu.Lock()
	defer f.mu.Unlock()

	if attributes.MaxMessageBytes == 0 {
		attributes.MaxMessageBytes = maxMessageBytes
	}

	f.queues[endpoint+name] = &queue{Attributes: attributes}

	return endpoint + name
}

// Intercept has hook called before every operation, by its name. An error of it
// is the answer of the operation, which then does nothing.
func (f *Fake) Intercept(hook func(operation string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.intercept = hook
}

// Received returns the requests to receive so far, for tests of what is asked.
func (f *Fake) Received() []*sqs.ReceiveMessageInput {
	f.mu.Lock()
	defer f.mu.Unlock()

	return slices.Clone(f.received)
}

// Bodies returns every message of a queue, whoever can see it, oldest first.
func (f *Fake) Bodies(url string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()

	bodies := make([]string, 0, len(f.queues[url].messages))
	for _, m := range f.queues[url].messages {
		bodies = append(bodies, m.body)
	}

	return bodies
}

// SendMessage puts a message on a queue.
func (f *Fake) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	q, err := f.enter("SendMessage", in.QueueUrl)
	if err != nil {
		return nil, err
	}
	defer f.mu.Unlock()

	body := aws.ToString(in.MessageBody)
	if err := check(body, in.MessageAttributes, q.MaxMessageBytes); err != nil {
		return nil, err
	}

	now := time.Now()
	delay := q.Delay

	if in.DelaySeconds > 0 {
		delay = time.Duration(in.DelaySeconds) * time.Second
	}

	m := &message{id: rand.Text(), body: body, attributes: in.MessageAttributes, sentAt: now, visibleAt: now.Add(delay)}
	q.messages = append(q.messages, m)

	f.notify()

	sum := md5.Sum([]byte(body)) //nolint:gosec // SQS's own checksum

	return &sqs.SendMessageOutput{MessageId: aws.String(m.id), MD5OfMessageBody: aws.String(hex.EncodeToString(sum[:]))}, nil
}

func check(body string, attributes map[string]types.MessageAttributeValue, limit int) error {
	size := len(body)

	for name, value := range attributes {
		if aws.ToString(value.DataType) == "String" && aws.ToString(value.StringValue) == "" {
			return invalid("Message (user) attribute '" + name + "' must contain a non-empty value of type 'String'.")
		}

		if !allowed(aws.ToString(value.StringValue)) {
			return &types.InvalidMessageContents{Message: aws.String("Invalid characters found in attribute " + name)}
		}

		size += len(name) + len(aws.ToString(value.DataType)) + len(aws.ToString(value.StringValue)) + len(value.BinaryValue)
	}

	switch {
	case body == "":
		return apiError("MissingParameter", "The request must contain the parameter MessageBody.")
	case !allowed(body):
		return &types.InvalidMessageContents{Message: aws.String("Invalid characters found")}
	case len(attributes) > maxAttributes:
		return invalid("Number of message attributes [" + strconv.Itoa(len(attributes)) + "] exceeds the allowed maximum [10].")
	case size > limit:
		return invalid("One or more parameters are invalid. Reason: Message must be shorter than " + strconv.Itoa(limit) + " bytes.")
	default:
		return nil
	}
}

// allowed reports whether SQS takes s: the characters of XML 1.0.
func allowed(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < ' ' && r != '\t' && r != '\n' && r != '\r') || r == '\uFFFE' || r == '\uFFFF'
	})
}

// DeleteMessage deletes by receipt. As on AWS it succeeds for a receipt that is
// not the newest one of its message, and then deletes nothing.
func (f *Fake) DeleteMessage(_ context.Context, in *sqs.DeleteMessageInput, _ ...func(*sqs.Options)) (*sqs.DeleteMessageOutput, error) {
	q, err := f.enter("DeleteMessage", in.QueueUrl)
	if err != nil {
		return nil, err
	}
	defer f.mu.Unlock()

	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool {
		return m.receipt != "" && m.receipt == aws.ToString(in.ReceiptHandle)
	})

	return &sqs.DeleteMessageOutput{}, nil
}

// ChangeMessageVisibility sets when a message that is in flight is seen again.
func (f *Fake) ChangeMessageVisibility(
	_ context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	q, err := f.enter("ChangeMessageVisibility", in.QueueUrl)
	if err != nil {
		return nil, err
	}
	defer f.mu.Unlock()

	if in.VisibilityTimeout < 0 || in.VisibilityTimeout > maxVisibility {
		return nil, invalid("Value " + strconv.Itoa(int(in.VisibilityTimeout)) + " for parameter VisibilityTimeout is invalid.")
	}

	now := time.Now()

	i := slices.IndexFunc(q.messages, func(m *message) bool { return m.receipt == aws.ToString(in.ReceiptHandle) })
	if i < 0 || !q.messages[i].inFlight(now) {
		return nil, invalid("Value " + aws.ToString(in.ReceiptHandle) + " for parameter ReceiptHandle is invalid. " +
			"Reason: Message does not exist or is not available for visibility timeout change.")
	}

	visibleAt := now.Add(time.Duration(in.VisibilityTimeout) * time.Second)
	if visibleAt.Sub(q.messages[i].receivedAt) > maxVisibility*time.Second {
		return nil, invalid("Total VisibilityTimeout for the message is beyond the limit [43200 seconds]")
	}

	q.messages[i].visibleAt = visibleAt

	f.notify()

	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

// GetQueueAttributes returns the counts that were asked for.
func (f *Fake) GetQueueAttributes(
	_ context.Context, in *sqs.GetQueueAttributesInput, _ ...func(*sqs.Options),
) (*sqs.GetQueueAttributesOutput, error) {
	q, err := f.enter("GetQueueAttributes", in.QueueUrl)
	if err != nil {
		return nil, err
	}
	defer f.mu.Unlock()

	counts := map[types.QueueAttributeName]int{}

	for now, i := time.Now(), 0; i < len(q.messages); i++ {
		switch m := q.messages[i]; {
		case m.inFlight(now):
			counts[types.QueueAttributeNameApproximateNumberOfMessagesNotVisible]++
		case now.Before(m.visibleAt):
			counts[types.QueueAttributeNameApproximateNumberOfMessagesDelayed]++
		default:
			counts[types.QueueAttributeNameApproximateNumberOfMessages]++
		}
	}

	attributes := map[string]string{}
	for _, name := range in.AttributeNames {
		attributes[string(name)] = strconv.Itoa(counts[name])
	}

	return &sqs.GetQueueAttributesOutput{Attributes: attributes}, nil
}

// enter locks the fake and finds the queue. The caller unlocks.
func (f *Fake) enter(operation string, url *string) (*queue, error) {
	f.mu.Lock()
	hook := f.intercept
	f.mu.Unlock()

	if hook != nil {
		if err := hook(operation); err != nil {
			return nil, err
		}
	}

	f.mu.Lock()

	q, ok := f.queues[aws.ToString(url)]
	if !ok {
		f.mu.Unlock()

		return nil, &types.QueueDoesNotExist{Message: aws.String("The specified queue does not exist.")}
	}

	return q, nil
}

// notify wakes the long polls. The lock is held.
func (f *Fake) notify() {
	close(f.changed)
	f.changed = make(chan struct{})
}

func invalid(text string) error { return apiError("InvalidParameterValue", text) }

func apiError(code, text string) error {
	return &smithy.GenericAPIError{Code: code, Message: text, Fault: smithy.FaultClient}
}
