package prometheus_test

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const patience = time.Minute

// startWorker runs a worker of the fleet until the test ends, and returns the
// address of its admin server.
func startWorker(t *testing.T) string {
	t.Helper()

	address := freeAddress(t)
	log := &log{}
	cmd := exec.Command(os.Args[0]) //nolint:noctx // it ends by a signal

	cmd.Env = append(append(local.Environ(), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"), "TMPDIR="+os.TempDir()),
		workerVariable+"=1", "LESSOR_ADMIN_ADDRESS="+address, "LESSOR_WORK_DIR="+t.TempDir(), "LESSOR_POLL_WAIT=1s",
		"LESSOR_MEMORY_LIMIT=4Gi", "LESSOR_MAX_SLOTS=2", "LESSOR_BREAKER_TENANTS=2", "LESSOR_SWEEP_INTERVAL=1s",
		"LESSOR_SWEEP_AGE=10m")
	cmd.Stderr = log

	require.NoError(t, cmd.Start())
	t.Cleanup(func() { end(t, cmd, log) })

	require.Eventually(t, func() bool { return answers(t, "http://"+address+"/readyz") }, patience, time.Second/4,
		"the worker is not ready\n%s", log)

	return address
}

// end stops a process that has to end by itself when told.
func end(t *testing.T, cmd *exec.Cmd, log *log) {
	t.Helper()

	ended := make(chan error, 1)

	_ = cmd.Process.Signal(syscall.SIGTERM)

	go func() { ended <- cmd.Wait() }()

	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%s: %v", cmd.Path, err)
		}
	case <-time.After(patience):
		_ = cmd.Process.Kill()

		<-ended

		t.Errorf("%s did not end within a minute", cmd.Path)
	}

	if t.Failed() {
		t.Logf("log of %s:\n%s", cmd.Path, log)
	}
}

// send puts messages on the fleet's queue.
func send(t *testing.T, bodies ...[]byte) {
	t.Helper()

	client := sqs.NewFromConfig(aws.Config{
		Region: "us-east-1", BaseEndpoint: aws.String(local.URL()), Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
	events := queue.New(client, queue.Config{URL: variable(t, "LESSOR_QUEUE_URL")})

	for _, body := range bodies {
		_, err := events.Send(t.Context(), body)
		require.NoError(t, err)
	}
}

func created(t *testing.T, id tenant.ID, tier string) []byte {
	t.Helper()

	now := time.Now()
	body, err := event.Encode(tenant.Event{
		ID: "created-" + id.String(), Source: "test", Type: tenant.EventCreated, Tenant: id, Time: now, Tier: tier, Region: "us-east-1",
		Version: tenant.TimeVersion(now, "created-"+id.String(), "test"),
	}, event.OrderTime)
	require.NoError(t, err)

	return body
}

// variable is one of local mode's.
func variable(t *testing.T, name string) string {
	t.Helper()

	for _, pair := range local.Environ() {
		if value, ok := strings.CutPrefix(pair, name+"="); ok {
			return value
		}
	}

	require.FailNow(t, "local mode has no "+name)

	return ""
}

func answers(t *testing.T, url string) bool {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}

	answer, err := http.DefaultClient.Do(request)

	return err == nil && answer.Body.Close() == nil && answer.StatusCode == http.StatusOK
}

func freeAddress(t *testing.T) string {
	t.Helper()

	var lc net.ListenConfig

	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())

	return l.Addr().String()
}

// log is what a process wrote, read while it runs.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.text.Write(p)
}

// String is the end of it.
func (l *log) String() string {
	const limit = 20_000

	l.mu.Lock()
	defer l.mu.Unlock()

	all := l.text.String()

	return all[max(0, len(all)-limit):]
}
