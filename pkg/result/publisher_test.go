package result_test

import (
	"context"
	"crypto/md5"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	bustypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/result"
)

const (
	topicARN = "arn:aws:sns:eu-west-1:123456789012:results"
	busARN   = "arn:aws:events:eu-west-1:123456789012:event-bus/results"
	queueARN = "arn:aws:sqs:eu-west-1:123456789012:results"
	queueURL = "https://sqs.eu-west-1.amazonaws.com/123456789012/results"
)

var errDenied = errors.New("access denied")

// fakes are the three services; they keep what they were sent.
type fakes struct {
	mu       sync.Mutex
	err      error
	refuse   bool
	topic    []*sns.PublishInput
	bus      []*eventbridge.PutEventsInput
	lookups  []*sqs.GetQueueUrlInput
	messages []*sqs.SendMessageInput
}

func (f *fakes) Publish(_ context.Context, in *sns.PublishInput, _ ...func(*sns.Options)) (*sns.PublishOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.topic = append(f.topic, in)

	return &sns.PublishOutput{}, f.err
}

func (f *fakes) PutEvents(
	_ context.Context, in *eventbridge.PutEventsInput, _ ...func(*eventbridge.Options),
) (*eventbridge.PutEventsOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.bus = append(f.bus, in)
	if f.refuse {
		return &eventbridge.PutEventsOutput{
			FailedEntryCount: 1,
			Entries: []bustypes.PutEventsResultEntry{{
				ErrorCode: aws.String("ThrottlingException"), ErrorMessage: aws.String("slow down"),
			}},
		}, nil
	}

	return &eventbridge.PutEventsOutput{Entries: []bustypes.PutEventsResultEntry{{EventId: aws.String("1")}}}, f.err
}

//nolint:revive // The name is the SDK's.
func (f *fakes) GetQueueUrl(_ context.Context, in *sqs.GetQueueUrlInput, _ ...func(*sqs.Options)) (*sqs.GetQueueUrlOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.lookups = append(f.lookups, in)

	return &sqs.GetQueueUrlOutput{QueueUrl: aws.String(queueURL)}, f.err
}

func (f *fakes) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.messages = append(f.messages, in)

	return &sqs.SendMessageOutput{}, f.err
}

func newPublisher(t *testing.T, target string, f *fakes) *result.Publisher {
	t.Helper()

	p, err := result.NewWithClients(result.Config{Target: target}, result.Clients{Topic: f, Bus: f, Queue: f})
	require.NoError(t, err)

	return p
}

func TestPublishWithoutATargetDoesNothing(t *testing.T) {
	t.Parallel()

	f := &fakes{}
	require.NoError(t, newPublisher(t, "", f).Publish(t.Context(), settled()))
	require.Empty(t, f.topic)
	require.Empty(t, f.bus)
	require.Empty(t, f.messages)
}

func TestPublishToATopic(t *testing.T) {
	t.Parallel()

	f := &fakes{}
	require.NoError(t, newPublisher(t, topicARN, f).Publish(t.Context(), settled()))
	require.Len(t, f.topic, 1)

	in := f.topic[0]
	want, err := result.Encode(settled())
	require.NoError(t, err)
	require.Equal(t, topicARN, aws.ToString(in.TopicArn))
	require.Equal(t, string(want), aws.ToString(in.Message))
	require.Len(t, in.MessageAttributes, 2)
	require.Equal(t, "lessor.tenant.settled.v1", aws.ToString(in.MessageAttributes["type"].StringValue))
	require.Equal(t, "acme", aws.ToString(in.MessageAttributes["tenant"].StringValue))
	require.Equal(t, "String", aws.ToString(in.MessageAttributes["type"].DataType))
}

func TestPublishToABus(t *testing.T) {
	t.Parallel()

	f := &fakes{}
	require.NoError(t, newPublisher(t, busARN, f).Publish(t.Context(), settled()))
	require.Len(t, f.bus, 1)
	require.Len(t, f.bus[0].Entries, 1)

	entry := f.bus[0].Entries[0]
	require.Equal(t, busARN, aws.ToString(entry.EventBusName))
	require.Equal(t, "lessor", aws.ToString(entry.Source))
	require.Equal(t, "lessor.tenant.settled.v1", aws.ToString(entry.DetailType))
	require.Equal(t, settled().Time, aws.ToTime(entry.Time))
	requireGolden(t, "settled.detail", []byte(aws.ToString(entry.Detail)))
}

func TestPublishToABusFitsItsLimit(t *testing.T) {
	t.Parallel()

	f := &fakes{}
	require.NoError(t, newPublisher(t, busARN, f).Publish(t.Context(), oversized(300<<10, 1)))

	detail := aws.ToString(f.bus[0].Entries[0].Detail)
	require.LessOrEqual(t, len(detail), result.MaxBytes)
	require.Contains(t, detail, `"outputsOmitted":true`)
}

