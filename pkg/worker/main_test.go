package worker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/queue/queuetest"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/sweep"
	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/pkg/worker"
)

func TestMain(m *testing.M) {
	// A dependency of the engine starts it with the process.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

const (
	tableName     = "tenants"
	visibility    = 2 * time.Minute
	pollWait      = 20 * time.Second
	drainTimeout  = 30 * time.Minute
	leaseDuration = time.Minute
	leaseMargin   = 10 * time.Second
	// troubleDelay is how long a message rests after trouble.
	troubleDelay = 15 * time.Second
)

var errOutage = errors.New("the endpoint cannot be reached")

// world is a worker with a fake queue, a fake table and a scripted engine.
type world struct {
	worker  *worker.Worker
	sqs     *queuetest.Fake
	url     string
	dead    string
	queue   *queue.Queue
	table   *registrytest.Table
	rows    *registry.Registry
	engine  *fakeEngine
	log     *buffer
	stop    context.CancelFunc
	hurry   chan struct{}
	stopped chan error
}

// newWorld is for use in a bubble, with a clock of its own, in which hours pass
// in an instant. The worker is stopped at the end of the test.
func newWorld(t *testing.T, slots int) *world {
	t.Helper()

	return newSweepingWorld(t, slots, sweep.Config{})
}

// newSweepingWorld is newWorld with a worker that sweeps.
func newSweepingWorld(t *testing.T, slots int, cfg sweep.Config) *world {
	t.Helper()

	w := &world{
		sqs: queuetest.New(), table: registrytest.New(tableName), engine: &fakeEngine{}, log: &buffer{},
		hurry: make(chan struct{}, 1), stopped: make(chan error, 1),
	}
	w.url, w.dead = w.sqs.CreateQueue("events", queuetest.Attributes{}), w.sqs.CreateQueue("dead", queuetest.Attributes{})
	w.queue = queue.New(w.sqs, queue.Config{URL: w.url, DeadLetterURL: w.dead, VisibilityTimeout: visibility, PollWait: pollWait})
	w.rows = registry.New(w.table, registry.Config{Table: tableName}, nil)
	w.worker = worker.Assemble(worker.TestParts{
		Config: worker.Config{PollWait: pollWait, DrainTimeout: drainTimeout, LeaseDuration: leaseDuration},
		Slots:  slots, Queue: w.queue, Rows: w.rows, Leases: w.leases(), Catalog: catalog{}, Engine: w.engine, Publisher: silent{}, Log: w.log,
		Sweep: cfg,
	})

	t.Cleanup(func() {
		if w.stop != nil {
			w.end(t)
		}
	})

	return w
}

// leases are those of one worker.
func (w *world) leases() *lease.Leases {
	return lease.New(w.table, tableName, lease.Config{Duration: leaseDuration, Margin: leaseMargin})
}

// start runs the worker until the test ends it.
func (w *world) start(t *testing.T) {
	t.Helper()

	ctx, stop := context.WithCancel(t.Context())
	w.stop = stop

	go func() { w.stopped <- w.worker.Run(ctx, w.hurry) }()

	synctest.Wait()
}

// end stops the worker and waits until it has drained.
func (w *world) end(t *testing.T) {
	t.Helper()
	w.stop()
	w.stop = nil
	require.NoError(t, <-w.stopped)
}

// send puts an event on the queue and lets the worker do what it can at once.
func (w *world) send(t *testing.T, e tenant.Event) string {
	t.Helper()

	body, err := event.Encode(e, event.OrderTime)
	require.NoError(t, err)

	return w.sendBody(t, body)
}

func (w *world) sendBody(t *testing.T, body []byte) string {
	t.Helper()

	id, err := w.queue.Send(t.Context(), body)
	require.NoError(t, err)
	synctest.Wait()

	return id
}

func (w *world) depth(t *testing.T) queue.Depth {
	t.Helper()

	depth, err := w.queue.Depth(t.Context())
	require.NoError(t, err)

	return depth
}

func (w *world) row(t *testing.T) tenant.Record {
	t.Helper()

	rec, err := w.rows.Get(t.Context(), "acme")
	require.NoError(t, err)

	return rec
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func nth(n int) tenant.ID { return tenant.ID("tenant-" + strconv.Itoa(n)) }

func created(id tenant.ID) tenant.Event {
	return tenant.Event{
		ID: "created-" + string(id), Source: "test", Type: tenant.EventCreated, Tenant: id, Time: time.Now(), Tier: "pool", Region: "eu-west-1",
		Version: tenant.TimeVersion(time.Now(), "created-"+string(id), "test"),
	}
}

// catalog has every tier.
type catalog struct{}

func (catalog) Resolve(spec tenant.Spec) (tenant.Blueprint, error) {
	return tenant.Blueprint{Program: "pool", Parameters: spec.Parameters}, nil
}

// silent publishes to nobody.
type silent struct{}

func (silent) Publish(context.Context, result.Event) error { return nil }

// fakeEngine succeeds at once, or does as the test says.
type fakeEngine struct {
	mu  sync.Mutex
	act func(ctx context.Context, op engine.Operation) engine.Result
	ops []engine.Operation
}

func (e *fakeEngine) Run(ctx context.Context, _ int, op engine.Operation, _ engine.Watch) engine.Result {
	e.mu.Lock()
	e.ops = append(e.ops, op)
	act := e.act
	e.mu.Unlock()

	if act == nil {
		return done()
	}

	return act(ctx, op)
}

func (e *fakeEngine) started() int {
	e.mu.Lock()
	defer e.mu.Unlock()

	return len(e.ops)
}

func done() engine.Result {
	return engine.Result{Outputs: map[string]json.RawMessage{"endpoint": json.RawMessage(`"x"`)}, StackCreated: true, Clean: true}
}

// buffer is a log that may be read while it is written.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.text.String()
}
