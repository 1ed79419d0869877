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

const (
	checkpointKey = ".pulumi/stacks/lessor/acme.json"
	lockPrefix    = ".pulumi/locks/organization/lessor/acme/"
)

// content is a checkpoint that the resource tells from others.
func content(resource string) string {
	return fmt.Sprintf(`{"version":3,"checkpoint":{"stack":"organization/lessor/acme","latest":{`+
		`"manifest":{"time":"2026-01-02T03:04:05Z","magic":"","version":""},"secrets_providers":{"type":"cloud"},`+
		`"resources":[{"urn":"urn:pulumi:acme::lessor::a:b:C::%s","custom":true,"id":"x","type":"a:b:C"}]}}}`, resource)
}

const emptied = `{"version":3,"checkpoint":{"stack":"organization/lessor/acme","latest":{` +
	`"manifest":{"time":"2026-01-02T03:04:05Z","magic":"","version":""},"secrets_providers":{"type":"cloud"}}}}`

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

func open(t *testing.T, store stategate.Store, cfg stategate.Config) *opened {
	t.Helper()

	o := &opened{refused: make(chan struct{})}
	cfg.Refused = func() { close(o.refused) }

	gate, err := stategate.Open(t.Context(), store, cfg)
	require.NoError(t, err)

	o.Gate = gate
	o.base = baseOf(t, gate.URL())

	t.Cleanup(func() { o.close(t) })

	return o
}

func (o *opened) close(t *testing.T) bool {
	t.Helper()

	if o.closed {
		return false
	}

	o.closed = true

	clean, err := o.Close(t.Context())
	require.NoError(t, err)

	return clean
}

// baseOf is the address of the bucket in a backend's URL.
func baseOf(t *testing.T, backend string) string {
	t.Helper()

	u, err := url.Parse(backend)
	require.NoError(t, err)

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

func TestAStackIsCreatedWrittenAndReadAgain(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(1, true))

	status, _ := do(t, http.MethodGet, a.base+"/"+checkpointKey, "")
	require.Equal(t, http.StatusNotFound, status)
	require.False(t, a.Exists())

	a.put(t, content("one"))
	a.put(t, content("two"))
	require.True(t, a.Exists())
	require.JSONEq(t, content("two"), a.get(t))
	require.Equal(t, "x", a.State().Resources[0].ID)
	require.Equal(t, []stategate.Stamp{{Fence: 1, Operation: "OP1", Write: 1}, {Fence: 1, Operation: "OP1", Write: 2}}, store.stamps(checkpointKey))
	require.True(t, a.close(t))
	require.Equal(t, []string{".pulumi/meta.yaml", checkpointKey}, store.keys(), "no lock is left")

	b := open(t, store, config(2, true))
	require.Equal(t, content("two"), b.get(t), "the stamp is not the CLI's business")
	require.Len(t, store.stamps(checkpointKey), 2, "nothing is fenced after a clean predecessor")
}

func TestAnOlderOperationIsShutOut(t *testing.T) {
	t.Parallel()

	cases := map[string]struct{ first, second func(t *testing.T, a *opened) }{
		"that created the stack":      {second: nil},
		"that has written":            {first: func(t *testing.T, a *opened) { t.Helper(); a.put(t, content("one")) }},
		"that has written many times": {first: func(t *testing.T, a *opened) { t.Helper(); a.put(t, content("one")); a.put(t, content("one")) }},
	}

	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			store := newMemory()
			a := open(t, store, config(1, true))

			if test.first != nil {
				test.first(t, a)
			}

			b := open(t, store, config(2, false))
			before := len(store.stamps(checkpointKey))

			failure := a.putRefused(t, content("late"))
			require.Equal(t, tenant.KindLeaseLost, failure.Kind)
			require.Contains(t, failure.Message, "fence 2")
			require.Len(t, store.stamps(checkpointKey), before, "nothing was written")

			b.put(t, content("two"))
			require.JSONEq(t, content("two"), b.get(t))
		})
	}
}