func TestPublishToAQueue(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		target  string
		lookups int
	}{
		"by URL":                      {queueURL, 0},
		"by ARN, looked up only once": {queueARN, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			f := &fakes{}
			p := newPublisher(t, tt.target, f)

			require.NoError(t, p.Publish(t.Context(), failed()))
			require.NoError(t, p.Publish(t.Context(), failed()))
			require.Len(t, f.messages, 2)
			require.Len(t, f.lookups, tt.lookups)

			for _, lookup := range f.lookups {
				require.Equal(t, "results", aws.ToString(lookup.QueueName))
				require.Equal(t, "123456789012", aws.ToString(lookup.QueueOwnerAWSAccountId))
			}

			in := f.messages[0]
			want, err := result.Encode(failed())
			require.NoError(t, err)
			require.Equal(t, queueURL, aws.ToString(in.QueueUrl))
			require.Equal(t, string(want), aws.ToString(in.MessageBody))
			require.Equal(t, "lessor.tenant.failed.v1", aws.ToString(in.MessageAttributes["type"].StringValue))
			require.Equal(t, "acme", aws.ToString(in.MessageAttributes["tenant"].StringValue))
		})
	}
}

func TestPublishErrorsNameTheTarget(t *testing.T) {
	t.Parallel()

	for _, target := range []string{topicARN, busARN, queueARN, queueURL} {
		err := newPublisher(t, target, &fakes{err: errDenied}).Publish(t.Context(), settled())
		require.ErrorIs(t, err, errDenied)
		require.ErrorContains(t, err, "sending lessor.tenant.settled.v1 of operation 01JQ8M6A to "+target+" (LESSOR_RESULT_TARGET)")
	}
}

func TestALookUpThatFailedIsTriedAgain(t *testing.T) {
	t.Parallel()

	f := &fakes{err: errDenied}
	p := newPublisher(t, queueARN, f)
	require.ErrorIs(t, p.Publish(t.Context(), settled()), errDenied)

	f.err = nil

	require.NoError(t, p.Publish(t.Context(), settled()))
	require.Len(t, f.lookups, 2)
	require.Len(t, f.messages, 1)
}

// PutEvents answers 200 even if the bus took nothing.
func TestABusThatRefusesIsAnError(t *testing.T) {
	t.Parallel()

	err := newPublisher(t, busARN, &fakes{refuse: true}).Publish(t.Context(), settled())
	require.ErrorContains(t, err, "event bus refused the event: ThrottlingException: slow down")
}

func TestPublishRefusesAnIncompleteEventBeforeItIsSent(t *testing.T) {
	t.Parallel()

	for _, target := range []string{topicARN, busARN, queueARN} {
		f := &fakes{}
		require.ErrorContains(t, newPublisher(t, target, f).Publish(t.Context(), result.Event{}), "incomplete")
		require.Empty(t, f.topic)
		require.Empty(t, f.bus)
		require.Empty(t, f.messages)
		require.Empty(t, f.lookups)
	}
}

func TestNewRefusesAWrongTarget(t *testing.T) {
	t.Parallel()

	_, err := result.New(result.Config{Target: "results"}, aws.Config{})
	require.ErrorIs(t, err, result.ErrTarget)

	_, err = result.NewWithClients(result.Config{Target: "results"}, result.Clients{})
	require.ErrorIs(t, err, result.ErrTarget)
}

// The real clients, as far as an HTTP server: they speak to the configured
// endpoint and sign for the region of the target.
func TestNewSpeaksToTheRegionOfTheTarget(t *testing.T) {
	t.Parallel()

	// SQS answers with the checksum of what it was sent, and the SDK checks it.
	body, err := result.Encode(settled())
	require.NoError(t, err)

	sent := fmt.Sprintf(`{"MessageId":"1","MD5OfMessageBody":"%x"}`, md5.Sum(body))

	tests := map[string]struct {
		target, scope string
		answer        string
	}{
		"topic": {
			topicARN, "/eu-west-1/sns/", `<PublishResponse><PublishResult><MessageId>1</MessageId></PublishResult></PublishResponse>`,
		},
		"bus":   {busARN, "/eu-west-1/events/", `{"FailedEntryCount":0,"Entries":[{"EventId":"1"}]}`},
		"queue": {queueURL, "/eu-west-1/sqs/", sent},
		"queue elsewhere": {
			"http://127.0.0.1:4566/000000000000/results", "/us-east-1/sqs/", sent,
		},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			requests := make(chan string, 1)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				requests <- r.Header.Get("Authorization") + " " + string(body)

				w.Header().Set("Content-Type", "application/x-amz-json-1.0")
				_, _ = io.WriteString(w, tt.answer)
			}))
			t.Cleanup(server.Close)

			p, err := result.New(result.Config{Target: tt.target}, aws.Config{
				Region:       "us-east-1",
				BaseEndpoint: aws.String(server.URL),
				HTTPClient:   server.Client(),
				Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
					return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
				}),
			})
			require.NoError(t, err)

			require.NoError(t, p.Publish(t.Context(), settled()))

			request := <-requests
			require.Contains(t, request, tt.scope)
			require.Contains(t, request, "01JQ8M6A")
		})
	}
}

func TestPublisherIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()

	f := &fakes{}
	p := newPublisher(t, queueARN, f)

	var group sync.WaitGroup

	for range 8 {
		group.Go(func() { require.NoError(t, p.Publish(t.Context(), settled())) })
	}

	group.Wait()
	require.Len(t, f.messages, 8)
	require.Len(t, f.lookups, 1)

	var body map[string]any

	require.NoError(t, json.Unmarshal([]byte(aws.ToString(f.messages[0].MessageBody)), &body))
}
