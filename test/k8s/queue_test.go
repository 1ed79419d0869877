//go:build linux

package k8s_test

import (
	"net/http"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/emulator"
)

const (
	region = "eu-west-1"
	// batch is the most that SQS gives at once.
	batch = 10
	// hidden outlasts the test, as a worker's extensions outlast an operation.
	hidden = 3600
)

// startEmulator runs the emulator until the test ends.
func startEmulator(t *testing.T) *emulator.Emulator {
	t.Helper()

	e, err := emulator.Start(t.Context(), emulator.Options{Binary: tool(t, "kumo"), Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(e.Stop)

	return e
}

// queue is a queue of the emulator's.
type queue struct {
	client *sqs.Client
	url    string
	// inHand are the handles of messages that were received.
	inHand []string
}

func makeQueue(t *testing.T, endpoint, name string) *queue {
	t.Helper()

	client := sqs.NewFromConfig(aws.Config{
		Region: region, BaseEndpoint: aws.String(endpoint), Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}},
	})
	made, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: &name})
	require.NoError(t, err)

	return &queue{client: client, url: aws.ToString(made.QueueUrl)}
}

func (q *queue) send(t *testing.T, n int) {
	t.Helper()

	for i := range n {
		_, err := q.client.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &q.url, MessageBody: aws.String(strconv.Itoa(i))})
		require.NoError(t, err)
	}
}

// take receives n messages, which nobody else gets then.
func (q *queue) take(t *testing.T, n int) {
	t.Helper()

	for len(q.inHand) < n {
		got, err := q.client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
			QueueUrl: &q.url, MaxNumberOfMessages: batch, VisibilityTimeout: hidden, WaitTimeSeconds: 1,
		})
		require.NoError(t, err)
		require.NotEmpty(t, got.Messages)

		for _, message := range got.Messages {
			q.inHand = append(q.inHand, aws.ToString(message.ReceiptHandle))
		}
	}
}

// finish deletes what was taken.
func (q *queue) finish(t *testing.T) {
	t.Helper()

	for _, handle := range q.inHand {
		_, err := q.client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{QueueUrl: &q.url, ReceiptHandle: &handle})
		require.NoError(t, err)
	}

	q.inHand = nil
}

// depth counts the messages that wait and those in hand.
func (q *queue) depth(t *testing.T) (waiting, inHand int) {
	t.Helper()

	names := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages, types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
	}
	got, err := q.client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: names})
	require.NoError(t, err)

	waiting, err = strconv.Atoi(got.Attributes[string(names[0])])
	require.NoError(t, err)

	inHand, err = strconv.Atoi(got.Attributes[string(names[1])])
	require.NoError(t, err)

	return waiting, inHand
}
