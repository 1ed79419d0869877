package stategate_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/stategate"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// content is a checkpoint that the resource tells from others.
func content(resource string) string {
	return fmt.Sprintf(`{"version":3,"checkpoint":{"stack":"organization/lessor/acme","latest":{`+
		`"manifest":{"time":"2026-01-02T03:04:05Z","magic":"","version":""},"secrets_providers":{"type":"cloud"},`+
		`"resources":[{"urn":"urn:pulumi:acme::lessor::a:b:C::%s","custom":true,"id":"x","type":"a:b:C"}]}}}`, resource)
}

// opened is a gate with the CLI's side of it.
type opened struct {
	*stategate.Gate

	base    string
	refused chan struct{}
	closed  bool
}

// config is that of the operation with a fence, whose lease is good.
func config(fence int64, clean bool) stategate.Config {
	return stategate.Config{
		Project: "lessor", Stack: "acme", Fence: fence, Operation: fmt.Sprintf("OP%d", fence), CleanPredecessor: clean,
		Left: func() time.Duration { return time.Hour },
	}
}

func open(tb testing.TB, store stategate.Store, cfg stategate.Config) *opened {
	tb.Helper()

	o := &opened{refused: make(chan struct{})}
	cfg.Refused = func() { close(o.refused) }

	gate, err := stategate.Open(tb.Context(), store, cfg)
	require.NoError(tb, err)

	o.Gate = gate
	o.base = baseOf(tb, gate.URL())

	tb.Cleanup(func() { o.close(tb) })

	return o
}

func (o *opened) close(tb testing.TB) bool {
	tb.Helper()

	if o.closed {
		return false
	}

	o.closed = true

	clean, err := o.Close(tb.Context())
	require.NoError(tb, err)

	return clean
}

// baseOf is the address of the bucket in a backend's URL.
func baseOf(tb testing.TB, backend string) string {
	tb.Helper()

	u, err := url.Parse(backend)
	require.NoError(tb, err)

	return u.Query().Get("endpoint") + "/" + u.Host
}

// do sends a request as the CLI does and returns status and body.
func do(t *testing.T, method, address, body string, header ...string) (code int, answer string) {
	t.Helper()

	code, answer, err := try(t, method, address, body, header...)
	require.NoError(t, err)

	return code, answer
}

func try(t *testing.T, method, address, body string, header ...string) (code int, answer string, err error) {
	t.Helper()

	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		return 0, "", fmt.Errorf("making a request: %w", err)
	}

	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}

	transport := &http.Transport{DisableKeepAlives: true}

	res, err := transport.RoundTrip(r)
	if err != nil {
		return 0, "", fmt.Errorf("asking the gate: %w", err)
	}
	defer res.Body.Close()

	read, err := io.ReadAll(res.Body)
	if err != nil {
		return res.StatusCode, "", fmt.Errorf("reading the answer: %w", err)
	}

	return res.StatusCode, string(read), nil
}

func (o *opened) put(t *testing.T, body string) {
	t.Helper()

	status, answer := do(t, http.MethodPut, o.base+"/"+checkpointKey, body)
	require.Equal(t, http.StatusOK, status, answer)
}

func (o *opened) get(t *testing.T) string {
	t.Helper()

	status, body := do(t, http.MethodGet, o.base+"/"+checkpointKey, "")
	require.Equal(t, http.StatusOK, status, body)

	return body
}

// putRefused hands in a checkpoint that is not to be written. The request has no
// answer until the gate is closed.
func (o *opened) putRefused(t *testing.T, body string) *tenant.Failure {
	t.Helper()

	ended := make(chan error, 1)

	go func() {
		_, _, err := try(t, http.MethodPut, o.base+"/"+checkpointKey, body)
		ended <- err
	}()

	<-o.refused

	select {
	case <-ended:
		require.Fail(t, "the write was answered")
	default:
	}

	failure := failureOf(t, o.Err())

	o.close(t)
	require.Error(t, <-ended)

	return failure
}

func failureOf(t *testing.T, err error) *tenant.Failure {
	t.Helper()

	var failure *tenant.Failure

	require.ErrorAs(t, err, &failure)
	require.NotEmpty(t, failure.Hint)
	require.NotContains(t, failure.Message, "\n")

	return failure
}
