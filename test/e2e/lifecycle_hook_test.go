package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// request is what a data hook gets.
type request struct {
	Type    string    `json:"type"`
	Subject tenant.ID `json:"subject"`
	Data    struct {
		ChangeID string `json:"changeId"`
		Token    string `json:"token"`
		From     side   `json:"from"`
		To       side   `json:"to"`
	} `json:"data"`
}

type side struct {
	Tier       string                     `json:"tier"`
	Generation int                        `json:"generation"`
	Outputs    map[string]json.RawMessage `json:"outputs"`
}

// dataHook is who moves data: it takes every request and does what a test says.
type dataHook struct {
	*httptest.Server

	mu   sync.Mutex
	took []request
}

func newDataHook(t *testing.T) *dataHook {
	t.Helper()

	h := &dataHook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = h.take(body)
		}

		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(h.Close)

	return h
}

func (h *dataHook) take(body []byte) error {
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		return err
	}

	h.mu.Lock()
	defer h.mu.Unlock()

	h.took = append(h.took, r)

	return nil
}

// of returns the requests for a tenant.
func (h *dataHook) of(id tenant.ID) []request {
	h.mu.Lock()
	defer h.mu.Unlock()

	var list []request

	for _, r := range h.took {
		if r.Subject == id {
			list = append(list, r)
		}
	}

	return list
}

// asked waits until a tenant waits for the hook, and returns its row and the only
// request.
func (f *fleet) asked(h *dataHook, id tenant.ID) (tenant.Record, request) {
	f.t.Helper()

	rec := f.row(id, "to wait for the data hook", func(rec tenant.Record) bool {
		return rec.Change != nil && rec.Change.Stage == tenant.StageCutover && rec.Change.Asked
	})
	took := h.of(id)
	require.Len(f.t, took, 1)

	return rec, took[0]
}

func (f *fleet) answer(id tenant.ID, token string, change func(*tenant.Event)) {
	f.t.Helper()
	f.say(tenant.EventCutoverConfirmed, id, func(e *tenant.Event) {
		e.Token = token
		if change != nil {
			change(e)
		}
	})
}

// stays checks that a tier change failed and that the tenant has what it had.
func (f *fleet) stays(id tenant.ID, before tenant.Record) tenant.Record {
	f.t.Helper()

	rec := f.givenUp(id)
	require.Nil(f.t, rec.Change)
	require.Equal(f.t, before.Applied.Spec.Tier, rec.Applied.Spec.Tier)
	require.Equal(f.t, before.Applied.Generation, rec.Applied.Generation)
	f.sameOutputs(before, rec)

	return rec
}

const hookedTiers = `  asking:
    program: bridge
    maxAttempts: 1
    tierChange: {bake: 1h, hook: {url: "HOOK", timeout: 1m}}
    parameters: %[1]s
  asking-cheaply:
    program: pool
    tierChange: {bake: 1h, hook: {url: "HOOK", timeout: 1m}}
    parameters: {sharedEndpoint: other.example.com}
  queueing:
    program: pool
    tierChange: {bake: 1h, hook: {queueUrl: "QUEUE"}}
    parameters: {sharedEndpoint: another.example.com}
`

