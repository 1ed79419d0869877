package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	// maxRaces bounds how often a lost race for the lease is tried again
	// before the message goes back to the queue.
	maxRaces = 5
	// busyDelay is how long a message rests that lost them all.
	busyDelay = 2 * time.Second
	// pausedDelay is how long a message rests that was in hand when the fleet
	// was paused. The others stay in the queue, since nothing is received.
	pausedDelay = time.Minute
)

// errRaced reports that the row changed between the read and the acquisition.
var errRaced = errors.New("the row changed meanwhile")

// Settle makes applied equal desired, if that is ours to do now, and returns
// what becomes of the message. rec must contain the message's event. An error
// means that the message must come back later; nothing is lost by it.
func (r *Reconciler) Settle(ctx context.Context, msg Message, rec tenant.Record) (Outcome, error) {
	for range maxRaces {
		outcome, err := r.attempt(ctx, msg, rec)
		if !errors.Is(err, errRaced) {
			return outcome, err
		}

		if rec, err = r.Rows.Get(ctx, rec.ID); err != nil {
			return Outcome{}, fmt.Errorf("reading the row after a lost race: %w", err)
		}
	}

	return Outcome{Action: ActionDelay, Reason: ReasonBusy, Delay: busyDelay}, nil
}

func (r *Reconciler) attempt(ctx context.Context, msg Message, rec tenant.Record) (Outcome, error) {
	now := r.now()

	switch judge(rec, msg.ID(), r.Leases.Stale(rec), now) {
	case verdictWatch:
		return Outcome{Action: ActionWatch, Reason: ReasonBusy}, nil
	case verdictSettled:
		return r.settled(ctx, rec)
	case verdictHandOver:
		return Outcome{Action: ActionDelete, Reason: ReasonHandedOver}, nil
	case verdictHeld:
		return r.setAside(ctx, rec)
	case verdictBackoff:
		return Outcome{Action: ActionDelay, Reason: ReasonBackoff, Delay: rec.NotBefore.Sub(now)}, nil
	case verdictWork:
	}

	if closed := r.Gate.Closed(); closed != "" {
		return r.turnedAway(closed), nil
	}

	admitted, wait := r.admit(rec)
	if admitted == nil {
		return Outcome{Action: ActionDelay, Reason: ReasonBreaker, Delay: wait}, nil
	}
	defer admitted.end()

	slot, err := r.Slots.Take(ctx)
	if err != nil {
		return r.turnedAway(ReasonDrain), nil
	}
	defer r.Slots.Give(slot)

	return r.hold(ctx, msg, rec, slot, admitted)
}

func (*Reconciler) turnedAway(reason Reason) Outcome {
	if reason == ReasonPaused {
		return Outcome{Action: ActionDelay, Reason: reason, Delay: pausedDelay}
	}

	return Outcome{Action: ActionDelay, Reason: reason}
}

// hold takes the lease, works under it and lets go.
func (r *Reconciler) hold(ctx context.Context, msg Message, rec tenant.Record, slot int, admitted *admission) (Outcome, error) {
	msg.Clock().Enter(phase.Lease)

	// Between the read and the acquisition: a lease under a message that is
	// gone would have nobody come back for it if we died.
	if err := msg.Extend(ctx); err != nil {
		return Outcome{Action: ActionDrop, Reason: ReasonLost}, nil
	}

	held, err := r.Leases.Acquire(ctx, rec, msg.ID())

	if busy, ok := errors.AsType[*lease.HeldError](err); ok {
		r.Observer.LeaseBusy()

		if busy.Message == msg.ID() {
			return Outcome{Action: ActionWatch, Reason: ReasonBusy}, nil
		}

		return Outcome{Action: ActionDelete, Reason: ReasonHandedOver}, nil
	}

	switch {
	case errors.Is(err, lease.ErrChanged):
		return Outcome{}, errRaced
	case err != nil:
		return Outcome{}, fmt.Errorf("taking the lease: %w", err)
	}

	r.Observer.LeaseAcquired(rec.ID, held.Token(), held.TookOver())

	// Renewals go on while an operation winds down, so neither a drain nor an
	// interrupt may end them: only the loss of the lease does.
	leaseCtx, stop := held.Keep(context.WithoutCancel(ctx))
	defer stop()

	defer context.AfterFunc(leaseCtx, func() {
		if cause := context.Cause(leaseCtx); errors.Is(cause, lease.ErrLost) || errors.Is(cause, lease.ErrUncertain) {
			r.Observer.LeaseLost(rec.ID, held.Token(), cause)
		}
	})()

	t := tenure{
		Reconciler: r, lease: held, ctx: leaseCtx, slot: slot, admitted: admitted, clean: held.CleanPredecessor(), since: r.now(),
		clock: msg.Clock(),
	}

	return t.rounds(rec.ID) //nolint:contextcheck // the tenure's context is the lease, which outlives the message's
}

// settled finishes what a worker that died after its last write left undone.
func (r *Reconciler) settled(ctx context.Context, rec tenant.Record) (Outcome, error) {
	if err := r.publishPending(ctx, rec); err != nil {
		return Outcome{}, err
	}

	return Outcome{Action: ActionDelete, Reason: ReasonUnchanged}, nil
}

// setAside drops the message of a tenant that people hold: the nudge of the
// unhold stands for it. An acquisition under this message that is still on its
// way must not land afterwards, or the nudge would be handed over to nobody.
func (r *Reconciler) setAside(ctx context.Context, rec tenant.Record) (Outcome, error) {
	err := r.Ledger.RaiseFence(ctx, rec)

	switch {
	case errors.Is(err, registry.ErrMoved):
		return Outcome{}, errRaced
	case err != nil:
		return Outcome{}, fmt.Errorf("setting the message of a held tenant aside: %w", err)
	}

	return Outcome{Action: ActionDelete, Reason: ReasonHeld}, nil
}
