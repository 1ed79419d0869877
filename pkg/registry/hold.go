package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	beginExpression    = "SET stack = :stack, updated_at = :now"
	beginProgress      = ", progress = :progress"
	beginNoChange      = " REMOVE tier_change"
	progressExpression = "SET progress = :progress"
	publishExpression  = "REMOVE result_pending"
	publishCondition   = "result_pending = :operation"

	// The progress stays: where there is some, it is of an operation whose
	// outcome nobody recorded, which the next plan must know.
	releaseExpression      = "SET updated_at = :now REMOVE " + leaseAttributes
	releaseCleanExpression = "SET updated_at = :now, clean_fence = :fence REMOVE " + leaseAttributes
	seenCondition          = " AND desired_seq = :seen"

	// Only a free lease of the same number is raised, so nobody's is taken.
	raiseExpression      = "SET fence = :next, updated_at = :now"
	raiseCleanExpression = "SET fence = :next, clean_fence = :next, updated_at = :now"
	raiseCondition       = "attribute_not_exists(lease_owner) AND fence = :seen"

	holdExpression   = "SET hold_reason = :reason, updated_at = :now"
	unholdExpression = "SET updated_at = :now REMOVE hold_reason"
	existsCondition  = "attribute_exists(created_at)"

	pauseExpression   = "SET pause_reason = :reason, paused_at = :now"
	unpauseExpression = "REMOVE pause_reason, paused_at"
)

// MaxReasonBytes bounds the reasons that people give: they are part of a row.
const MaxReasonBytes = 1 << 10

// ErrReasonTooLong says that a reason has more than MaxReasonBytes.
var ErrReasonTooLong = errors.New("the reason is too long")

func checkReason(reason string) error {
	if len(reason) > MaxReasonBytes {
		return fmt.Errorf("%w: it has %d bytes and may have %d", ErrReasonTooLong, len(reason), MaxReasonBytes)
	}

	return nil
}

// Beginning is what the row says from before an operation on.
type Beginning struct {
	// Round is that of the operation's settlement.
	Round int
	Stack tenant.Stack
	// Change is how far a tier change is, nil if none is under way.
	Change *tenant.Change
	// Progress is of the operation. nil leaves what is there.
	Progress *tenant.Progress
}

// Begin records in one write all that a successor must know of an operation of
// which nothing else is ever written.
func (r *Registry) Begin(ctx context.Context, id tenant.ID, token Token, b Beginning) error {
	stack, err := document(b.Stack)
	if err != nil {
		return err
	}

	u := update{expression: beginExpression, condition: heldCondition + roundCondition, values: item{
		":stack": stack, nowValue: number(r.now().UnixMilli()), ":me": text(token.Owner), ":fence": number(token.Fence),
		":round": number(roundOf(token, b.Round)),
	}}

	if b.Progress != nil {
		if u.values[":progress"], err = document(*b.Progress); err != nil {
			return err
		}

		u.expression += beginProgress
	}

	if b.Change == nil {
		u.expression += beginNoChange

		return r.underLease(ctx, id, u)
	}

	if u.values[":change"], err = changeDocument(*b.Change); err != nil {
		return err
	}

	u.expression += recordChange

	return r.underLease(ctx, id, u)
}

// Progress shows how far the running operation is.
func (r *Registry) Progress(ctx context.Context, id tenant.ID, token Token, progress tenant.Progress) error {
	value, err := document(progress)
	if err != nil {
		return err
	}

	return r.underLease(ctx, id, update{expression: progressExpression, condition: heldCondition, values: item{
		":progress": value, ":me": text(token.Owner), ":fence": number(token.Fence),
	}})
}

// Release lets go of the lease without a result. The caller's message must
// still stand for what is left to do.
func (r *Registry) Release(ctx context.Context, id tenant.ID, token Token, clean bool) error {
	_, err := r.write(ctx, tenantKey(id), r.release(token, clean))
	if !refused(err) {
		return err
	}

	return r.releasedAlready(ctx, id, token)
}

// releasedAlready looks at a row that refused a release. nil means that an
// earlier copy of the write landed: the SDK repeats calls whose answer was lost.
func (r *Registry) releasedAlready(ctx context.Context, id tenant.ID, token Token) error {
	rec, err := r.Get(ctx, id)

	switch {
	case err != nil:
		return err
	case rec.Lease.Owner == token.Owner && rec.Fence == token.Fence:
		return fmt.Errorf("releasing %s: %w", id, ErrMoved)
	case rec.Lease.Owner == "" && rec.Fence == token.Fence:
		return nil
	default:
		return fmt.Errorf("releasing %s: %w", id, ErrLeaseLost)
	}
}

