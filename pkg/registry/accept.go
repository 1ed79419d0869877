package registry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The first accepted event makes the row. Every change of desired ends a
// backoff: what failed may be just what was changed.
const (
	createExpression = "SET layout_version = :layout, tenant_id = :id, desired = :desired, desired_seq = :next, " +
		"applied_seq = :zero, failed_seq = :zero, fence = :zero, clean_fence = :zero, work_round = :zero, " +
		"tenant_phase = :phase, tenant_tier = :tier, created_at = :now, updated_at = :now"
	createCondition = "attribute_not_exists(pk)"

	acceptExpression = "SET desired = :desired, desired_seq = :next, tenant_phase = :phase, tenant_tier = :tier, updated_at = :now " +
		"REMOVE not_before, attempts"
	acceptCondition = "desired_seq = :seen"
)

const (
	// MaxDesiredBytes bounds the desired state as JSON: an item of DynamoDB may
	// have 400 KB, and the row holds as much of what is applied, and once more of
	// what stands beside it during a tier change.
	MaxDesiredBytes = 64 << 10
	// maxConflicts bounds the folds that lose to others. Each means that
	// somebody else's change was written.
	maxConflicts = 50
	// conflictWait times n is the longest wait after the n-th conflict, so that
	// those who collide do not go on in step.
	conflictWait = 5 * time.Millisecond
)

var errContended = errors.New("the row changes too fast")

// Accept folds an event into the tenant's desired state and returns a row that
// contains the event, and whether the event changed it. One that changes
// nothing costs one read. Any order and repetition of the same events leads to
// the same desired state.
func (r *Registry) Accept(ctx context.Context, e tenant.Event) (tenant.Record, bool, error) {
	// next is the number of the change that was refused last. The SDK repeats a
	// call whose answer was lost, and the first copy may have landed.
	next := int64(-1)

	for conflicts := range maxConflicts {
		if err := yieldToOthers(ctx, conflicts); err != nil {
			return tenant.Record{}, false, fmt.Errorf("accepting an event of %s: %w", e.Tenant, err)
		}

		rec, err := r.Get(ctx, e.Tenant)
		if err != nil {
			return tenant.Record{}, false, err
		}

		if answersNothing(rec, e) {
			return rec, false, nil
		}

		desired, changed := tenant.Apply(rec.Desired, e)
		if !changed {
			return rec, rec.DesiredSeq == next, nil
		}

		u, err := r.acceptance(rec, desired)
		if err != nil {
			return tenant.Record{}, false, err
		}

		row, err := r.write(ctx, tenantKey(e.Tenant), u)
		if refused(err) {
			next = rec.DesiredSeq + 1

			continue
		}

		if err != nil {
			return tenant.Record{}, false, err
		}

		accepted, err := decodeRow(e.Tenant, row)

		return accepted, true, err
	}

	return tenant.Record{}, false, fmt.Errorf("accepting an event of %s: %w", e.Tenant, errContended)
}

// answersNothing reports an answer to a question that nobody asked, or does not ask
// any more: a confirmation with a wrong token, or an approval of what does not wait.
// The row has every question before anybody is asked, so that no true answer comes
// too early.
func answersNothing(rec tenant.Record, e tenant.Event) bool {
	switch e.Type {
	case tenant.EventCutoverConfirmed:
		return rec.Change == nil || !slices.Contains(rec.Change.Tokens, tenant.TokenDigest(e.Token))
	case tenant.EventApproved:
		return rec.Pending == nil || rec.Pending.Operation != e.Operation
	default:
		return false
	}
}

// yieldToOthers waits at random, the longer the more conflicts there were.
func yieldToOthers(ctx context.Context, conflicts int) error {
	if conflicts == 0 {
		return nil
	}

	timer := time.NewTimer(rand.N(time.Duration(conflicts) * conflictWait)) //nolint:gosec // jitter needs no secrecy
	defer timer.Stop()

	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *Registry) acceptance(rec tenant.Record, desired tenant.Desired) (update, error) {
	encoded, err := document(desired)
	if err != nil {
		return update{}, err
	}

	if size := len(textOf(encoded)); size > MaxDesiredBytes {
		return update{}, fmt.Errorf("%w: %d bytes of JSON, at most %d; remove parameters, or keep large ones in S3 and pass their address",
			ErrTooLarge, size, MaxDesiredBytes)
	}

	spec := desired.Spec()
	values := item{
		":desired": encoded,
		":next":    number(rec.DesiredSeq + 1),
		":phase":   text(string(spec.Phase)),
		":tier":    text(desired.Tier.Value.Name),
		nowValue:   number(r.now().UnixMilli()),
	}

	if !rec.Exists() {
		values[":layout"] = number(LayoutVersion)
		values[":id"] = text(string(rec.ID))
		values[":zero"] = number(0)

		return update{expression: createExpression, condition: createCondition, values: values}, nil
	}

	values[":seen"] = number(rec.DesiredSeq)

	return update{expression: acceptExpression, condition: acceptCondition, values: values}, nil
}
