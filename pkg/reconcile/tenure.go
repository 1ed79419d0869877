package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// maxRounds bounds how long one worker stays with a tenant that changes
// without end, so that it cannot keep a slot from the others.
const maxRounds = 5

// tenure is the time in which we hold one tenant's lease.
type tenure struct {
	*Reconciler

	lease *lease.Lease
	ctx   context.Context //nolint:containedctx // it is the lease: cancelled when that is lost
	slot  int
	// admitted is told of every operation.
	admitted *admission
	// clean is whether a successor may trust that nothing of ours, or of an
	// owner before us, is still on its way to the state.
	clean bool
	// since is when the lease was taken.
	since time.Time
	// round counts the operations under the lease.
	round int
	clock *phase.Clock
	ended *ended
	// untold is set while the result of an earlier operation is not published.
	untold bool
}

// rounds works until the row is settled and the lease let go in one write.
func (t *tenure) rounds(id tenant.ID) (Outcome, error) {
	rec, err := t.lease.Row()
	if err != nil {
		return t.abandon(id, fmt.Errorf("reading the row under the lease: %w", err))
	}

	// The next outcome takes the place of one that a worker recorded and did
	// not live to tell of.
	pending := t.publish(rec)
	if pending != nil {
		t.untold = true
		t.Observer.Trouble(rec.ID, "publishing the result", pending)
	}

	for range maxRounds {
		if !rec.NeedsWork() && pending != nil {
			return t.letGo(rec, Outcome{Action: ActionDelay, Reason: ReasonError, Delay: busyDelay})
		}

		if !rec.NeedsWork() {
			return t.letGo(rec, Outcome{Action: ActionDelete, Reason: ReasonSettled})
		}

		if closed := t.Gate.Closed(); closed != "" {
			return t.letGo(rec, t.turnedAway(closed))
		}

		if rec.Hold != "" {
			// Not deleted: the nudge that follows an unhold may be handed over
			// to us before we let go. The next look finds the lease free.
			return t.letGo(rec, Outcome{Action: ActionDelay, Reason: ReasonHeld, Delay: busyDelay})
		}

		t.round++

		outcome, newest, err := t.work(rec)
		if err != nil || newest == nil {
			return outcome, err
		}

		rec = *newest
	}

	return t.letGo(rec, Outcome{Action: ActionDelay, Reason: ReasonBusy, Delay: busyDelay})
}

// work runs one operation and records it. A row is returned if desired moved
// on meanwhile, so that the lease is still ours and another round is due.
func (t *tenure) work(rec tenant.Record) (Outcome, *tenant.Record, error) {
	defer t.tell()

	done, err := t.run(rec)
	if err != nil {
		outcome, err := t.abandon(rec.ID, err)

		return outcome, nil, err
	}

	if done.lost() {
		return Outcome{Action: ActionDrop, Reason: ReasonLost}, nil, nil
	}

	if done.interrupted() && !done.result.Clean {
		// Whoever comes next must wait until the lease is dead, and recover.
		return Outcome{Action: ActionDelay, Reason: ReasonDrain}, nil, nil
	}

	done.settlement.History = rec.History

	var settled registry.Settled

	err = t.during(phase.Commit, func() (err error) {
		settled, err = t.Ledger.Settle(t.ctx, rec.ID, t.lease.Token(), done.settlement)

		return err
	})

	switch {
	case errors.Is(err, registry.ErrLeaseLost):
		return Outcome{Action: ActionDrop, Reason: ReasonLost}, nil, nil
	case err != nil:
		// The write may have landed. The lease expires by itself and the
		// message comes back; a second run of the same plan changes nothing.
		return Outcome{}, nil, fmt.Errorf("recording the outcome: %w", err)
	}

	if err := t.publish(settled.Record); err != nil {
		t.untold = true
		t.Observer.Trouble(rec.ID, "publishing the result", err)

		if settled.Released {
			return Outcome{Action: ActionDelay, Reason: ReasonError, Delay: busyDelay}, nil, nil
		}
	}

	t.tellWaiting(done, settled.Record)

	if !settled.Released {
		return Outcome{}, &settled.Record, nil
	}

	return t.after(done), nil, nil
}

// after says what becomes of the message once the outcome is recorded.
func (t *tenure) after(done operationDone) Outcome {
	s := done.settlement

	switch {
	case s.Partial:
		return Outcome{Action: ActionDelay, Reason: ReasonPartial, Delay: max(0, s.NotBefore.Sub(t.now()))}
	case s.Applied != nil:
		return Outcome{Action: ActionDelete, Reason: ReasonSettled}
	case s.GaveUp:
		return Outcome{Action: ActionDelete, Reason: ReasonFailed}
	case done.interrupted() && t.Interrupt.Err() != nil:
		return Outcome{Action: ActionDelay, Reason: ReasonDrain}
	case done.stuck:
		return Outcome{Action: ActionDelay, Reason: ReasonStuck, Delay: max(0, s.NotBefore.Sub(t.now()))}
	default:
		return Outcome{Action: ActionDelay, Reason: ReasonBackoff, Delay: max(0, s.NotBefore.Sub(t.now()))}
	}
}

