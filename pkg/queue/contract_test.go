package queue_test

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/emulator/emulatortest"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/queue/queuetest"
)

func TestMain(m *testing.M) { os.Exit(emulatortest.Main(m)) }

// harness is a place to run the contract in.
type harness struct {
	api queue.API
	// create makes a dead-letter queue and a queue that moves messages there
	// after some receives.
	create func(t *testing.T, maxReceives int) (url, deadLetterURL string)
}

// TestContract holds for the fake, the emulator and whatever endpoint is given:
// so what unit tests see of the fake is what SQS does.
func TestContract(t *testing.T) {
	t.Parallel()

	t.Run("fake", func(t *testing.T) {
		t.Parallel()
		contract(t, func(t *testing.T, test func(*testing.T, harness)) {
			t.Helper()
			// Time is the bubble's: the waits of the contract take none.
			synctest.Test(t, func(t *testing.T) { test(t, fakeHarness()) })
		})
	})

	if backend, ok := emulatortest.Remote(t); ok {
		t.Run(backend.Name, func(t *testing.T) {
			t.Parallel()

			client := sqs.NewFromConfig(backend.Config)

			contract(t, func(t *testing.T, test func(*testing.T, harness)) {
				t.Helper()
				test(t, harness{api: client, create: func(t *testing.T, maxReceives int) (string, string) {
					t.Helper()

					return createQueues(t, client, maxReceives)
				}})
			})
		})
	}
}

func fakeHarness() harness {
	fake := queuetest.New()

	return harness{api: fake, create: func(t *testing.T, maxReceives int) (string, string) {
		t.Helper()

		name := queueName(t)
		dead := fake.CreateQueue(name+"-dead", queuetest.Attributes{})

		return fake.CreateQueue(name, queuetest.Attributes{RedriveTo: dead, MaxReceiveCount: maxReceives}), dead
	}}
}

var queues atomic.Int64 //nolint:gochecknoglobals // names are unique to the process

// queueName is unique to the run too: an endpoint may outlive it.
func queueName(t *testing.T) string {
	t.Helper()

	return "lessor-" + strconv.FormatInt(time.Now().UnixNano(), 36) + "-" + strconv.FormatInt(queues.Add(1), 10)
}

func createQueues(t *testing.T, client *sqs.Client, maxReceives int) (url, deadLetterURL string) {
	t.Helper()

	name := queueName(t)
	create := func(name string, attributes map[string]string) string {
		// The emulator writes the policy and other settings as given.
		all := map[string]string{"ReceiveMessageWaitTimeSeconds": "0"}
		maps.Copy(all, attributes)

		out, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(name), Attributes: all})
		require.NoError(t, err)

		return *out.QueueUrl
	}

	dead := create(name+"-dead", nil)
	out, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(dead), AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameQueueArn},
	})
	require.NoError(t, err)

	policy, err := json.Marshal(map[string]string{
		"deadLetterTargetArn": out.Attributes["QueueArn"], "maxReceiveCount": strconv.Itoa(maxReceives),
	})
	require.NoError(t, err)

	return create(name, map[string]string{"RedrivePolicy": string(policy)}), dead
}

const plenty = 100

func (h harness) open(t *testing.T, visibility time.Duration, maxReceives int) (*queue.Queue, queue.Config) {
	t.Helper()

	url, dead := h.create(t, maxReceives)
	cfg := queue.Config{URL: url, DeadLetterURL: dead, VisibilityTimeout: visibility, PollWait: time.Second}

	return queue.New(h.api, cfg), cfg
}

// contract has every test of it run in a place that run opens.
func contract(t *testing.T, run func(*testing.T, func(*testing.T, harness))) {
	t.Helper()

	for name, test := range map[string]func(*testing.T, harness){
		"send and receive":              testSendAndReceive,
		"nothing to receive":            testNothingToReceive,
		"receive at most limit":         testReceiveLimit,
		"give back at once":             testGiveBack,
		"delay":                         testDelay,
		"extend":                        testExtend,
		"visibility runs out":           testVisibilityRunsOut,
		"lost receipt":                  testLostReceipt,
		"delete twice":                  testDeleteTwice,
		"heartbeat":                     testHeartbeat,
		"dead letter":                   testDeadLetter,
		"redrive policy":                testRedrivePolicy,
		"list, show, redrive and drop":  testDeadLetters,
		"redrive all":                   testRedriveAll,
		"depth":                         testDepth,
		"missing queue":                 testMissingQueue,
		"largest body":                  testLargestBody,
		"attributes of the sender kept": testAttributesKept,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, test)
		})
	}
}

