package worker

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/telemetry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Messages is the queue as the worker uses it.
type Messages interface {
	Receive(ctx context.Context, limit int) ([]queue.Message, error)
	Delay(ctx context.Context, m queue.Message, d time.Duration) error
	Delete(ctx context.Context, m queue.Message) error
	DeadLetter(ctx context.Context, m queue.Message, code, reason string) error
}

// Visibility keeps messages from being received by others.
type Visibility interface {
	Extend(ctx context.Context, m queue.Message) error
	Keep(ctx context.Context, m queue.Message, onLost func(error)) *queue.Heartbeat
}

// Counter says how many messages there are.
type Counter interface {
	Depth(ctx context.Context) (queue.Depth, error)
	DeadLetterDepth(ctx context.Context) (queue.Depth, error)
}

// Decoder turns bytes into events.
type Decoder interface {
	Decode(body []byte) (tenant.Event, error)
}

// Rows accepts events and shows rows.
type Rows interface {
	Accept(ctx context.Context, e tenant.Event) (tenant.Record, bool, error)
	Get(ctx context.Context, id tenant.ID) (tenant.Record, error)
	Fleet(ctx context.Context) (registry.Fleet, error)
}

// Settler settles tenants.
type Settler interface {
	Settle(ctx context.Context, msg reconcile.Message, rec tenant.Record) (reconcile.Outcome, error)
}

// Staleness watches leases.
type Staleness interface {
	Stale(rec tenant.Record) bool
}

// Config is what the loop needs to know.
type Config struct {
	PollWait     time.Duration
	DrainTimeout time.Duration
	// LeaseDuration spaces the looks at a lease that is watched.
	LeaseDuration time.Duration
}

// Worker is the loop from SQS to settled tenants.
type Worker struct {
	config     Config
	messages   Messages
	visibility Visibility
	counter    Counter
	decoder    Decoder
	rows       Rows
	settler    Settler
	leases     Staleness
	metrics    *telemetry.Metrics
	log        *slog.Logger

	slots *slots
	hands *hands
	gate  *gate
	// backlog is what is known of the age of what waits.
	backlog backlog
	// watchers bounds the messages that are watched without a slot.
	watchers chan struct{}
	// deleting bounds the messages that are deleted without a hand.
	deleting chan struct{}
	// sweep looks for what was forgotten, until its context ends.
	sweep     func(context.Context)
	inHand    sync.WaitGroup
	lastTick  atomic.Int64
	interrupt context.CancelCauseFunc
}

// Run receives and works until ctx is cancelled, then drains. It returns nil
// after a drain in which every operation ended by itself.
func (w *Worker) Run(ctx context.Context, hurry <-chan struct{}) error {
	// Messages in hand outlive the signal: they are finished, or given back.
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()

	w.tick()
	// Before the first poll, or a worker that starts in a pause would take
	// messages.
	w.lookAtFleet(ctx)

	var loops sync.WaitGroup

	loops.Go(func() { w.followFleet(ctx) })
	loops.Go(func() { w.receive(ctx, work) })
	loops.Go(func() { w.sweep(ctx) })
	loops.Go(func() { w.countQueues(ctx) })

	// The drain begins with the signal and not with the end of the last poll.
	<-ctx.Done()
	w.gate.setDraining()

	return w.drain(work, hurry, &loops)
}

// drain waits for the operations, and interrupts them at the deadline or when
// a second signal says so.
func (w *Worker) drain(ctx context.Context, hurry <-chan struct{}, loops *sync.WaitGroup) error {
	started := time.Now()

	w.metrics.Draining.Set(1)
	w.log.InfoContext(ctx, "draining", "operations", w.slots.used(), "timeout", w.config.DrainTimeout.String())

	done := make(chan struct{})

	go func() {
		defer close(done)

		// The last poll may put more in hand.
		loops.Wait()
		w.inHand.Wait()
	}()

	deadline := time.NewTimer(w.config.DrainTimeout)
	defer deadline.Stop()

	interrupted := false

	for {
		select {
		case <-done:
			w.log.InfoContext(ctx, "drained", "duration", time.Since(started).Round(time.Millisecond).String(),
				"interrupted", interrupted)

			return nil
		case <-deadline.C:
			w.log.WarnContext(ctx, "interrupting operations", "why", "drain timeout", "operations", w.slots.used())
		case <-hurry:
			w.log.WarnContext(ctx, "interrupting operations", "why", "second signal", "operations", w.slots.used())
		}

		w.interrupt(engine.ErrInterrupt)

		interrupted, hurry = true, nil
	}
}
