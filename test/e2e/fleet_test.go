package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const testCatalog = `version: 1
tiers:
  free:
    program: pool
    parameters: {sharedEndpoint: pool.example.com}
  secretive: {program: secretive}
  bulky: {program: bulky}
  slow: {program: slow}
  wired: {program: wired}
  kept: {program: wired, retainDays: 30}
  failing: {program: failing, maxAttempts: 2}
  enterprise:
    program: silo
    protect: true
    finalSnapshot: true
`

// fleet is a queue, a table and a number of workers of one test.
type fleet struct {
	t       *testing.T
	env     []string
	rows    *registry.Registry
	queue   *queue.Queue
	dead    *queue.DeadLetters
	results *queue.Queue
	aws     aws.Config
	table   string
	workDir string
	workers []*workerProcess
	source  string
	// failures are the newest that a test has seen and goes on from.
	failures map[tenant.ID]int64
}

type workerProcess struct {
	cmd    *exec.Cmd
	admin  string
	log    *syncBuffer
	exited chan error
}

func awsConfig() aws.Config {
	return aws.Config{
		Region:       "us-east-1",
		BaseEndpoint: aws.String(local.URL()),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
}

// newFleet makes a queue and a table for this test alone, so that tests can
// run at once and no worker takes another test's messages.
func newFleet(t *testing.T, workers int, extra ...string) *fleet {
	t.Helper()

	cfg := awsConfig()
	name := strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name()))
	queueURL, deadURL := makeQueues(t, cfg, name)
	resultsURL, _ := makeQueues(t, cfg, name+"-results")
	table := makeTable(t, cfg, name)

	dir := t.TempDir()
	catalogPath := filepath.Join(dir, "catalog.yaml")
	require.NoError(t, os.WriteFile(catalogPath, []byte(testCatalog), 0o600))

	f := &fleet{
		t:     t,
		aws:   cfg,
		table: table,

		workDir:  filepath.Join(dir, "work"),
		failures: map[tenant.ID]int64{},
		source:   "test/" + name,
		rows:     registry.New(dynamodb.NewFromConfig(cfg), registry.Config{Table: table}, time.Now),
	}
	queueConfig := queue.Config{URL: queueURL, DeadLetterURL: deadURL, VisibilityTimeout: time.Minute, PollWait: time.Second}
	f.queue = queue.New(sqs.NewFromConfig(cfg), queueConfig)
	f.results = queue.New(sqs.NewFromConfig(cfg), queue.Config{
		URL: resultsURL, DeadLetterURL: deadURL, VisibilityTimeout: time.Minute, PollWait: time.Second,
	})
	f.dead = queue.NewDeadLetters(sqs.NewFromConfig(cfg), queueConfig)

	f.env = append(local.Environ(), "PATH="+os.Getenv("PATH"), "HOME="+os.Getenv("HOME"),
		"LESSOR_QUEUE_URL="+queueURL, "LESSOR_DEAD_LETTER_QUEUE_URL="+deadURL, "LESSOR_TABLE="+table,
		"LESSOR_CATALOG="+catalogPath, "LESSOR_WORK_DIR="+f.workDir, "LESSOR_POLL_WAIT=1s",
		"LESSOR_MEMORY_LIMIT=4Gi", "LESSOR_MAX_SLOTS=4", "LESSOR_BACKOFF_MIN=1s", "LESSOR_LOG_LEVEL=debug",
		"LESSOR_LEASE_DURATION=15s", "LESSOR_LEASE_MARGIN=3s", "LESSOR_RESULT_TARGET="+resultsURL, workerVariable+"=1")
	f.env = append(f.env, extra...)

	for range workers {
		f.start()
	}

	return f
}

