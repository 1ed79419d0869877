package queue_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/queue/queuetest"
)

func open(cfg queue.Config) (*queuetest.Fake, *queue.Queue) {
	fake := queuetest.New()
	cfg.URL = fake.CreateQueue("events", queuetest.Attributes{})
	cfg.DeadLetterURL = fake.CreateQueue("events-dead", queuetest.Attributes{})

	return fake, queue.New(fake, cfg)
}

func TestReceiveAsksForWhatItReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake, q := open(queue.Config{VisibilityTimeout: 90 * time.Second, PollWait: 20 * time.Second})

		began := time.Now()

		requireEmpty(t, q)
		require.Equal(t, 20*time.Second, time.Since(began))

		requests := fake.Received()
		require.Len(t, requests, 1)
		require.Equal(t, int32(90), requests[0].VisibilityTimeout)
		require.Equal(t, int32(20), requests[0].WaitTimeSeconds)
		require.Equal(t, []string{"All"}, requests[0].MessageAttributeNames)
		require.ElementsMatch(t, []types.MessageSystemAttributeName{
			"ApproximateReceiveCount", "SentTimestamp", "ApproximateFirstReceiveTimestamp",
		}, requests[0].MessageSystemAttributeNames)
	})
}

func TestPollIsWokenByAMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, q := open(queue.Config{PollWait: 20 * time.Second})
		began := time.Now()

		go func() {
			time.Sleep(3 * time.Second)

			_, err := q.Send(context.WithoutCancel(t.Context()), []byte("x"))
			if err != nil {
				t.Error(err)
			}
		}()

		require.Len(t, receiveSome(t, q, 1), 1)
		require.Equal(t, 3*time.Second, time.Since(began))
	})
}

func fail(fake *queuetest.Fake, operation string, err error) {
	fake.Intercept(func(current string) error {
		if current == operation {
			return err
		}

		return nil
	})
}

// A failed send leaves the message where it is; a failed delete leaves two.
func TestDeadLetterNeverLosesAMessage(t *testing.T) {
	t.Parallel()

	for operation, want := range map[string]string{
		"SendMessage":   "LESSOR_DEAD_LETTER_QUEUE_URL",
		"DeleteMessage": "LESSOR_QUEUE_URL",
	} {
		t.Run(operation, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				fake, q := open(queue.Config{VisibilityTimeout: time.Minute, PollWait: time.Second})
				send(t, q, "x")

				m := receiveOne(t, q)

				fail(fake, operation, denied())
				require.ErrorContains(t, q.DeadLetter(t.Context(), m, "code", "reason"), want)
				fake.Intercept(nil)
				time.Sleep(time.Minute)
				require.Equal(t, "x", string(receiveOne(t, q).Body))
			})
		})
	}
}

func denied() error { return &smithy.GenericAPIError{Code: "AccessDenied", Message: "not authorized"} }

// Whoever reads the error sees which variable and which permission to mend.
func TestDeniedNamesVariableAndPermission(t *testing.T) {
	t.Parallel()

	fake := queuetest.New()
	cfg := queue.Config{URL: "https://q", DeadLetterURL: "https://d"}
	q := queue.New(fake, cfg)
	letters := queue.NewDeadLetters(fake, cfg)
	m := queue.Message{ID: "m", Receipt: "r", Body: []byte("x"), ReceivedAt: time.Now()}

	for want, call := range map[string]func(context.Context) error{
		"receiving from LESSOR_QUEUE_URL https://q: access denied; the role needs sqs:ReceiveMessage": func(ctx context.Context) error {
			_, err := q.Receive(ctx, 1)

			return err
		},
		"sending to LESSOR_QUEUE_URL https://q: access denied; the role needs sqs:SendMessage": func(ctx context.Context) error {
			_, err := q.Send(ctx, []byte("x"))

			return err
		},
		"counting the messages of LESSOR_QUEUE_URL https://q: access denied; the role needs sqs:GetQueueAttributes": func(ctx context.Context) error {
			_, err := q.Depth(ctx)

			return err
		},
		"counting the messages of LESSOR_DEAD_LETTER_QUEUE_URL https://d: access denied; the role needs sqs:GetQueueAttributes": func(ctx context.Context) error {
			_, err := q.DeadLetterDepth(ctx)

			return err
		},
		"extending message m: LESSOR_QUEUE_URL https://q: access denied; the role needs sqs:ChangeMessageVisibility": func(ctx context.Context) error {
			return q.Extend(ctx, m)
		},
		"deleting message m: LESSOR_QUEUE_URL https://q: access denied; the role needs sqs:DeleteMessage": func(ctx context.Context) error {
			return q.Delete(ctx, m)
		},
		"moving message m to LESSOR_DEAD_LETTER_QUEUE_URL https://d: access denied; the role needs sqs:SendMessage": func(ctx context.Context) error {
			return q.DeadLetter(ctx, m, "code", "reason")
		},
		"listing dead letters: receiving from LESSOR_DEAD_LETTER_QUEUE_URL https://d: access denied": func(ctx context.Context) error {
			_, err := letters.List(ctx, 1)

			return err
		},
	} {
		fake.Intercept(func(string) error { return denied() })
		require.ErrorContains(t, call(t.Context()), want)
	}
}

