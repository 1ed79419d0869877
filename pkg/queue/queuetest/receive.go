package queuetest

import (
	"context"
	"crypto/md5" //nolint:gosec // SQS's own checksum
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
)

// ReceiveMessage hands out messages that nobody else has, and waits for some if
// there are none. A poll whose context ends hands out nothing.
func (f *Fake) ReceiveMessage(
	ctx context.Context, in *sqs.ReceiveMessageInput, _ ...func(*sqs.Options),
) (*sqs.ReceiveMessageOutput, error) {
	if in.MaxNumberOfMessages < 1 || in.MaxNumberOfMessages > maxReceive {
		return nil, invalid("Value " + strconv.Itoa(int(in.MaxNumberOfMessages)) +
			" for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.")
	}

	if in.WaitTimeSeconds < 0 || in.WaitTimeSeconds > maxWait {
		return nil, invalid("Value " + strconv.Itoa(int(in.WaitTimeSeconds)) +
			" for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.")
	}

	until := time.Now().Add(time.Duration(in.WaitTimeSeconds) * time.Second)

	q, err := f.enter("ReceiveMessage", in.QueueUrl)
	if err != nil {
		return nil, err
	}
	defer f.mu.Unlock()

	f.received = append(f.received, in)

	for {
		now := time.Now()
		if out := f.handOut(q, in, now); len(out) > 0 || !now.Before(until) {
			return &sqs.ReceiveMessageOutput{Messages: out}, nil
		}

		if err := f.wait(ctx, q, now, until); err != nil {
			return nil, err
		}
	}
}

// wait gives the lock away until something may have become visible.
func (f *Fake) wait(ctx context.Context, q *queue, now, until time.Time) error {
	for _, m := range q.messages {
		if m.visibleAt.After(now) && m.visibleAt.Before(until) {
			until = m.visibleAt
		}
	}

	changed := f.changed

	f.mu.Unlock()
	defer f.mu.Lock()

	timer := time.NewTimer(until.Sub(now))
	defer timer.Stop()

	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return &smithy.CanceledError{Err: ctx.Err()}
	}

	return nil
}

// handOut takes what is visible. A message that was handed out often enough
// moves to the dead-letter queue instead. The lock is held.
func (f *Fake) handOut(q *queue, in *sqs.ReceiveMessageInput, now time.Time) []types.Message {
	visibility := defaultVisibility
	if in.VisibilityTimeout > 0 {
		visibility = time.Duration(in.VisibilityTimeout) * time.Second
	}

	var out []types.Message

	for _, m := range slices.Clone(q.messages) {
		if now.Before(m.visibleAt) || len(out) == int(in.MaxNumberOfMessages) {
			continue
		}

		if q.RedriveTo != "" && m.receives >= q.MaxReceiveCount {
			q.messages = slices.DeleteFunc(q.messages, func(other *message) bool { return other == m })
			m.receipt = ""
			f.queues[q.RedriveTo].messages = append(f.queues[q.RedriveTo].messages, m)
			f.notify()

			continue
		}

		if m.firstReceived.IsZero() {
			m.firstReceived = now
		}

		m.receives++
		m.receivedAt, m.visibleAt, m.receipt = now, now.Add(visibility), rand.Text()
		out = append(out, m.show(in))
	}

	return out
}

// show returns only what was asked for.
func (m *message) show(in *sqs.ReceiveMessageInput) types.Message {
	sum := md5.Sum([]byte(m.body)) //nolint:gosec // SQS's own checksum
	shown := types.Message{
		MessageId:     aws.String(m.id),
		ReceiptHandle: aws.String(m.receipt),
		Body:          aws.String(m.body),
		MD5OfBody:     aws.String(hex.EncodeToString(sum[:])),
		Attributes:    map[string]string{},
	}

	system := map[types.MessageSystemAttributeName]string{
		types.MessageSystemAttributeNameApproximateReceiveCount:          strconv.Itoa(m.receives),
		types.MessageSystemAttributeNameSentTimestamp:                    strconv.FormatInt(m.sentAt.UnixMilli(), 10),
		types.MessageSystemAttributeNameApproximateFirstReceiveTimestamp: strconv.FormatInt(m.firstReceived.UnixMilli(), 10),
	}

	for name, value := range system {
		if slices.Contains(in.MessageSystemAttributeNames, name) ||
			slices.Contains(in.MessageSystemAttributeNames, types.MessageSystemAttributeNameAll) {
			shown.Attributes[string(name)] = value
		}
	}

	for name, value := range m.attributes {
		if !slices.Contains(in.MessageAttributeNames, name) && !slices.Contains(in.MessageAttributeNames, "All") {
			continue
		}

		if shown.MessageAttributes == nil {
			shown.MessageAttributes = map[string]types.MessageAttributeValue{}
		}

		shown.MessageAttributes[name] = value
	}

	return shown
}