func TestAWriteUnderWayLandsBeforeTheFenceOrNever(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(1, true))
	a.put(t, content("one"))

	sent, release := make(chan struct{}), make(chan struct{})
	store.before = func(key string) error {
		if key == checkpointKey {
			store.before = nil

			close(sent)
			<-release
		}

		return nil
	}

	ended := make(chan struct{})

	go func() {
		defer close(ended)

		_, _, _ = try(t, http.MethodPut, a.base+"/"+checkpointKey, content("late"))
	}()

	<-sent

	b := open(t, store, config(2, false))
	require.JSONEq(t, content("one"), b.get(t))

	close(release)
	<-a.refused
	require.Equal(t, tenant.KindLeaseLost, failureOf(t, a.Err()).Kind)
	a.close(t)
	<-ended
	require.JSONEq(t, content("one"), b.get(t))
}

func TestFencingTakesOverWhatLandsMeanwhile(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(1, true))
	a.put(t, content("one"))

	// The older operation writes between the read and the fencing write.
	store.before = func(key string) error {
		if key == checkpointKey {
			store.before = nil

			a.put(t, content("two"))
		}

		return nil
	}

	b := open(t, store, config(2, false))
	require.JSONEq(t, content("two"), b.get(t))
	require.Equal(t, tenant.KindLeaseLost, a.putRefused(t, content("late")).Kind)
}

func TestNothingIsWrittenWithoutALease(t *testing.T) {
	t.Parallel()

	store := newMemory()
	left := time.Hour
	cfg := config(1, true)
	cfg.Left = func() time.Duration { return left }

	a := open(t, store, cfg)
	a.put(t, content("one"))

	left = 0

	require.Equal(t, tenant.KindLeaseLost, a.putRefused(t, content("late")).Kind)
	require.Len(t, store.stamps(checkpointKey), 1)
}

func TestAWriteWhoseAnswerWasLostFindsItself(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(1, true))

	store.after = func(string) error {
		store.after = nil

		return errAnswerLost
	}

	a.put(t, content("one"))
	a.put(t, content("two"))
	require.JSONEq(t, content("two"), a.get(t))
	require.True(t, a.close(t), "every write was answered in the end")
}

func TestAWriteThatIsNeverAnsweredIsNotClean(t *testing.T) {
	t.Parallel()

	store := newMemory()
	left := time.Hour
	cfg := config(1, true)
	cfg.Left = func() time.Duration { return left }

	a := open(t, store, cfg)

	store.before = func(string) error {
		left = 0

		return errAnswerLost
	}

	ended := make(chan struct{})

	go func() {
		defer close(ended)

		_, _, _ = try(t, http.MethodPut, a.base+"/"+checkpointKey, content("one"))
	}()

	<-a.refused
	require.Equal(t, tenant.KindLeaseLost, failureOf(t, a.Err()).Kind)

	store.before = nil

	require.False(t, a.close(t))
	<-ended
}

func TestSomebodyElsesWriteIsAConflict(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(3, true))
	a.put(t, content("one"))

	_, err := store.put(checkpointKey, []byte(content("by hand")), stategate.Stamp{}, stategate.Condition{})
	require.NoError(t, err)

	failure := a.putRefused(t, content("two"))
	require.Equal(t, tenant.KindConflict, failure.Kind)
	require.Len(t, store.stamps(checkpointKey), 2)

	b := open(t, store, config(4, false))
	require.JSONEq(t, content("by hand"), b.get(t))
}

func TestANewerOwnerEndsAnOperationThatBegins(t *testing.T) {
	t.Parallel()

	store := newMemory()
	_, err := store.put(checkpointKey, []byte(content("newer")), stategate.Stamp{Fence: 5, Operation: "OP5"}, stategate.Condition{})
	require.NoError(t, err)

	_, err = stategate.Open(t.Context(), store, config(4, false))
	require.Equal(t, tenant.KindLeaseLost, failureOf(t, err).Kind)
	require.Equal(t, []string{checkpointKey}, store.keys(), "no lock is left")
}
