package cutover_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lessor-dev/lessor/pkg/cutover"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const token = "6JZ3Q2M5TW7Y4XKD6VQH2C5N3A"

func request() cutover.Request {
	return cutover.Request{
		ChangeID: "01JQ8M5T9W3Z6Y2X4V7R8P0N00", Tenant: "acme", Region: "eu-west-1", Token: token,
		Deadline: time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC),
		From:     cutover.Side{Tier: "free", Generation: 1, Outputs: map[string]json.RawMessage{"schema": json.RawMessage(`"acme"`)}},
		To:       cutover.Side{Tier: "enterprise", Generation: 2, Outputs: map[string]json.RawMessage{"endpoint": json.RawMessage(`"db:5432"`)}},
	}
}

const want = `{
  "specversion": "1.0",
  "id": "01JQ8M5T9W3Z6Y2X4V7R8P0N00-DIGEST",
  "source": "lessor",
  "type": "lessor.tenant.cutover-requested.v1",
  "subject": "acme",
  "time": "2026-03-01T12:00:00Z",
  "datacontenttype": "application/json",
  "data": {
    "changeId": "01JQ8M5T9W3Z6Y2X4V7R8P0N00",
    "token": "6JZ3Q2M5TW7Y4XKD6VQH2C5N3A",
    "deadline": "2026-03-01T13:00:00Z",
    "region": "eu-west-1",
    "from": {"tier": "free", "generation": 1, "outputs": {"schema": "acme"}},
    "to": {"tier": "enterprise", "generation": 2, "outputs": {"endpoint": "db:5432"}}
  }
}`

func TestEncode(t *testing.T) {
	t.Parallel()

	body, err := cutover.Encode(request(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	require.NoError(t, err)
	require.JSONEq(t, strings.Replace(want, "DIGEST", tenant.TokenDigest(token)[:8], 1), string(body))

	r := request()
	r.To.Outputs["large"] = json.RawMessage(`"` + strings.Repeat("x", cutover.MaxBytes) + `"`)

	_, err = cutover.Encode(r, time.Now())
	require.ErrorIs(t, err, cutover.ErrTooLarge)
}

// sent is what a queue was given.
type sent struct {
	in  *sqs.SendMessageInput
	err error
}

func (s *sent) SendMessage(_ context.Context, in *sqs.SendMessageInput, _ ...func(*sqs.Options)) (*sqs.SendMessageOutput, error) {
	s.in = in

	return &sqs.SendMessageOutput{}, s.err
}

func TestAskAQueue(t *testing.T) {
	t.Parallel()

	queue := &sent{}
	hook := tenant.Hook{Queue: "https://sqs.example.com/1/mover"}

	require.NoError(t, cutover.New(queue).Ask(t.Context(), hook, request()))
	require.Equal(t, hook.Queue, aws.ToString(queue.in.QueueUrl))
	require.Contains(t, aws.ToString(queue.in.MessageBody), token)

	queue.err = errors.New("access denied")
	require.ErrorContains(t, cutover.New(queue).Ask(t.Context(), hook, request()), "mover: access denied")
}

func TestAskAnEndpoint(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		status int
		fault  string
	}{
		"takes it":    {http.StatusAccepted, ""},
		"is busy":     {http.StatusServiceUnavailable, "503"},
		"is not here": {http.StatusNotFound, "404"},
		// A token must not follow a redirect to somebody else.
		"sends elsewhere": {http.StatusTemporaryRedirect, "307"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			calls := make(chan string, 10)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				calls <- r.Method + " " + r.Header.Get("Content-Type") + " " + string(body)

				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				_, _ = w.Write(body) // a hook that says what it was told
			}))

			defer server.Close()
			defer http.DefaultTransport.(*http.Transport).CloseIdleConnections() //nolint:forcetypeassert // it is one

			err := cutover.New(nil).Ask(t.Context(), tenant.Hook{URL: server.URL + "/cutover?key=confidential"}, request())

			call := <-calls
			require.True(t, strings.HasPrefix(call, "POST application/cloudevents+json; charset=utf-8 {"), call)
			require.Contains(t, call, token)
			require.Empty(t, calls, "it is called once")

			if c.fault == "" {
				require.NoError(t, err)

				return
			}

			require.ErrorContains(t, err, c.fault)
			require.NotContains(t, err.Error(), token)
			require.NotContains(t, err.Error(), "confidential")
		})
	}
}

func TestAskNobody(t *testing.T) {
	t.Parallel()

	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()

	err := cutover.New(nil).Ask(t.Context(), tenant.Hook{URL: server.URL + "/cutover?key=confidential"}, request())
	require.ErrorContains(t, err, "calling the data hook at "+strings.TrimPrefix(server.URL, "http://"))
	require.NotContains(t, err.Error(), "confidential")
}
