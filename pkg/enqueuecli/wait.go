package enqueuecli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	pollFirst = 250 * time.Millisecond
	pollMax   = 2 * time.Second
	// maxReadFailures in a row end a wait: a network that comes and goes
	// must not.
	maxReadFailures = 5
)

var errWaitTimeout = errors.New("timeout of the wait")

// await waits for messages that were sent, prints what became of them, and
// returns the error of the one that went worst.
func (a *app) await(ctx context.Context, timeout time.Duration, table rows, all []*awaited) error {
	a.warnPaused(ctx)

	meter := a.newMeter()
	err := a.watch(ctx, timeout, table, all, meter)
	meter.clear()

	for _, w := range all {
		a.explain(w)
	}

	if printed := a.printReceipts(all...); printed != nil {
		return printed
	}

	if err != nil {
		return err
	}

	return worst(all)
}

// watch polls until every message is done.
func (a *app) watch(ctx context.Context, timeout time.Duration, table rows, all []*awaited, meter *meter) error {
	limited, cancel := context.WithTimeoutCause(ctx, timeout, errWaitTimeout)
	defer cancel()

	start, pause, failures := a.now(), pollFirst, 0

	for {
		over, err := a.poll(limited, table, all, start)

		switch {
		case over:
			return nil
		case limited.Err() != nil:
			return waitEnded(ctx, timeout, all, a.now())
		case err != nil:
			failures++
			if failures >= maxReadFailures {
				return err
			}
		default:
			failures = 0
		}

		if !a.pauseAndDraw(limited, pause, meter, all, start) {
			return waitEnded(ctx, timeout, all, a.now())
		}

		pause = min(2*pause, pollMax) //nolint:mnd // doubled
	}
}

// poll reads the row of every tenant that is waited for, once.
func (a *app) poll(ctx context.Context, table rows, all []*awaited, start time.Time) (bool, error) {
	read := map[tenant.ID]tenant.Record{}
	over := true

	for _, w := range all {
		if w.verdict != "" {
			continue
		}

		id := w.msg.event.Tenant

		rec, ok := read[id]
		if !ok {
			var err error
			if rec, err = readRow(ctx, table, id); err != nil {
				return false, err
			}

			read[id] = rec
		}

		if w.observe(rec) {
			w.took = a.now().Sub(start)
		} else {
			over = false
		}
	}

	return over, nil
}

// pauseAndDraw sleeps, and on a terminal keeps the clock in the line going. It
// returns false when ctx is over.
func (a *app) pauseAndDraw(ctx context.Context, pause time.Duration, meter *meter, all []*awaited, start time.Time) bool {
	for pause > 0 {
		now := a.now()
		meter.show(progressOf(all, now), now.Sub(start))

		slice := min(pause, time.Second)
		pause -= slice

		timer := time.NewTimer(slice)
		select {
		case <-ctx.Done():
			timer.Stop()

			return false
		case <-timer.C:
		}
	}

	return true
}

// waitEnded tells a timeout from a signal.
func waitEnded(ctx context.Context, timeout time.Duration, all []*awaited, at time.Time) error {
	command := "enqueue list --unsettled"
	if len(all) == 1 {
		command = "enqueue status " + all[0].msg.event.Tenant.String()
	}

	hint := "the work goes on: see `" + command + "`"

	if ctx.Err() != nil {
		return &exitError{code: exitInterrupted, err: errInterrupted, hint: hint}
	}

	for _, w := range all {
		if !w.accepted && w.verdict == "" {
			return fail(exitTimeout, "check that workers run, and that they did not refuse it: `enqueue dlq list`",
				"no worker accepted event %s of %s within %s", w.msg.event.ID, w.msg.event.Tenant, timeout)
		}
	}

	hint += ", or wait longer with --timeout"
	now := progressOf(all, at)

	return fail(exitTimeout, hint, "not done after %s: %s%s", timeout, now.text, now.detail)
}

// warnPaused says why nothing will happen. Not knowing is no reason to fail.
func (a *app) warnPaused(ctx context.Context) {
	port, err := a.fleet(ctx)
	if err != nil {
		return
	}

	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	if state, err := port.State(ctx); err == nil && state.Paused {
		a.talkf("warning: the fleet is paused (%s): nothing starts before `enqueue unpause`", state.Reason)
	}
}

// explain tells people of verdicts that need a word.
func (a *app) explain(w *awaited) {
	e := w.msg.event

	if w.replaced {
		a.talkf("%s: a newer event has replaced what event %s says; this is how the newer one went", e.Tenant, e.ID)
	}

	switch w.result() {
	case verdictKept:
		a.talkf("%s: known and kept, but the tenant was never created: there is nothing to do before `enqueue provision %s`",
			e.Tenant, e.Tenant)
	case verdictSettled, verdictFailed:
		if w.foreseen == verdictDuplicate && w.messageID != "" {
			a.talkf("%s: event %s was accepted before: it changes nothing", e.Tenant, e.ID)
		}
	case verdictDuplicate, verdictStale, verdictSent:
	}
}

// worst is the error of the message that went worst, nil if all went well.
func worst(all []*awaited) error {
	var stale, failed []*awaited

	for _, w := range all {
		switch w.verdict {
		case verdictFailed:
			failed = append(failed, w)
		case verdictStale:
			stale = append(stale, w)
		case verdictSent, verdictDuplicate, verdictKept, verdictSettled:
		}
	}

	switch {
	case len(failed) > 0:
		return operationError(failed, len(all))
	case len(stale) > 0:
		e := stale[0].msg.event

		return fail(exitConflict, "all it says is older than what is known: send it anew with a later time (or sequence)",
			"event %s of %s is stale: it changes nothing", e.ID, e.Tenant)
	}

	return nil
}

func operationError(failed []*awaited, of int) error {
	rec := failed[0].rec
	hint := "see `enqueue status " + rec.ID.String() + "`"
	reason := "the operation failed"

	if rec.Last != nil && rec.Last.Failure != nil {
		reason = rec.Last.Failure.Error()

		if rec.Last.Failure.Hint != "" {
			hint = rec.Last.Failure.Hint
		}
	}

	err := fmt.Errorf("%s: %s", rec.ID, reason) //nolint:err113 // the text of a failure that was recorded
	if of > 1 {
		err = fmt.Errorf("%d of %d failed, the first is %w", len(failed), of, err)
	}

	return &exitError{code: exitOperation, err: err, hint: hint}
}
