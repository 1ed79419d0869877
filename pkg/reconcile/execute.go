package reconcile

import (
	"context"
	"fmt"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// execute runs one operation and keeps the row's progress.
func (t *tenure) execute(rec tenant.Record, op engine.Operation, tier string) (operationDone, error) {
	t.tell()

	started := t.now()

	op.CleanPredecessor = t.clean
	if !t.lease.CleanPredecessor() {
		// What a dead owner left running ends with the lease that it had.
		op.LookAfter = t.since.Add(rec.Lease.Duration)
	}

	ctx, cancel := t.operationContext()
	defer cancel(nil)

	write := func(p tenant.Progress) error { return t.Rows.Progress(ctx, rec.ID, t.lease.Token(), p) }
	first := tenant.Progress{OperationID: op.ID, Step: string(op.Steps[0]), StartedAt: started.UTC(), UpdatedAt: started.UTC()}

	rec.Stack = op.Stack

	if err := t.during(phase.Commit, func() error { return t.record(rec, &first) }); err != nil {
		return operationDone{}, err
	}

	t.Observer.OperationStarted(op, rec.DesiredSeq, tier)

	progress := newProgressWriter(first, t.now, write)

	res, failed := t.perform(ctx, rec, op, engine.Watch{Progress: progress.report, LeaseUntil: t.lease.Deadline})
	t.clock.Split(res.Phases)

	if err := t.during(phase.Commit, progress.close); err != nil && ctx.Err() == nil {
		t.Observer.Trouble(rec.ID, "writing the progress", err)
	}

	if failed != nil {
		// It was told of, and is over.
		res = t.unnetworked(rec, op, &tenant.Failure{
			Kind: tenant.KindTransient, Message: failed.Error(), Hint: "it is tried again; look at the health of DynamoDB if it lasts",
		})
		t.ended = &ended{op: op, tier: tier, outcome: outcomeOf(op, rec.DesiredSeq, started, t.now().Sub(started), res), result: res}

		return operationDone{}, failed
	}

	// The engine begins by shutting out older writes, so that only its own count
	// from here on.
	t.clean = res.Clean
	done := operationDone{op: op, result: res, settlement: registry.Settlement{
		Target:   rec.DesiredSeq,
		Stack:    op.Stack,
		Change:   rec.Change,
		Outputs:  rec.Outputs,
		Attempts: rec.Attempts,
		Clean:    t.clean,
		Outcome:  outcomeOf(op, rec.DesiredSeq, started, t.now().Sub(started), res),
	}}
	done.settlement.Stack.Created = res.StackCreated

	if res.Resources < 0 {
		done.settlement.Outcome.Types = lastTypes(rec)
	}

	t.ended = &ended{op: op, tier: tier, outcome: done.settlement.Outcome, result: res}

	return done, nil
}

// operationContext ends with the lease, or with an interrupt of all operations.
func (t *tenure) operationContext() (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(t.ctx))

	stopLease := context.AfterFunc(t.ctx, func() {
		cancel(fmt.Errorf("%w: %w", engine.ErrLeaseLost, context.Cause(t.ctx)))
	})
	stopInterrupt := context.AfterFunc(t.Interrupt, func() { cancel(context.Cause(t.Interrupt)) })

	return ctx, func(cause error) {
		stopLease()
		stopInterrupt()
		cancel(cause)
	}
}