// The data of tenants is moved by others, who confirm, refuse, take too long or
// are somebody else. Until they confirm, the old topology serves and the new one
// stands beside it.
func TestDataHook(t *testing.T) {
	t.Parallel()

	const (
		confirmed = tenant.ID("hook-confirmed")
		refused   = tenant.ID("hook-refused")
		late      = tenant.ID("hook-late")
		fickle    = tenant.ID("hook-fickle")
		queued    = tenant.ID("hook-queued")
	)

	hook := newDataHook(t)
	client := sqs.NewFromConfig(awsConfig())
	queue, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("data-hook")})
	require.NoError(t, err)

	f := newLifecycle(t, strings.NewReplacer("HOOK", hook.URL+"/move?key=of-the-hook", "QUEUE", *queue.QueueUrl).Replace(hookedTiers))
	moves := map[tenant.ID]string{
		confirmed: "asking", refused: "asking-cheaply", late: "asking-cheaply", fickle: "asking", queued: "queueing",
	}
	before, since := map[tenant.ID]tenant.Record{}, map[tenant.ID]time.Time{}

	for id := range moves {
		f.create(id, tierPool)
	}

	for id, tier := range moves {
		before[id], since[id] = f.serves(id, tierPool), now()
		f.move(id, tier)
	}

	t.Log("confirmed, after somebody tried to with a token of their own")

	rec, r := f.asked(hook, confirmed)
	require.Equal(t, tierPool, rec.Applied.Spec.Tier, "the old topology serves")
	f.sameOutputs(before[confirmed], rec)
	require.Equal(t, map[string]map[string]int{"asking": promised(tierBridge)}, f.made(confirmed), "the new one stands")
	require.Equal(t, "lessor.tenant.cutover-requested.v1", r.Type)
	require.Equal(t, rec.Change.ID, r.Data.ChangeID)
	require.Equal(t, side{tierPool, rec.Applied.Generation, rec.Outputs}, r.Data.From)
	require.Equal(t, side{"asking", rec.Applied.Generation + 1, rec.Change.Outputs}, r.Data.To)
	require.Contains(t, r.Data.To.Outputs, "tableName")

	f.answer(confirmed, "somebody-elses-guess-of-a-token", nil)
	f.await("the wrong token to be looked at", time.Minute, func() bool {
		return bytes.Contains(f.workers[0].log.bytes(), []byte(`"type":"cutover-confirmed","changed":false`))
	})
	require.Equal(t, rec.DesiredSeq, f.rowOf(confirmed).DesiredSeq)
	require.Len(t, hook.of(confirmed), 1, "nobody is asked again")

	code, says := f.enqueue("confirm", string(confirmed), "--token", "somebody-elses-guess-of-a-token")
	require.Equal(t, 5, code, says)
	require.Contains(t, says, "the token is not of the tier change")

	log := string(f.workers[0].log.bytes())
	require.NotContains(t, rawRow(t, f, confirmed)+log, r.Data.Token)
	require.NotContains(t, log, "of-the-hook", "what the address says is the hook's own")

	f.answer(confirmed, r.Data.Token, nil)
	rec = f.serves(confirmed, "asking")
	require.Equal(t, tenant.StageBaking, rec.Change.Stage)
	require.Equal(t, jsonText(t, r.Data.To.Outputs), jsonText(t, rec.Outputs), "what the hook was told")

	t.Log("refused")

	_, r = f.asked(hook, refused)
	f.answer(refused, r.Data.Token, func(e *tenant.Event) { e.Refused, e.Reason = true, "two tables have one name" })

	rec = f.stays(refused, before[refused])
	require.Equal(t, tenant.KindCutover, rec.Last.Failure.Kind)
	require.Contains(t, rec.Last.Failure.Message, "two tables have one name")

	t.Log("called off while the hook works")

	f.asked(hook, fickle)
	f.move(fickle, tierPool)

	rec = f.serves(fickle, tierPool)
	require.Nil(t, rec.Change)
	f.sameOutputs(before[fickle], rec)
	f.has(fickle, nil)

	t.Log("confirmed by the reader of a queue")

	f.row(queued, "to wait for the data hook", func(rec tenant.Record) bool { return rec.Change != nil && rec.Change.Asked })

	received, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: queue.QueueUrl, WaitTimeSeconds: 10})
	require.NoError(t, err)
	require.Len(t, received.Messages, 1)
	require.NoError(t, json.Unmarshal([]byte(*received.Messages[0].Body), &r))
	require.Equal(t, queued, r.Subject)

	code, says = f.enqueue("confirm", string(queued), "--token", r.Data.Token, "--wait")
	require.Zero(t, code, says)
	require.JSONEq(t, `"another.example.com"`, string(f.serves(queued, "queueing").Outputs["sharedEndpoint"]))

	t.Log("not in time")

	rec = f.stays(late, before[late])
	require.Equal(t, tenant.KindCutover, rec.Last.Failure.Kind)
	require.Contains(t, rec.Last.Failure.Message, "did not confirm")
	require.Len(t, hook.of(late), 1)

	for id := range moves {
		f.uninterrupted(id, since[id])
	}
}

func jsonText(t *testing.T, value any) string {
	t.Helper()

	text, err := json.Marshal(value)
	require.NoError(t, err)

	return string(text)
}
