package engine

import (
	"sync"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"

	"github.com/lessor-dev/lessor/pkg/phase"
)

// phases gives every moment of a child to one phase. Where several things go on
// at once, S3 comes before a provider and a provider before the engine: a step of
// the engine waits for its write of the state before it calls the provider.
type phases struct {
	mutex sync.Mutex
	clock *phase.Clock
	// stage is what goes on where neither S3 nor a provider is waited for.
	stage phase.Phase
	// requests is how many requests to the open state are under way.
	requests int
	// resources are the URNs of those that are worked on.
	resources map[string]bool
}

func newPhases(now func() time.Time) *phases {
	return &phases{clock: phase.Start(phase.Other, now), stage: phase.Other, resources: map[string]bool{}}
}

// bootNanoseconds is a moment in the clock that child and parent share, or 0 if it
// cannot be read. When a report arrives says nothing of when it was sent, on a
// machine that has much to do.
func bootNanoseconds() int64 {
	now, err := bootTime()
	if err != nil {
		return 0
	}

	return now.Nanoseconds()
}

// enter begins a stage.
func (p *phases) enter(stage phase.Phase) {
	p.change(func() { p.stage = stage })
}

// cliStarted is when a process of the CLI is about to be started.
func (p *phases) cliStarted() { p.enter(phase.CLIStart) }

// cliEnded ends what the CLI had going on as well: one that is killed does not
// tell.
func (p *phases) cliEnded() {
	p.change(func() {
		p.stage = phase.Other
		clear(p.resources)
	})
}

// cliRuns is called for every sign of the CLI's that it has started.
func (p *phases) cliRuns() { p.change(p.running) }

func (p *phases) running() {
	if p.stage == phase.CLIStart {
		p.stage = phase.Engine
	}
}

// request is called when a request to the state begins, and what it returns at
// its end.
func (p *phases) request() (done func()) {
	p.change(func() {
		p.running()
		p.requests++
	})

	return func() { p.change(func() { p.requests-- }) }
}

// saw takes note of an event of the engine.
func (p *phases) saw(event events.EngineEvent) {
	p.change(func() {
		p.running()

		switch {
		case event.ResourcePreEvent != nil:
			// The last events may come when the CLI has ended.
			if m := event.ResourcePreEvent.Metadata; p.stage == phase.Engine && isResource(m) {
				p.resources[m.URN] = true
			}
		case event.ResOutputsEvent != nil:
			delete(p.resources, event.ResOutputsEvent.Metadata.URN)
		case event.ResOpFailedEvent != nil:
			delete(p.resources, event.ResOpFailedEvent.Metadata.URN)
		}
	})
}

// change gives the time until now to the phase that was.
func (p *phases) change(happens func()) {
	p.mutex.Lock()
	defer p.mutex.Unlock()

	happens()
	p.clock.Enter(p.current())
}

func (p *phases) current() phase.Phase {
	switch {
	case p.stage == phase.StateOpen, p.stage == phase.StateClose:
		return p.stage
	case p.requests > 0:
		return phase.State
	case len(p.resources) > 0:
		return phase.Provider
	default:
		return p.stage
	}
}

// take returns the times so far.
func (p *phases) take() phase.Times {
	p.mutex.Lock()
	defer p.mutex.Unlock()

	return p.clock.Take()
}
