package worker

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/lessor-dev/lessor/pkg/reconcile"
)

// gate says whether new operations may start.
type gate struct {
	mu      sync.Mutex
	paused  bool
	changed chan struct{}
	// drain is closed for good when the worker begins to drain.
	drain     chan struct{}
	drainOnce sync.Once
}

func newGate() *gate { return &gate{changed: make(chan struct{}), drain: make(chan struct{})} }

// Closed returns why no operation may start, or "".
func (g *gate) Closed() reconcile.Reason {
	if g.draining() {
		return reconcile.ReasonDrain
	}

	g.mu.Lock()
	defer g.mu.Unlock()

	if g.paused {
		return reconcile.ReasonPaused
	}

	return ""
}

func (g *gate) setPaused(paused bool) (changed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()

	if g.paused == paused {
		return false
	}

	g.paused = paused
	close(g.changed)
	g.changed = make(chan struct{})

	return true
}

func (g *gate) setDraining() { g.drainOnce.Do(func() { close(g.drain) }) }

func (g *gate) draining() bool {
	select {
	case <-g.drain:
		return true
	default:
		return false
	}
}

// waitOpen returns once the fleet is not paused. It fails only with ctx.
func (g *gate) waitOpen(ctx context.Context) error {
	for {
		g.mu.Lock()
		paused, changed := g.paused, g.changed
		g.mu.Unlock()

		if !paused {
			return nil
		}

		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the fleet to be unpaused: %w", context.Cause(ctx))
		}
	}
}

// rest waits for d and reports whether work may go on after it.
func (g *gate) rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-timer.C:
		return true
	case <-g.drain:
		return false
	case <-ctx.Done():
		return false
	}
}

// fleetInterval is how often a worker looks whether the fleet is paused.
const fleetInterval = 5 * time.Second

// followFleet keeps the gate as the fleet's row says, until ctx ends.
func (w *Worker) followFleet(ctx context.Context) {
	for {
		sleep(ctx, fleetInterval)

		if ctx.Err() != nil {
			return
		}

		w.lookAtFleet(ctx)
	}
}

func (w *Worker) lookAtFleet(ctx context.Context) {
	readCtx, cancel := context.WithTimeout(ctx, fleetInterval)
	defer cancel()

	fleet, err := w.rows.Fleet(readCtx)
	if err != nil {
		if ctx.Err() == nil {
			w.log.ErrorContext(ctx, "reading whether the fleet is paused", "error", err)
		}

		return
	}

	if !w.gate.setPaused(fleet.Paused) {
		return
	}

	if fleet.Paused {
		w.metrics.Paused.Set(1)
		w.log.WarnContext(ctx, "paused: no message is received and no operation starts", "reason", fleet.Reason)

		return
	}

	w.metrics.Paused.Set(0)
	w.log.InfoContext(ctx, "unpaused")
}
