package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/blang/semver"

	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Exit codes of a child. A failed operation is reported and no failure of the
// process.
const (
	exitOK    = 0
	exitUsage = 2
)

// Child is the whole of the process that runs one operation: it reads the
// order and instructions from stdin and reports to stdout, which the process
// must use for nothing else. It is what the hidden command "operation" of a
// worker calls. ctx interrupts the operation.
func Child(ctx context.Context, programs Programs, stdin io.Reader, stdout io.Writer) int {
	// A worker that died must not kill its child by a closed pipe. The signal
	// is caught and not ignored, because the CLI would inherit that.
	pipes := make(chan os.Signal, 1)
	signal.Notify(pipes, syscall.SIGPIPE)

	defer signal.Stop(pipes)

	lines := newLineReader(stdin)

	var o order
	if err := lines.next(&o); err != nil {
		fmt.Fprintln(os.Stderr, errNoOrder)

		return exitUsage
	}

	if o.Settings.Enter {
		if err := o.Settings.Slot.enter(); err != nil {
			fmt.Fprintln(os.Stderr, err)

			return exitUsage
		}
	}

	// The guard must outlive an interrupt, which ends ctx.
	lifetime, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var ending atomic.Bool

	end := func() {
		ending.Store(true)
		endOwnSession()
	}

	out := &lineWriter{to: stdout}
	listener := &listener{
		lines:    lines,
		guard:    newLeaseGuard(end),
		cancel:   cancel,
		settings: o.Settings,
		end:      end,
		hurry:    make(chan time.Duration, 1),
	}

	go listener.guard.watch(lifetime)
	go listener.listen(lifetime)

	result := perform(ctx, o, programs, out, listener.guard)

	if ending.Load() {
		// The CLI goes first, this process after it: what came of that is no
		// result, and the worker knows better why it had to end.
		select {}
	}

	if err := out.write(report{Result: &result}); err != nil {
		fmt.Fprintln(os.Stderr, err)

		return exitUsage
	}

	return exitOK
}

// perform runs the operation and never fails without a result.
func perform(ctx context.Context, o order, programs Programs, out *lineWriter, guard *leaseGuard) (result Result) {
	unstarted := Result{Resources: unknownResources, StackCreated: o.Operation.Stack.Created}

	defer func() {
		if value := recover(); value != nil {
			result = unstarted
			result.Failure = &tenant.Failure{
				Kind: tenant.KindUnknown, Message: oneLine(fmt.Sprintf("panic: %v", value)), Hint: hints[tenant.KindUnknown],
			}
		}
	}()

	if o.Settings.Leased && !guard.await(startBound) {
		unstarted.Failure = &tenant.Failure{
			Kind: tenant.KindLeaseLost, Message: "no word of the lease came", Hint: hints[tenant.KindLeaseLost],
		}

		return unstarted
	}

	// If nobody listens any more, the end of stdin tells so too.
	_ = out.write(report{Started: bootNanoseconds()})

	spent := newPhases(time.Now)
	defer func() { result.Phases = spent.take() }()

	j, err := newJob(ctx, o, programs, guard, spent, func(p Progress) { _ = out.write(report{Progress: &p}) })
	if err != nil {
		unstarted.Failure = failureOf(err)
		if ctx.Err() != nil {
			unstarted.Failure.Kind, unstarted.Failure.Hint = tenant.KindInterrupted, hints[tenant.KindInterrupted]
		}

		return unstarted
	}

	result = j.run(ctx)

	spent.enter(phase.StateClose)

	clean, err := j.state.Close(ctx)
	result.Clean = result.Clean && clean

	spent.enter(phase.Other)

	if err != nil {
		result.Complaints = append(result.Complaints, oneLine(err.Error()))
	}

	return result
}

func newJob(
	ctx context.Context, o order, programs Programs, guard *leaseGuard, spent *phases, notify func(Progress),
) (*job, error) {
	if o.Operation.Stack.Name == "" || o.Operation.Stack.Project == "" {
		return nil, errNoStack
	}

	version, err := semver.ParseTolerant(o.Settings.Version)
	if err != nil {
		return nil, fmt.Errorf("reading the CLI's version: %w", err)
	}

	j := &job{order: o, programs: programs, notify: notify, phases: spent}

	spent.enter(phase.StateOpen)

	if o.Settings.PlainState {
		j.state = openPlain(o.Operation, os.Getenv)
	} else {
		left := guard.left
		if !o.Settings.Leased {
			left = func() time.Duration { return MaxOperationTimeout }
		}

		if j.gate, err = openState(ctx, o.Operation, left, killOwnCLI, spent.request); err != nil {
			return nil, err
		}

		j.state = j.gate
	}

	spent.enter(phase.Other)

	j.command = &command{
		phases:         spent,
		path:           o.Settings.Pulumi,
		version:        version,
		environ:        cliEnvironment(os.Environ(), o.Settings.Slot, j.state.URL()),
		temp:           o.Settings.Slot.Temp,
		grace:          o.Settings.InterruptGrace,
		terminateGrace: o.Settings.TerminateGrace,
		ended:          make(chan struct{}, 1),
	}

	if err := j.prepare(ctx); err != nil {
		_, closeErr := j.state.Close(ctx)

		return nil, errors.Join(err, closeErr)
	}

	return j, nil
}

// listener follows the instructions that come down stdin.
type listener struct {
	lines    *lineReader
	guard    *leaseGuard
	cancel   context.CancelCauseFunc
	settings settings
	end      func()
	hurry    chan time.Duration
	// interrupted is set with the first interrupt.
	interrupted bool
}

func (l *listener) listen(ctx context.Context) {
	for {
		var next instruction
		if err := l.lines.next(&next); err != nil {
			l.orphaned(ctx)

			return
		}

		switch {
		case next.Kill:
			l.end()

			return
		case next.Interrupt != nil:
			l.interrupt(next.Interrupt.Grace)
		case next.LeaseUntil != 0:
			l.guard.extend(next.LeaseUntil)
		}
	}
}

// interrupt ends the operation within a grace. A later one can only shorten it.
func (l *listener) interrupt(grace time.Duration) {
	if !l.interrupted {
		l.interrupted = true
		l.cancel(interrupted{grace: grace, hurry: l.hurry})

		return
	}

	select {
	case l.hurry <- grace:
	default:
	}
}

// orphaned ends the operation of a dead worker: cleanly while the lease lasts,
// at once when it ends, which the guard sees to.
func (l *listener) orphaned(ctx context.Context) {
	l.interrupt(l.settings.InterruptGrace)

	if l.guard.known() {
		return
	}

	timer := time.NewTimer(l.settings.InterruptGrace + l.settings.TerminateGrace)
	defer timer.Stop()

	select {
	case <-ctx.Done():
	case <-timer.C:
		l.end()
	}
}
