package worker

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/sweep"
	"github.com/lessor-dev/lessor/pkg/telemetry"
)

// MaxWatchers is exported for tests.
const MaxWatchers = maxWatchers

// MaxDeleting is exported for tests.
const MaxDeleting = maxReceive

// RunCommand is the command line.
func RunCommand(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return run(engine.Programs{}, args, stdin, stdout, stderr)
}

// TestParts are what a test decides.
type TestParts struct {
	Config    Config
	Slots     int
	Queue     *queue.Queue
	Rows      *registry.Registry
	Leases    *lease.Leases
	Catalog   plan.Resolver
	Engine    reconcile.Engine
	Publisher reconcile.Publisher
	Sweep     sweep.Config
	Log       io.Writer
}

// Assemble wires a worker as the main does.
func Assemble(p TestParts) *Worker {
	metrics := telemetry.NewMetrics(prometheus.NewRegistry(), nil)
	log := slog.New(slog.NewTextHandler(p.Log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	observer := newObserver(log, metrics)
	gate := newGate()
	slots := newSlots(p.Slots, gate.drain)
	interrupt, cancel := context.WithCancelCause(context.Background())

	return &Worker{
		config: p.Config, messages: p.Queue, visibility: p.Queue, counter: p.Queue, decoder: event.NewDecoder(event.OrderTime, time.Now),
		rows: p.Rows, leases: p.Leases, metrics: metrics, log: log, slots: slots, hands: newHands(p.Slots), gate: gate,
		watchers: make(chan struct{}, maxWatchers), deleting: make(chan struct{}, maxReceive), interrupt: cancel,
		sweep: sweep.New(p.Sweep, sweep.Parts{
			Rows: p.Rows, Leases: p.Leases, Queue: p.Queue, Log: log, Now: time.Now, WaitOpen: gate.waitOpen, Swept: observer.swept,
		}).Run,
		settler: &reconcile.Reconciler{
			Config: reconcile.Config{
				Project: "lessor", Buckets: []string{"shard-0"}, OperationTimeout: time.Hour,
				Backoff: reconcile.Backoff{Min: time.Second, Max: time.Minute},
			},
			Rows: p.Rows, Ledger: p.Rows, Leases: p.Leases, Catalog: p.Catalog, Engine: p.Engine, Slots: slots, Gate: gate,
			Publisher: p.Publisher, Observer: observer, Interrupt: interrupt,
		},
	}
}

// Live is the check of /healthz.
func (w *Worker) Live() error { return w.live() }

// Metrics are the worker's.
func (w *Worker) Metrics() *telemetry.Metrics { return w.metrics }