// start runs one more worker and waits until it is ready.
func (f *fleet) start() {
	f.t.Helper()

	address := freeAddress(f.t)
	w := &workerProcess{admin: "http://" + address, log: &syncBuffer{}, exited: make(chan error, 1)}
	w.cmd = exec.Command(os.Args[0]) //nolint:noctx // it ends by a signal

	w.cmd.Env = append(append([]string{}, f.env...), "LESSOR_ADMIN_ADDRESS="+address)
	w.cmd.Stderr = w.log

	require.NoError(f.t, w.cmd.Start())

	go func() { w.exited <- w.cmd.Wait() }()

	f.workers = append(f.workers, w)
	f.t.Cleanup(func() { f.stop(w) })

	f.await("the worker to be ready", time.Minute, func() bool {
		req, err := http.NewRequestWithContext(f.t.Context(), http.MethodGet, w.admin+"/readyz", http.NoBody)
		require.NoError(f.t, err)

		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}

		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
}

// stop drains a worker and shows its log if the test failed.
func (f *fleet) stop(w *workerProcess) {
	_ = w.cmd.Process.Signal(syscall.SIGTERM)

	select {
	case <-w.exited:
		w.exited <- nil
	case <-time.After(time.Minute):
		_ = w.cmd.Process.Kill()

		f.t.Errorf("the worker did not drain within a minute")
	}

	if f.t.Failed() {
		f.t.Logf("log of worker %d:\n%s", w.cmd.Process.Pid, w.log.tail())
	}
}

// programRuns waits until the slow program runs.
func (f *fleet) programRuns() {
	f.t.Helper()

	f.await("the program to run", time.Minute, func() bool {
		marks, err := filepath.Glob(filepath.Join(f.workDir, "w*", "slot-*", "tmp", runningMark))
		require.NoError(f.t, err)

		return len(marks) > 0
	})
}

// event is an event of this test, at a moment of its history.
func (f *fleet) event(kind tenant.EventType, id tenant.ID, at time.Time, change func(*tenant.Event)) []byte {
	f.t.Helper()

	e := tenant.Event{
		ID: fmt.Sprintf("%s-%s-%d", id, kind, at.UnixNano()), Source: f.source, Type: kind, Tenant: id, Time: at,
		Version: tenant.TimeVersion(at, fmt.Sprintf("%s-%s-%d", id, kind, at.UnixNano()), f.source),
	}
	if kind == tenant.EventCreated {
		e.Tier, e.Region = "free", "us-east-1"
	}

	if change != nil {
		change(&e)
	}

	body, err := event.Encode(e, event.OrderTime)
	require.NoError(f.t, err)

	return body
}

func (f *fleet) send(body []byte) {
	f.t.Helper()

	_, err := f.queue.Send(f.t.Context(), body)
	require.NoError(f.t, err)
}

func (f *fleet) create(id tenant.ID, tier string) {
	f.t.Helper()
	f.send(f.event(tenant.EventCreated, id, time.Now(), func(e *tenant.Event) { e.Tier = tier }))
}

// settled waits until nothing is left to do for a tenant, in success or not.
func (f *fleet) settled(id tenant.ID) tenant.Record {
	f.t.Helper()

	var rec tenant.Record

	f.await(fmt.Sprintf("%s to be settled", id), time.Minute, func() bool {
		var err error

		rec, err = f.rows.Get(f.t.Context(), id)
		require.NoError(f.t, err)

		return rec.Exists() && !rec.NeedsWork() && rec.Lease.Owner == ""
	})

	return rec
}

// idle waits until the queue holds nothing.
func (f *fleet) idle(timeout time.Duration) {
	f.t.Helper()

	f.await("the queue to be empty", timeout, func() bool {
		depth, err := f.queue.Depth(f.t.Context())
		require.NoError(f.t, err)

		return depth.Visible+depth.InFlight+depth.Delayed == 0
	})
}

func (f *fleet) await(what string, timeout time.Duration, ok func() bool) {
	f.t.Helper()

	const interval = 100 * time.Millisecond

	for deadline := time.Now().Add(timeout); ; time.Sleep(interval) {
		if ok() {
			return
		}

		if time.Now().After(deadline) {
			require.FailNow(f.t, "timeout", "waited %s for %s", timeout, what)
		}
	}
}

// operation is what a worker's log says of one operation.
type operation struct {
	Message   string    `json:"msg"`
	Time      time.Time `json:"time"`
	Tenant    string    `json:"tenant_id"`
	ID        string    `json:"operation_id"`
	Steps     string    `json:"operation"`
	Fence     int64     `json:"fence"`
	Sequence  int64     `json:"sequence"`
	Kind      string    `json:"kind"`
	Processes int       `json:"processes"`
	Seconds   float64   `json:"duration_seconds"`
	// Phases are the milliseconds of each.
	Phases map[string]float64 `json:"phases"`
}

// operations reads the logs of all workers: every line that starts or ends an
// operation of a tenant, "" for all.
func (f *fleet) operations(id tenant.ID) []operation {
	f.t.Helper()

	var all []operation

	for _, w := range f.workers {
		lines := bufio.NewScanner(bytes.NewReader(w.log.bytes()))
		lines.Buffer(nil, 1<<20)

		for lines.Scan() {
			var op operation
			if json.Unmarshal(lines.Bytes(), &op) != nil || !strings.HasPrefix(op.Message, "operation ") {
				continue
			}

			if id == "" || op.Tenant == string(id) {
				all = append(all, op)
			}
		}
	}

	return all
}

// started filters the beginnings.
func started(all []operation) []operation {
	var ops []operation

	for _, op := range all {
		if op.Message == "operation started" {
			ops = append(ops, op)
		}
	}

	return ops
}

func freeAddress(t *testing.T) string {
	t.Helper()

	var lc net.ListenConfig

	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())

	return l.Addr().String()
}

// syncBuffer collects a log that is read while it grows.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.buf.Write(p)
}

func (b *syncBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()

	return bytes.Clone(b.buf.Bytes())
}

func (b *syncBuffer) tail() string {
	const limit = 20_000

	all := b.bytes()

	return string(all[max(0, len(all)-limit):])
}

// containsLine reports whether a log has a line with the message.
func containsLine(log []byte, message string) bool {
	return bytes.Contains(log, []byte(`"msg":"`+message+`"`))
}