func TestDeadLetterQueueIsNeeded(t *testing.T) {
	t.Parallel()

	q := queue.New(queuetest.New(), queue.Config{URL: "https://q"})
	require.ErrorContains(t, q.DeadLetter(t.Context(), queue.Message{}, "c", "r"), "LESSOR_DEAD_LETTER_QUEUE_URL is not set")

	_, err := queue.NewDeadLetters(queuetest.New(), queue.Config{URL: "https://q"}).List(t.Context(), 1)
	require.ErrorContains(t, err, "LESSOR_DEAD_LETTER_QUEUE_URL is not set")
}

// A copy for the dead-letter queue may not exceed the ten attributes of SQS.
func TestDeadLetterOfAMessageWithManyAttributes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake, q := open(queue.Config{VisibilityTimeout: time.Minute, PollWait: time.Second})
		attributes := map[string]types.MessageAttributeValue{}

		for _, name := range []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"} {
			attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: aws.String(name)}
		}

		_, err := fake.SendMessage(t.Context(), &sqs.SendMessageInput{
			QueueUrl:    aws.String("https://sqs.us-east-1.amazonaws.com/000000000000/events"),
			MessageBody: aws.String("x"), MessageAttributes: attributes,
		})
		require.NoError(t, err)
		require.NoError(t, q.DeadLetter(t.Context(), receiveOne(t, q), "code", "reason"))
		require.Equal(t, []string{"x"}, fake.Bodies("https://sqs.us-east-1.amazonaws.com/000000000000/events-dead"))
	})
}

// hang waits until the client hangs up, which a server notices only once it has
// read the whole request.
func hang(t *testing.T, r *http.Request, meanwhile func()) {
	t.Helper()

	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		t.Error(err)
	}

	meanwhile()
	<-r.Context().Done()
}

// A connection that hangs is given up and tried again within one call.
func TestAttemptTimeoutIsRetried(t *testing.T) {
	t.Parallel()

	var attempts atomic.Int32

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if attempts.Add(1) == 1 {
			hang(t, r, func() {})

			return
		}

		w.Header().Set("Content-Type", "application/x-amz-json-1.0")

		if _, err := w.Write([]byte(`{}`)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)

	client := sqs.New(sqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), HTTPClient: server.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		Retryer: retry.NewStandard(func(o *retry.StandardOptions) {
			o.Backoff = retry.BackoffDelayerFunc(func(int, error) (time.Duration, error) { return 0, nil })
		}),
	})

	_, err := client.DeleteMessage(t.Context(), &sqs.DeleteMessageInput{
		QueueUrl: aws.String(server.URL + "/0/q"), ReceiptHandle: aws.String("r"),
	}, queue.AttemptTimeout(2*time.Second))
	require.NoError(t, err)
	require.Equal(t, int32(2), attempts.Load())
}

// A call that the caller gives up is not tried again.
func TestCancelledCallIsNotRetried(t *testing.T) {
	t.Parallel()

	var attempts atomic.Int32

	ctx, cancel := context.WithCancel(t.Context())

	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		attempts.Add(1)
		hang(t, r, cancel)
	}))
	t.Cleanup(server.Close)

	client := sqs.New(sqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(server.URL), HTTPClient: server.Client(),
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})

	_, err := client.DeleteMessage(ctx, &sqs.DeleteMessageInput{
		QueueUrl: aws.String(server.URL + "/0/q"), ReceiptHandle: aws.String("r"),
	}, queue.AttemptTimeout(time.Minute))
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, int32(1), attempts.Load())
}
