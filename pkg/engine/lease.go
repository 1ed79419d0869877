package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// leaseGuard ends the own session when the lease ends, whatever else goes on:
// the worker may be dead or frozen, the program may hang.
type leaseGuard struct {
	// until is in nanoseconds of bootTime. 0 means that there is no lease yet.
	until   atomic.Int64
	changed chan struct{}
	// heard is closed with the first word of a lease.
	heard chan struct{}
	once  sync.Once
	end   func()
}

// guardStep bounds how long the guard sleeps at a time: the timers of Go stop
// while the machine sleeps, bootTime does not.
const guardStep = time.Second

func newLeaseGuard(end func()) *leaseGuard {
	return &leaseGuard{changed: make(chan struct{}, 1), heard: make(chan struct{}), end: end}
}

// extend takes note of a newer end of the lease. An earlier one is taken too:
// the worker knows.
func (g *leaseGuard) extend(until int64) {
	g.until.Store(until)
	g.once.Do(func() { close(g.heard) })

	select {
	case g.changed <- struct{}{}:
	default:
	}
}

// known reports whether there is a lease to watch.
func (g *leaseGuard) known() bool { return g.until.Load() != 0 }

// await returns once there is word of the lease, or bound has passed.
func (g *leaseGuard) await(bound time.Duration) bool {
	timer := time.NewTimer(bound)
	defer timer.Stop()

	select {
	case <-g.heard:
		return true
	case <-timer.C:
		return false
	}
}

// watch runs until ctx ends.
func (g *leaseGuard) watch(ctx context.Context) {
	timer := time.NewTimer(guardStep)
	defer timer.Stop()

	for {
		left := g.left()
		if left <= 0 {
			g.end()

			return
		}

		timer.Reset(min(left, guardStep))

		select {
		case <-ctx.Done():
			return
		case <-g.changed:
		case <-timer.C:
		}
	}
}

func (g *leaseGuard) left() time.Duration {
	until := g.until.Load()
	if until == 0 {
		return guardStep
	}

	now, err := bootTime()
	if err != nil {
		// Without a clock nobody may go on.
		return 0
	}

	return time.Duration(until) - now
}
