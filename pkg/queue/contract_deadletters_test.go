package queue_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/queue"
)

func testDeadLetter(t *testing.T, h harness) {
	t.Helper()

	q, cfg := h.open(t, time.Minute, plenty)
	id := send(t, q, "not json")
	m := receiveOne(t, q)

	require.NoError(t, q.DeadLetter(t.Context(), m, "not-json", "bad \x00 byte: "+strings.Repeat("ü", 2000)))
	requireEmpty(t, q)

	letters, err := queue.NewDeadLetters(h.api, cfg).List(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Equal(t, "not json", string(letters[0].Body))
	require.Equal(t, "not-json", letters[0].ReasonCode)
	require.True(t, strings.HasPrefix(letters[0].Reason, "bad ? byte: üü"), letters[0].Reason)
	require.True(t, strings.HasSuffix(letters[0].Reason, "ü…"), "a long reason is cut between characters")
	require.Equal(t, id, letters[0].OriginalID)
	require.WithinDuration(t, m.FirstReceivedAt, letters[0].FirstReceived, time.Millisecond)
}

func testRedrivePolicy(t *testing.T, h harness) {
	t.Helper()

	q, cfg := h.open(t, time.Minute, 2)
	id := send(t, q, "poison")

	for range 2 {
		require.NoError(t, q.Delay(t.Context(), receiveOne(t, q), 0))
	}

	requireEmpty(t, q)

	letters, err := queue.NewDeadLetters(h.api, cfg).List(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, letters, 1)
	require.Equal(t, id, letters[0].ID)
	require.Empty(t, letters[0].ReasonCode)
}

// bury puts messages into the dead-letter queue and returns their ids there by
// what is in them.
func bury(t *testing.T, h harness, q *queue.Queue, cfg queue.Config, bodies ...string) map[string]string {
	t.Helper()

	for _, body := range bodies {
		send(t, q, body)
		require.NoError(t, q.DeadLetter(t.Context(), receiveOne(t, q), "test", "buried"))
	}

	ids := map[string]string{}

	letters, err := queue.NewDeadLetters(h.api, cfg).List(t.Context(), len(bodies))
	require.NoError(t, err)
	require.Len(t, letters, len(bodies))

	for _, letter := range letters {
		ids[string(letter.Body)] = letter.ID
	}

	return ids
}

func testDeadLetters(t *testing.T, h harness) {
	t.Helper()

	q, cfg := h.open(t, time.Minute, plenty)
	letters := queue.NewDeadLetters(h.api, cfg)
	ids := bury(t, h, q, cfg, "a", "b", "c", "d")

	few, err := letters.List(t.Context(), 2)
	require.NoError(t, err)
	require.Len(t, few, 2)

	shown, err := letters.Show(t.Context(), ids["b"])
	require.NoError(t, err)
	require.Equal(t, "b", string(shown.Body))

	_, err = letters.Show(t.Context(), "nobody")
	require.ErrorIs(t, err, queue.ErrNotFound)

	done, err := letters.Redrive(t.Context(), ids["b"], "nobody", ids["d"])
	require.ErrorIs(t, err, queue.ErrNotFound)
	require.ErrorContains(t, err, "nobody")
	require.ElementsMatch(t, []string{ids["b"], ids["d"]}, done, "those that are there are served all the same")

	back := receiveSome(t, q, 2)
	require.Len(t, back, 2)
	require.ElementsMatch(t, []string{"b", "d"}, []string{string(back[0].Body), string(back[1].Body)})
	require.Empty(t, back[0].Attributes, "the reason stays behind")

	done, err = letters.Drop(t.Context(), ids["a"])
	require.NoError(t, err)
	require.Equal(t, []string{ids["a"]}, done)

	rest, err := letters.List(t.Context(), 10)
	require.NoError(t, err)
	require.Len(t, rest, 1, "what was only looked at was given back, what was served is gone")
	require.Equal(t, ids["c"], rest[0].ID)
}

func testRedriveAll(t *testing.T, h harness) {
	t.Helper()

	q, cfg := h.open(t, time.Minute, plenty)
	letters := queue.NewDeadLetters(h.api, cfg)
	bury(t, h, q, cfg, "a", "b", "c")

	done, err := letters.RedriveAll(t.Context())
	require.NoError(t, err)
	require.Len(t, done, 3)
	require.Len(t, receiveSome(t, q, 3), 3)

	rest, err := letters.List(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, rest)
}

func testAttributesKept(t *testing.T, h harness) {
	t.Helper()

	q, cfg := h.open(t, time.Minute, plenty)
	_, err := h.api.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl: aws.String(cfg.URL), MessageBody: aws.String("x"),
		MessageAttributes: map[string]types.MessageAttributeValue{
			"traceparent": {DataType: aws.String("String"), StringValue: aws.String("00-1-2-01")},
		},
	})
	require.NoError(t, err)

	m := receiveOne(t, q)
	require.Equal(t, map[string]string{"traceparent": "00-1-2-01"}, m.Attributes)
	require.NoError(t, q.DeadLetter(t.Context(), m, "test", ""))

	_, err = queue.NewDeadLetters(h.api, cfg).RedriveAll(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]string{"traceparent": "00-1-2-01"}, receiveOne(t, q).Attributes)
}
