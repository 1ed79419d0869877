package enqueuecli_test

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sethvargo/go-envconfig"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/enqueuecli"
	"github.com/lessor-dev/lessor/pkg/event"
)

// cloud answers as SQS and DynamoDB do, with a queue that holds one message and
// a table without rows.
type cloud struct {
	mu    sync.Mutex
	calls []string
	sent  []string
	gone  bool
	deny  string
}

func digest(body string) string {
	sum := md5.Sum([]byte(body))

	return hex.EncodeToString(sum[:])
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()

	_, call, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	region := strings.Split(r.Header.Get("Authorization"), "/")

	var in struct {
		QueueURL    string `json:"QueueUrl"`
		TableName   string `json:"TableName"`
		MessageBody string `json:"MessageBody"`
	}

	content, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(content, &in)
	c.calls = append(c.calls, call+" "+in.QueueURL+in.TableName+" in "+region[2])

	if call == c.deny {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type": "com.amazonaws#AccessDeniedException", "message": "no"}`)

		return
	}

	out := map[string]any{}

	switch call {
	case "SendMessage":
		c.sent = append(c.sent, in.MessageBody)
		out["MessageId"], out["MD5OfMessageBody"] = "message-1", digest(in.MessageBody)
	case "ReceiveMessage":
		if !c.gone {
			out["Messages"] = []map[string]any{
				{"MessageId": "d-1", "ReceiptHandle": "r", "Body": lineSuspend, "MD5OfBody": digest(lineSuspend)},
			}
		}
	case "DeleteMessage":
		c.gone = true
	}

	_ = json.NewEncoder(w).Encode(out)
}

// main runs Main against a cloud.
func (*cloud) main(t *testing.T, env map[string]string, args ...string) ran {
	t.Helper()

	var stdout, stderr bytes.Buffer

	code := enqueuecli.Main(t.Context(), args, strings.NewReader(""), &stdout, &stderr, envconfig.MapLookuper(env))

	return ran{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// The SDK reads the environment of the process, so these do not run beside
// each other.
func TestMainAgainstAWS(t *testing.T) {
	c := &cloud{}
	server := httptest.NewServer(c)

	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})

	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.URL, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-west-1",
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_PROFILE": "",
	} {
		t.Setenv(name, value)
	}

	env := map[string]string{"LESSOR_QUEUE_URL": queueURL, "LESSOR_DEAD_LETTER_QUEUE_URL": letters}
	called := func(want ...string) {
		t.Helper()
		require.Equal(t, want, c.calls)
		c.calls = nil
	}

	got := c.main(t, env, "provision", "acme", "--tier", "free", "--region", "eu-west-1", "--table", "other", "--aws-region", "us-east-1")
	require.Zero(t, got.code, got.stderr)
	called("GetItem other in us-east-1", "SendMessage "+queueURL+" in us-east-1")

	e, err := event.NewDecoder(event.OrderTime, time.Now).Decode([]byte(c.sent[0]))
	require.NoError(t, err)
	require.Equal(t, acme, e.Tenant)
	require.Len(t, e.ID, 26)

	got = c.main(t, env, "status", "acme")
	require.Equal(t, 4, got.code)
	called("GetItem lessor-tenants in eu-west-1")

	got = c.main(t, env, "dlq", "list")
	require.Zero(t, got.code, got.stderr)
	require.Contains(t, got.stdout, "d-1")
	require.Contains(t, got.stdout, "acme")

	c.calls = nil
	got = c.main(t, env, "dlq", "show", "d-9")
	require.Equal(t, 4, got.code)
	require.Contains(t, got.stderr, "error: ")
	require.Contains(t, got.stderr, "d-9")

	got = c.main(t, env, "dlq", "redrive", "--all")
	require.Equal(t, ran{stdout: "d-1: redriven\n"}, got)
	require.JSONEq(t, lineSuspend, c.sent[len(c.sent)-1])

	got = c.main(t, map[string]string{}, "dlq", "list")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.stderr, "LESSOR_DEAD_LETTER_QUEUE_URL")

	got = c.main(t, env, "suspend", "acme", "--profile", "no-such-profile")
	require.Equal(t, 2, got.code)
	require.Contains(t, got.stderr, "hint: check AWS_PROFILE")

	c.deny = "GetItem"
	got = c.main(t, env, "suspend", "acme")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "reading the row of acme")
	require.Contains(t, got.stderr, "hint: these credentials may not do that")

	server.Close()

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	var stderr bytes.Buffer

	code := enqueuecli.Main(ctx, []string{"status", "acme"}, nil, io.Discard, &stderr, envconfig.MapLookuper(env))
	require.Equal(t, 130, code)
	require.Equal(t, "error: interrupted\n", stderr.String())

	got = c.main(t, env, "status", "acme")
	require.Equal(t, 1, got.code)
	require.Contains(t, got.stderr, "the table of tenants is not reachable")
	require.Contains(t, got.stderr, "hint: no answer from AWS")

	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_DEFAULT_REGION", "")

	got = c.main(t, env, "status", "acme")
	require.Equal(t, ran{code: 2, stderr: "error: the AWS region is not known\nhint: set AWS_REGION or give --aws-region\n"}, got)
}