// ReleaseSeen lets go of the lease only if desired is still the one seen, so
// that no change is left to a holder that is gone. Otherwise it fails with
// ErrMoved and the lease stays.
func (r *Registry) ReleaseSeen(ctx context.Context, id tenant.ID, token Token, seen int64, clean bool) error {
	u := r.release(token, clean)
	u.condition += seenCondition
	u.values[":seen"] = number(seen)

	_, err := r.write(ctx, tenantKey(id), u)
	if !refused(err) {
		return err
	}

	return r.releasedAlready(ctx, id, token)
}

func (r *Registry) release(token Token, clean bool) update {
	u := update{expression: releaseExpression, condition: heldCondition, values: item{
		nowValue: number(r.now().UnixMilli()), ":me": text(token.Owner), ":fence": number(token.Fence),
	}}
	if clean {
		u.expression = releaseCleanExpression
	}

	return u
}

// RaiseFence counts the fence of a free lease up, so that no acquisition by a
// row as old as rec, or older, can land any more. ErrMoved means that the lease
// is not as in rec.
func (r *Registry) RaiseFence(ctx context.Context, rec tenant.Record) error {
	u := update{expression: raiseExpression, condition: raiseCondition, values: item{
		":next": number(rec.Fence + 1), ":seen": number(rec.Fence), nowValue: number(r.now().UnixMilli()),
	}}
	if rec.CleanFence == rec.Fence {
		u.expression = raiseCleanExpression
	}

	_, err := r.write(ctx, tenantKey(rec.ID), u)
	if refused(err) {
		return fmt.Errorf("raising the fence of %s: %w", rec.ID, ErrMoved)
	}

	return err
}

func (r *Registry) underLease(ctx context.Context, id tenant.ID, u update) error {
	_, err := r.write(ctx, tenantKey(id), u)
	if refused(err) {
		return fmt.Errorf("writing to the row of %s: %w", id, ErrLeaseLost)
	}

	return err
}

// Published notes that the result of an operation reached its target. It is no
// error if that was noted before, or if a newer result took its place.
func (r *Registry) Published(ctx context.Context, id tenant.ID, operationID string) error {
	_, err := r.write(ctx, tenantKey(id), update{
		expression: publishExpression, condition: publishCondition, values: item{":operation": text(operationID)},
	})
	if refused(err) {
		return nil
	}

	return err
}

// SetHold keeps operations of a tenant from starting. ErrNotFound means that
// nothing is known of the tenant.
func (r *Registry) SetHold(ctx context.Context, id tenant.ID, reason string) error {
	if err := checkReason(reason); err != nil {
		return err
	}

	return r.onRow(ctx, id, update{expression: holdExpression, condition: existsCondition, values: item{
		":reason": text(reason), nowValue: number(r.now().UnixMilli()),
	}})
}

// ClearHold ends a hold. Somebody must then send a message for the tenant, or
// nobody looks at it before the next event.
func (r *Registry) ClearHold(ctx context.Context, id tenant.ID) error {
	return r.onRow(ctx, id, update{expression: unholdExpression, condition: existsCondition, values: item{
		nowValue: number(r.now().UnixMilli()),
	}})
}

func (r *Registry) onRow(ctx context.Context, id tenant.ID, u update) error {
	_, err := r.write(ctx, tenantKey(id), u)
	if refused(err) {
		return fmt.Errorf("tenant %s: %w", id, ErrNotFound)
	}

	return err
}

// Fleet is what holds for all tenants.
type Fleet struct {
	Paused bool
	Reason string
	At     time.Time
}

// Fleet reads whether the fleet is paused.
func (r *Registry) Fleet(ctx context.Context) (Fleet, error) {
	row, err := r.get(ctx, fleetKey)
	if err != nil {
		return Fleet{}, err
	}

	read := &reader{row: row}
	fleet := Fleet{Paused: row["paused_at"] != nil, Reason: read.text("pause_reason"), At: read.time("paused_at")}

	if read.err != nil {
		return Fleet{}, fmt.Errorf("reading the fleet's row: %w", read.err)
	}

	return fleet, nil
}

// Pause keeps every worker from receiving messages and starting operations.
func (r *Registry) Pause(ctx context.Context, reason string) error {
	if err := checkReason(reason); err != nil {
		return err
	}

	_, err := r.write(ctx, fleetKey, update{expression: pauseExpression, values: item{
		":reason": text(reason), nowValue: number(r.now().UnixMilli()),
	}})

	return err
}

// Unpause ends a pause.
func (r *Registry) Unpause(ctx context.Context) error {
	_, err := r.write(ctx, fleetKey, update{expression: unpauseExpression})

	return err
}

func textOf(value types.AttributeValue) string {
	if s, ok := value.(*types.AttributeValueMemberS); ok {
		return s.Value
	}

	return ""
}