// receiveOne polls until a message comes, since some polls may be empty.
func receiveOne(t *testing.T, q *queue.Queue) queue.Message {
	t.Helper()

	messages := receiveSome(t, q, 1)
	require.Len(t, messages, 1)

	return messages[0]
}

func receiveSome(t *testing.T, q *queue.Queue, n int) []queue.Message {
	t.Helper()

	var all []queue.Message

	for deadline := time.Now().Add(20 * time.Second); len(all) < n && time.Now().Before(deadline); {
		messages, err := q.Receive(t.Context(), n-len(all))
		require.NoError(t, err)

		all = append(all, messages...)
	}

	return all
}

func requireEmpty(t *testing.T, q *queue.Queue) {
	t.Helper()

	messages, err := q.Receive(t.Context(), 1)
	require.NoError(t, err)
	require.Empty(t, messages)
}

func send(t *testing.T, q *queue.Queue, body string) string {
	t.Helper()

	id, err := q.Send(t.Context(), []byte(body))
	require.NoError(t, err)
	require.NotEmpty(t, id)

	return id
}

func testSendAndReceive(t *testing.T, h harness) {
	t.Helper()

	q, _ := h.open(t, time.Minute, plenty)
	before := time.Now().Add(-time.Minute)
	id := send(t, q, `{"a":"ü <&>"}`)

	m := receiveOne(t, q)
	require.Equal(t, id, m.ID)
	require.JSONEq(t, `{"a":"ü <&>"}`, string(m.Body))
	require.Equal(t, 1, m.ReceiveCount)
	require.NotEmpty(t, m.Receipt)
	require.WithinRange(t, m.SentAt, before, time.Now().Add(time.Minute))
	require.WithinRange(t, m.FirstReceivedAt, m.SentAt, time.Now().Add(time.Minute))
	require.WithinRange(t, m.ReceivedAt, before, time.Now())

	require.NoError(t, q.Delete(t.Context(), m))
	requireEmpty(t, q)
}

func testNothingToReceive(t *testing.T, h harness) {
	t.Helper()

	q, _ := h.open(t, time.Minute, plenty)
	requireEmpty(t, q)
}

func testReceiveLimit(t *testing.T, h harness) {
	t.Helper()

	q, _ := h.open(t, time.Minute, plenty)

	for i := range 12 {
		send(t, q, strconv.Itoa(i))
	}

	few, err := q.Receive(t.Context(), 2)
	require.NoError(t, err)
	require.NotEmpty(t, few)
	require.LessOrEqual(t, len(few), 2)

	many, err := q.Receive(t.Context(), 50)
	require.NoError(t, err)
	require.LessOrEqual(t, len(many), queue.MaxReceive, "more than SQS gives is clamped and not refused")
}

func testGiveBack(t *testing.T, h harness) {
	t.Helper()

	q, _ := h.open(t, time.Minute, plenty)
	id := send(t, q, "x")

	require.NoError(t, q.Delay(t.Context(), receiveOne(t, q), 0))

	again := receiveOne(t, q)
	require.Equal(t, id, again.ID)
	require.Equal(t, 2, again.ReceiveCount)
}

func testDelay(t *testing.T, h harness) {
	t.Helper()

	q, _ := h.open(t, time.Minute, plenty)
	send(t, q, "x")

	m := receiveOne(t, q)

	began := time.Now()

	require.NoError(t, q.Delay(t.Context(), m, 2500*time.Millisecond))
	requireEmpty(t, q)

	receiveOne(t, q)
	require.GreaterOrEqual(t, time.Since(began), 2500*time.Millisecond, "a part of a second is rounded up")
}

