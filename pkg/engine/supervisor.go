package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"syscall"
	"time"

	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// supervisor sees one child process through to its end.
type supervisor struct {
	process *process
	order   order
	watch   Watch
	options options
	memory  *memoryWatch
	// began is when the operation's process was first wanted, started when that
	// had its order, in nanoseconds of CLOCK_BOOTTIME, or 0.
	began, started int64

	// ending is why the operation shall end early, "" if it may go on, killed
	// whether there is no time left for that.
	ending tenant.Kind
	killed bool
	// force kills once an interrupt was given long enough.
	force *time.Timer
}

// leaseTick is how often a child hears of its lease.
const leaseTick = time.Second

// supervise returns when the child and all of its session have ended.
func (s *supervisor) supervise(ctx context.Context) Result {
	s.force = time.NewTimer(time.Hour)
	s.force.Stop()

	defer s.force.Stop()

	exited := make(chan struct{})

	go func() {
		defer close(exited)

		awaitExit(s.process.cmd.Process.Pid)
	}()

	heard := &hearing{result: make(chan *Result, 1), end: make(chan struct{})}

	go s.listen(heard)

	stop, stopped := make(chan struct{}), make(chan struct{})

	go func() {
		defer close(stopped)

		s.memory.watch(stop)
	}()

	if s.process.tell(s.order, startBound) {
		s.tellLease()
	} else {
		s.process.killLeader()
	}

	s.guide(ctx, exited)

	// Nothing that outlives the child has a state to write. The last report need
	// not be waited for by what holds the pipe open, either.
	lingering := s.process.session.kill()

	result := heard.soon()
	state := s.process.finish()

	// Now that no process is left, no reading can take long.
	close(stop)
	<-stopped

	// Progress is told no more once this returns, and started is known.
	<-heard.end

	return s.conclude(result, state, lingering)
}

// hearing is what comes up from the child.
type hearing struct {
	result chan *Result
	// end is closed when nothing more can come.
	end chan struct{}
}

// reportBound is how long the last report may be on its way. The pipe need not
// end with the child: what a program started may hold it open.
const reportBound = 2 * time.Second

// soon returns the result of a child that has ended, or nil if it told none.
func (h *hearing) soon() *Result {
	bound := time.NewTimer(reportBound)
	defer bound.Stop()

	select {
	case <-h.end:
	case <-bound.C:
	case result := <-h.result:
		return result
	}

	select {
	case result := <-h.result:
		return result
	default:
		return nil
	}
}

// listen reads the child's reports until their end.
func (s *supervisor) listen(heard *hearing) {
	defer close(heard.end)

	lines := newLineReader(s.process.reports)

	for {
		var next report
		if err := lines.next(&next); err != nil {
			// A child that writes nonsense must not wait for a reader for ever.
			_, _ = io.Copy(io.Discard, s.process.reports)

			return
		}

		if s.started == 0 {
			s.started = next.Started
		}

		if next.Progress != nil && s.watch.Progress != nil {
			s.watch.Progress(*next.Progress)
		}

		if next.Result != nil {
			// A child tells one result.
			select {
			case heard.result <- next.Result:
			default:
			}
		}
	}
}

// guide lets the child work until it ends, and ends it where it must.
func (s *supervisor) guide(ctx context.Context, exited <-chan struct{}) {
	deadline := time.NewTimer(time.Until(s.order.Operation.Deadline))
	defer deadline.Stop()

	tick := time.NewTicker(leaseTick)
	defer tick.Stop()

	cancelled := ctx.Done()
	exceeded := s.memory.exceeded

	for {
		select {
		case <-exited:
			return
		case <-cancelled:
			cancelled = nil

			s.cancelled(ctx)
		case <-deadline.C:
			s.interrupt(tenant.KindTimeout, min(s.options.timeoutGrace, s.order.Settings.InterruptGrace))
		case <-tick.C:
			s.tellLease()
		case <-exceeded:
			exceeded = nil

			s.kill(tenant.KindMemory)
		case <-s.force.C:
			s.kill(s.ending)
		}
	}
}

// cancelled does what the cause of the cancellation demands.
func (s *supervisor) cancelled(ctx context.Context) {
	cause := context.Cause(ctx)

	switch {
	case errors.Is(cause, ErrLeaseLost):
		s.kill(tenant.KindLeaseLost)
	case errors.Is(cause, context.DeadlineExceeded):
		s.interrupt(tenant.KindTimeout, min(s.options.timeoutGrace, s.order.Settings.InterruptGrace))
	default:
		s.interrupt(tenant.KindInterrupted, s.order.Settings.InterruptGrace)
	}
}