// letGo releases the lease without a result.
func (t *tenure) letGo(rec tenant.Record, outcome Outcome) (Outcome, error) {
	err := t.Ledger.ReleaseSeen(t.ctx, rec.ID, t.lease.Token(), rec.DesiredSeq, t.clean)

	switch {
	case errors.Is(err, registry.ErrLeaseLost):
		return Outcome{Action: ActionDrop, Reason: ReasonLost}, nil
	case errors.Is(err, registry.ErrMoved):
		// A change came in after we looked and its message was handed over
		// to us: ours must stand for it, and finds the lease free.
		outcome = Outcome{Action: ActionDelay, Reason: ReasonBusy}
		if err := t.Ledger.Release(t.ctx, rec.ID, t.lease.Token(), t.clean); err != nil {
			return outcome, fmt.Errorf("letting go of the lease: %w", err)
		}

		return outcome, nil
	case err != nil:
		return Outcome{}, fmt.Errorf("letting go of the lease: %w", err)
	}

	return outcome, nil
}

// abandon lets go after trouble that was not the tenant's, as well as it can:
// if that fails too, the lease expires.
func (t *tenure) abandon(id tenant.ID, cause error) (Outcome, error) {
	if context.Cause(t.ctx) != nil {
		return Outcome{Action: ActionDrop, Reason: ReasonLost}, nil //nolint:nilerr // the loss is the outcome
	}

	if err := t.Ledger.Release(t.ctx, id, t.lease.Token(), t.clean); err != nil {
		return Outcome{}, errors.Join(cause, fmt.Errorf("letting go of the lease: %w", err))
	}

	return Outcome{}, cause
}

// run makes the plan, has the engine do it, and leaves nothing behind where
// nobody will come again.
func (t *tenure) run(rec tenant.Record) (operationDone, error) {
	done, err := t.attempt(&rec)
	if err != nil {
		return operationDone{}, err
	}

	s := &done.settlement
	if final := s.Applied != nil && !s.Partial || s.GaveUp; final {
		if done, err = t.tidied(rec, done); err != nil {
			return operationDone{}, err
		}
	}

	s = &done.settlement
	s.Round, s.DueAt, s.Pending = t.round, dueAt(rec, *s), t.pending(rec, done)
	s.Quiet = plan.ByClock(rec) && !t.untold && unremarkable(*s)

	return done, nil
}

// attempt makes a plan, has it done, and says what to record. rec becomes the row
// as it was meanwhile.
func (t *tenure) attempt(rec *tenant.Record) (operationDone, error) {
	p, err := t.plan(*rec)
	if err != nil {
		return t.refused(*rec, err)
	}

	op := t.operation(*rec, p)
	guard(&op, *rec, p)

	*rec = begun(*rec, p, op.Stack)
	done := t.nothingDone(*rec, op)

	if len(p.Steps) > 0 {
		if done, err = t.execute(*rec, op, tierOf(*rec, p)); err != nil {
			return operationDone{}, err
		}

		t.admitted.note(*rec, done.settlement.Outcome)
	} else {
		t.vacated(*rec, p)
	}

	if err := t.conclude(*rec, p, &done); err != nil {
		return operationDone{}, err
	}

	// What the guard stopped changed nothing that there were to undo.
	if !done.settlement.GaveUp || p.End == plan.EndBack || done.failedWith(tenant.KindApproval) {
		return done, nil
	}

	return t.compensate(*rec, p, done)
}

// tidied has the engine look after the state once more if the work ends and
// something may be left there, the lock of a dead operation above all: it would
// stay. If that fails the next owner does it.
func (t *tenure) tidied(rec tenant.Record, done operationDone) (operationDone, error) {
	if t.clean || done.settlement.Stack.Project == "" {
		return done, nil
	}

	op := t.newOperation(rec, []plan.Step{plan.StepRefresh})
	op.Stack = done.settlement.Stack

	look, err := t.execute(rec, op, tierOf(rec, plan.Plan{Spec: rec.Desired.Spec()}))
	if err != nil {
		return operationDone{}, err
	}

	if look.lost() || look.interrupted() {
		// Whoever comes next makes it all once more.
		look.settlement.Change = noted(rec, done.settlement.Outcome)

		return look, nil
	}

	done.settlement.Clean = t.clean
	done.settlement.Stack = look.settlement.Stack
	done.settlement.Outcome.Repairs = look.settlement.Outcome.Repairs
	done.settlement.Outcome.Orphans = look.settlement.Outcome.Orphans

	return done, nil
}