func testExtend(t *testing.T, h harness) {
	t.Helper()

	q, _ := h.open(t, 3*time.Second, plenty)
	send(t, q, "x")

	m := receiveOne(t, q)

	time.Sleep(time.Second)

	extended := time.Now()

	require.NoError(t, q.Extend(t.Context(), m))

	receiveOne(t, q)
	require.GreaterOrEqual(t, time.Since(extended), 2900*time.Millisecond, "the timeout starts anew")
}

func testVisibilityRunsOut(t *testing.T, h harness) {
	t.Helper()

	q, _ := h.open(t, time.Second, plenty)
	send(t, q, "x")

	first := receiveOne(t, q)
	second := receiveOne(t, q)
	require.Equal(t, first.ID, second.ID)
	require.NotEqual(t, first.Receipt, second.Receipt)
	require.Equal(t, 2, second.ReceiveCount)
	require.WithinDuration(t, first.FirstReceivedAt, second.FirstReceivedAt, time.Second)
}

func testLostReceipt(t *testing.T, h harness) {
	t.Helper()

	q, _ := h.open(t, time.Minute, plenty)
	send(t, q, "x")

	m := receiveOne(t, q)
	require.NoError(t, q.Delete(t.Context(), m))

	require.ErrorIs(t, q.Extend(t.Context(), m), queue.ErrReceiptLost)
	require.ErrorIs(t, q.Delay(t.Context(), m, time.Second), queue.ErrReceiptLost)
}

func testDeleteTwice(t *testing.T, h harness) {
	t.Helper()

	q, _ := h.open(t, time.Minute, plenty)
	send(t, q, "x")

	m := receiveOne(t, q)
	require.NoError(t, q.Delete(t.Context(), m))
	require.NoError(t, q.Delete(t.Context(), m))
}

func testHeartbeat(t *testing.T, h harness) {
	t.Helper()

	q, _ := h.open(t, 3*time.Second, plenty)
	id := send(t, q, "x")

	m := receiveOne(t, q)
	beat := q.Keep(t.Context(), m, func(err error) { t.Errorf("lost: %v", err) })

	for began := time.Now(); time.Since(began) < 4*time.Second; {
		requireEmpty(t, q)
	}

	beat.Stop()
	require.NoError(t, q.Delay(t.Context(), m, 0))
	require.Equal(t, id, receiveOne(t, q).ID)
}

func testDepth(t *testing.T, h harness) {
	t.Helper()

	q, _ := h.open(t, time.Minute, plenty)

	for i := range 3 {
		send(t, q, strconv.Itoa(i))
	}

	receiveOne(t, q)

	depth, err := q.Depth(t.Context())
	require.NoError(t, err)
	require.Equal(t, queue.Depth{Visible: 2, InFlight: 1}, depth)

	dead, err := q.DeadLetterDepth(t.Context())
	require.NoError(t, err)
	require.Zero(t, dead)

	require.NoError(t, q.DeadLetter(t.Context(), receiveOne(t, q), "code", "reason"))

	dead, err = q.DeadLetterDepth(t.Context())
	require.NoError(t, err)
	require.Equal(t, queue.Depth{Visible: 1}, dead)
}

func testMissingQueue(t *testing.T, h harness) {
	t.Helper()

	_, cfg := h.open(t, time.Minute, plenty)
	cfg.URL += "-not-there"
	q := queue.New(h.api, cfg)

	for name, call := range map[string]func(context.Context) error{
		"receiving": func(ctx context.Context) error { _, err := q.Receive(ctx, 1); return err },
		"sending":   func(ctx context.Context) error { _, err := q.Send(ctx, []byte("x")); return err },
		"counting":  func(ctx context.Context) error { _, err := q.Depth(ctx); return err },
	} {
		err := call(t.Context())
		require.ErrorContains(t, err, "LESSOR_QUEUE_URL "+cfg.URL+": there is no such queue", name)
	}
}

func testLargestBody(t *testing.T, h harness) {
	t.Helper()

	q, _ := h.open(t, time.Minute, plenty)

	send(t, q, strings.Repeat("x", queue.MaxBodyBytes))
	require.Len(t, receiveOne(t, q).Body, queue.MaxBodyBytes)

	_, err := q.Send(t.Context(), make([]byte, queue.MaxBodyBytes+1))
	require.ErrorIs(t, err, queue.ErrTooLarge)
	require.ErrorContains(t, err, "262145 bytes")
}