// interrupt asks the child to end, and sees to it that it does. A second reason
// changes nothing but the time it is given.
func (s *supervisor) interrupt(kind tenant.Kind, grace time.Duration) {
	if s.killed {
		return
	}

	if s.ending == "" {
		s.ending = kind
	}

	s.process.tell(instruction{Interrupt: &interrupt{Grace: grace}}, writeBound)
	s.force.Reset(grace + s.options.terminateGrace + s.options.backstop)
}

// kill ends the operation at once, with all that it started.
func (s *supervisor) kill(kind tenant.Kind) {
	if s.killed {
		return
	}

	s.ending, s.killed = kind, true
	s.process.killLeader()

	// It is done again at the end, and then reported what could not be ended.
	_ = s.process.session.kill()
}

// tellLease passes the end of the lease on, in a clock that child and parent
// share.
func (s *supervisor) tellLease() {
	if s.watch.LeaseUntil == nil {
		return
	}

	until := s.watch.LeaseUntil()
	if until.IsZero() {
		return
	}

	left := time.Until(until)
	if left <= 0 {
		s.kill(tenant.KindLeaseLost)

		return
	}

	now, err := bootTime()
	if err != nil {
		s.kill(tenant.KindLeaseLost)

		return
	}

	s.process.tell(instruction{LeaseUntil: int64(now + left)}, writeBound)
}

// clockSlack is how far the clocks of child and worker may seem to be apart.
const clockSlack = 100 * time.Millisecond

func (s *supervisor) leaseEnded() bool {
	if s.watch.LeaseUntil == nil {
		return false
	}

	until := s.watch.LeaseUntil()

	return !until.IsZero() && time.Until(until) < clockSlack
}

// conclude makes the result of what the child told and of how it ended.
func (s *supervisor) conclude(told *Result, state *os.ProcessState, lingering error) Result {
	result := Result{Resources: unknownResources, StackCreated: s.order.Operation.Stack.Created}
	if told != nil {
		result = *told
	} else {
		result.Failure = s.silentEnd(state)

		if !s.killed && s.leaseEnded() {
			// The child saw it first, and ended itself.
			s.ending = tenant.KindLeaseLost
		}
	}

	result.PeakMemory = s.memory.peak.Load()
	result.Phases = s.withStart(result.Phases)

	if s.killed || lingering != nil {
		result.Clean = false
	}

	if lingering != nil && result.Failure == nil {
		result.Failure = &tenant.Failure{
			Kind: tenant.KindUnknown, Message: oneLine(lingering.Error()), Hint: "look at the processes of the worker's host",
		}
	}

	// A result that came in spite of all counts, but not without a lease.
	if s.ending == tenant.KindLeaseLost && result.Failure == nil {
		result.Failure = &tenant.Failure{Message: "the operation had just ended"}
	}

	if s.ending != "" && result.Failure != nil {
		s.relabel(result.Failure)
	}

	return result
}

// withStart adds the start of the child to the phases that it told.
func (s *supervisor) withStart(told phase.Times) phase.Times {
	times := phase.Times{}
	maps.Copy(times, told)

	if s.started != 0 && s.began != 0 {
		times[phase.ChildStart] = time.Duration(s.started - s.began)
	}

	return times
}

// relabel says that a failure comes from the operation's early end.
func (s *supervisor) relabel(failure *tenant.Failure) {
	failure.Kind, failure.Hint = s.ending, hints[s.ending]

	switch s.ending {
	case tenant.KindTimeout:
		failure.Message = oneLine("the operation did not end in time: " + failure.Message)
	case tenant.KindLeaseLost:
		failure.Message = oneLine("the lease was lost: " + failure.Message)
	case tenant.KindInterrupted:
		failure.Message = oneLine("interrupted: " + failure.Message)
	case tenant.KindMemory:
		failure.Message = s.memory.verdict()
	case tenant.KindTransient, tenant.KindThrottled, tenant.KindQuota, tenant.KindDenied, tenant.KindInvalid,
		tenant.KindLocked, tenant.KindIntegrity, tenant.KindConflict, tenant.KindApproval, tenant.KindCutover,
		tenant.KindWaiting, tenant.KindUnknown:
	}
}

// silentEnd explains a child that ended without a result.
func (s *supervisor) silentEnd(state *os.ProcessState) *tenant.Failure {
	failure := &tenant.Failure{Kind: tenant.KindUnknown, Hint: hints[tenant.KindUnknown]}

	if complaint := s.process.complaint.text(); complaint != "" {
		failure.Message = oneLine("the operation's process ended: " + complaint)
		failure.Hint = "correct the program: a panic outside of its main goroutine ends the process"

		return failure
	}

	failure.Message = "the operation's process ended without a result"

	if state != nil {
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			failure.Message = fmt.Sprintf("the operation's process was ended by signal: %s", status.Signal())
			failure.Hint = "somebody killed it, or the kernel did for want of memory"
		}
	}

	return failure
}
