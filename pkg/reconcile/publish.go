package reconcile

import (
	"context"
	"fmt"
	"slices"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// publishPending tells the outside of the last outcome and notes that it did.
// The outcome was recorded with that duty, so a crash in between repeats the
// event, with the same id, and never loses it.
func (r *Reconciler) publishPending(ctx context.Context, rec tenant.Record) error {
	if rec.Unpublished == "" || rec.Last == nil || rec.Last.OperationID != rec.Unpublished {
		return nil
	}

	err := r.Publisher.Publish(ctx, resultOf(rec))
	r.Observer.Published(err)

	if err != nil {
		return fmt.Errorf("publishing the result of operation %s: %w", rec.Unpublished, err)
	}

	if err := r.Ledger.Published(ctx, rec.ID, rec.Unpublished); err != nil {
		return fmt.Errorf("noting that the result of operation %s was published: %w", rec.Unpublished, err)
	}

	return nil
}

func resultOf(rec tenant.Record) result.Event {
	spec := rec.Desired.Spec()
	if rec.Last.Failure == nil && rec.Applied != nil {
		spec = rec.Applied.Spec
	}

	return result.Event{
		ID:          rec.Last.OperationID,
		Type:        resultType(*rec.Last),
		Time:        rec.Last.StartedAt.Add(rec.Last.Duration),
		Tenant:      rec.ID,
		OperationID: rec.Last.OperationID,
		Sequence:    rec.Last.Sequence,
		Spec:        spec,
		Outcome:     *rec.Last,
		Outputs:     rec.Outputs,
	}
}

func resultType(o tenant.Outcome) result.Type {
	// What an up found has its place again.
	drift := tenant.Drifted(o.Report) > 0 && !slices.Contains(o.Steps, string(plan.StepUp))

	switch {
	case o.Failure != nil:
		return result.TypeFailed
	case drift:
		return result.TypeDrifted
	default:
		return result.TypeSettled
	}
}
