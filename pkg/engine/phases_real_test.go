package engine_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// slowStore is an S3 whose writes of checkpoints take their time.
type slowStore struct {
	url string
	// delay is of each write, in nanoseconds.
	delay  atomic.Int64
	writes atomic.Int64
}

func newSlowStore(t *testing.T) *slowStore {
	t.Helper()

	emulator, err := url.Parse(os.Getenv("AWS_ENDPOINT_URL"))
	require.NoError(t, err)

	s := &slowStore{}
	transport := &http.Transport{}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(emulator)
		r.Out.Host = r.In.Host
	}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/.pulumi/stacks/") {
			s.writes.Add(1)

			select {
			case <-time.After(time.Duration(s.delay.Load())):
			case <-r.Context().Done():
			}
		}

		proxy.ServeHTTP(w, r)
	}))

	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})

	s.url = server.URL

	return s
}

// command is that of a child which has its state there.
func (s *slowStore) command(t *testing.T) engine.Option {
	t.Helper()

	self, err := os.Executable()
	require.NoError(t, err)

	script := filepath.Join(t.TempDir(), "child")
	// With the race detector a process would sleep for a second at its end.
	text := fmt.Sprintf("#!/bin/sh\nexport AWS_ENDPOINT_URL_S3=%s GORACE=atexit_sleep_ms=0\nexec %s operation\n", s.url, self)
	require.NoError(t, os.WriteFile(script, []byte(text), 0o700))

	return engine.WithCommand(script)
}

// A child that is killed has told when it started, and the worker may hear of that
// much later.
func TestTheStartOfAChildThatIsKilled(t *testing.T) {
	t.Parallel()

	f := newFake(t, "exit 0", engine.WithCommand("/bin/bash", "-c",
		`sleep 1; read -r up _ </proc/uptime; sleep 3; echo "{\"started\": ${up/./}0000000}"; kill -9 $$`))

	began := time.Now()
	res := f.Run(t.Context(), 0, f.operation(plan.StepDestroy), engine.Watch{})
	whole := time.Since(began)

	require.NotNil(t, res.Failure)
	require.Len(t, res.Phases, 1)
	require.Greater(t, res.Phases[phase.ChildStart], 900*time.Millisecond)
	require.Less(t, res.Phases[phase.ChildStart], whole-2500*time.Millisecond)
}

func TestWhereTheTimeGoes(t *testing.T) {
	t.Parallel()

	const delay = 400 * time.Millisecond

	if testing.Short() {
		t.Skip("it needs the real CLI")
	}

	store := newSlowStore(t)
	c := newCloudBed(t, time.Minute, store.command(t))

	// up makes an operation and returns its phases, with as many writes of the
	// checkpoint as there were.
	up := func(id tenant.ID, created bool) (times phase.Times, writes int64) {
		store.writes.Store(0)

		began := time.Now()
		res := <-c.run(t.Context(), c.operation(id, created, "cloud", plan.StepUp))
		whole := time.Since(began)

		require.Nil(t, res.Failure)

		t.Logf("%s took %s: %v", id, whole, res.Phases)

		// Only what comes after the child's report is missing.
		require.Less(t, res.Phases.Total(), whole)
		require.InDelta(t, whole.Seconds(), res.Phases.Total().Seconds(), 2)

		return res.Phases, store.writes.Load()
	}

	all := []phase.Phase{
		phase.ChildStart, phase.StateOpen, phase.CLIStart, phase.Engine, phase.Provider, phase.State, phase.StateClose,
	}

	first, _ := up("first", false)
	for _, p := range all {
		require.Positive(t, first[p], p)
	}

	again, _ := up("first", true)
	for _, p := range all {
		require.Positive(t, again[p], p)
	}

	store.delay.Store(int64(delay))

	slow, writes := up("second", false)
	require.Greater(t, writes, int64(4))
	require.GreaterOrEqual(t, slow[phase.StateOpen], delay, "the fencing write")
	require.GreaterOrEqual(t, slow[phase.State], time.Duration(writes-1)*delay, "all others")
	require.Less(t, slow[phase.Provider], slow[phase.State]/2, "which are the provider's no more than before")

	store.delay.Store(0)

	_, err := c.cloud.SetFault(t.Context(), cloudsim.Fault{
		Effect: cloudsim.EffectDelay, Operation: cloudsim.OperationCreate, Type: cloudsim.TypeVPC, Delay: 2 * time.Second, Times: -1,
	})
	require.NoError(t, err)

	heavy, _ := up("third", false)
	require.GreaterOrEqual(t, heavy[phase.Provider], 4*time.Second, "two networks, one after the other")
	require.Less(t, heavy[phase.State], 2*time.Second)
}
