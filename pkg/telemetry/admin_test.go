package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/telemetry"
)

var (
	errStuck  = errors.New("the loop stands still")
	errQueue  = errors.New("queue: no permission")
	errTable  = errors.New("table: not found")
	errBucket = errors.New("bucket: gone")
)

func healthy() telemetry.Health {
	return telemetry.Health{
		Live:       func() error { return nil },
		Ready:      func(context.Context) error { return nil },
		Operations: func() any { return []string{"op-1"} },
	}
}

// start runs an admin server until the end of the test.
func start(t *testing.T, cfg telemetry.Config, health telemetry.Health) *telemetry.Admin {
	t.Helper()

	cfg.AdminAddress = "127.0.0.1:0"
	reg := prometheus.NewRegistry()
	telemetry.NewMetrics(reg, []string{"free"})

	admin, err := telemetry.NewAdmin(cfg, reg, health)
	require.NoError(t, err)
	admin.Start()
	admin.Start()
	t.Cleanup(func() {
		require.NoError(t, admin.Stop(context.Background()))
		require.NoError(t, admin.Stop(context.Background()))
	})

	return admin
}

func get(t *testing.T, admin *telemetry.Admin, path string) (status int, body string) {
	t.Helper()

	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+admin.Addr()+path, http.NoBody)
	require.NoError(t, err)

	response, err := client.Do(request)
	require.NoError(t, err)

	defer response.Body.Close()

	data, err := io.ReadAll(response.Body)
	require.NoError(t, err)

	return response.StatusCode, string(data)
}

// fetch is get for other goroutines than the test's: it returns the body, or
// the error.
func fetch(admin *telemetry.Admin, path string) string {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, "http://"+admin.Addr()+path, http.NoBody)
	if err != nil {
		return err.Error()
	}

	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()

	data, err := io.ReadAll(response.Body)
	if err != nil {
		return err.Error()
	}

	return string(data)
}

func TestAdmin(t *testing.T) {
	t.Parallel()

	admin := start(t, telemetry.Config{}, healthy())

	for path, want := range map[string]struct {
		status int
		body   string
	}{
		"/metrics":          {http.StatusOK, `lessor_operations_total{kind="none",outcome="succeeded",tier="free"} 0`},
		"/healthz":          {http.StatusOK, `"ok": true`},
		"/readyz":           {http.StatusOK, `"ok": true`},
		"/debug/operations": {http.StatusOK, `"op-1"`},
		"/debug/pprof/":     {http.StatusNotFound, ""},
		"/":                 {http.StatusNotFound, ""},
	} {
		status, body := get(t, admin, path)
		require.Equal(t, want.status, status, path)
		require.Contains(t, body, want.body, path)
	}
}

func TestAdminPProf(t *testing.T) {
	t.Parallel()

	admin := start(t, telemetry.Config{PProf: true}, healthy())

	status, body := get(t, admin, "/debug/pprof/")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, body, "goroutine")
}

func TestAdminSaysWhatIsWrong(t *testing.T) {
	t.Parallel()

	health := healthy()
	health.Live = func() error { return errStuck }
	health.Ready = func(context.Context) error {
		wrapped := fmt.Errorf("engine: %w and %w", errBucket, errTable)

		return errors.Join(errQueue, nil, errors.Join(errTable, wrapped))
	}
	health.Operations = func() any { return func() {} }

	admin := start(t, telemetry.Config{}, health)

	for path, want := range map[string][]string{
		"/healthz": {"the loop stands still"},
		"/readyz":  {"queue: no permission", "table: not found", "engine: bucket: gone and table: not found"},
	} {
		status, body := get(t, admin, path)
		require.Equal(t, http.StatusServiceUnavailable, status)

		var answer struct {
			OK      bool     `json:"ok"`
			Reasons []string `json:"reasons"`
		}

		require.NoError(t, json.Unmarshal([]byte(body), &answer))
		require.False(t, answer.OK)
		require.Equal(t, want, answer.Reasons)
	}

	status, body := get(t, admin, "/debug/operations")
	require.Equal(t, http.StatusInternalServerError, status)
	require.Contains(t, body, "encoding the answer")
}

func TestReadinessIsLookedAtOnce(t *testing.T) {
	t.Parallel()

	var looks atomic.Int32

	health := healthy()
	health.Ready = func(ctx context.Context) error {
		looks.Add(1)

		_, bounded := ctx.Deadline()
		if !bounded {
			return errStuck
		}

		return nil
	}

	admin := start(t, telemetry.Config{}, health)

	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			if body := fetch(admin, "/readyz"); !strings.Contains(body, `"ok": true`) {
				t.Errorf("not ready: %s", body)
			}
		})
	}

	clients.Wait()

	// Eight clients at once take less than the second for which an answer
	// stands; a machine that is slow beyond reason may need a second look.
	require.LessOrEqual(t, looks.Load(), int32(2))

	require.Eventually(t, func() bool {
		get(t, admin, "/readyz")

		return looks.Load() > 1
	}, 10*time.Second, 100*time.Millisecond, "an answer does not stand for ever")
}

func TestAdminPortInUse(t *testing.T) {
	t.Parallel()

	admin := start(t, telemetry.Config{}, healthy())

	_, err := telemetry.NewAdmin(telemetry.Config{AdminAddress: admin.Addr()}, prometheus.NewRegistry(), healthy())
	require.ErrorContains(t, err, "listening")
}

func TestAdminStopWithoutStart(t *testing.T) {
	t.Parallel()

	admin, err := telemetry.NewAdmin(telemetry.Config{AdminAddress: "127.0.0.1:0"}, prometheus.NewRegistry(), healthy())
	require.NoError(t, err)
	require.NoError(t, admin.Stop(t.Context()))
	admin.Start()

	again, err := telemetry.NewAdmin(telemetry.Config{AdminAddress: admin.Addr()}, prometheus.NewRegistry(), healthy())
	require.NoError(t, err, "the port is free again")
	require.NoError(t, again.Stop(t.Context()))
}

func TestAdminStop(t *testing.T) {
	t.Parallel()

	entered, leave := make(chan struct{}), make(chan struct{})
	health := healthy()
	health.Operations = func() any {
		close(entered)
		<-leave

		return "done"
	}

	admin, err := telemetry.NewAdmin(telemetry.Config{AdminAddress: "127.0.0.1:0"}, prometheus.NewRegistry(), health)
	require.NoError(t, err)
	admin.Start()

	body := make(chan string, 1)

	go func() { body <- fetch(admin, "/debug/operations") }()

	<-entered

	stopped := make(chan error, 1)
	go func() { stopped <- admin.Stop(context.Background()) }()

	close(leave)
	require.NoError(t, <-stopped)
	require.Contains(t, <-body, "done", "a request in flight is answered")
}

func TestAdminStopAtItsDeadline(t *testing.T) {
	t.Parallel()

	entered, leave := make(chan struct{}), make(chan struct{})
	health := healthy()
	health.Operations = func() any {
		close(entered)
		<-leave

		return nil
	}

	admin, err := telemetry.NewAdmin(telemetry.Config{AdminAddress: "127.0.0.1:0"}, prometheus.NewRegistry(), health)
	require.NoError(t, err)
	admin.Start()

	done := make(chan struct{})

	go func() {
		defer close(done)

		fetch(admin, "/debug/operations")
	}()

	<-entered

	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()

	require.ErrorIs(t, admin.Stop(ctx), context.DeadlineExceeded)
	close(leave)
	<-done
}
