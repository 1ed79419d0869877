package registry

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Settlement is what an operation leads to.
type Settlement struct {
	// Target is the desired_seq that was worked on.
	Target int64
	// Round numbers the operations under one lease, from 1. A settlement of an
	// earlier round, repeated by the network, lands no more.
	Round int
	// Applied is what a success made, nil after a failure.
	Applied *tenant.Applied
	// Partial says that Applied is a part of the way to Target.
	Partial bool
	// Keep keeps the lease, since its holder goes on at once.
	Keep bool
	// Change, Pending and DueAt are of the row from now on.
	Change  *tenant.Change
	Pending *tenant.Pending
	DueAt   time.Time
	// LookedAt is when the cloud was compared with the state. Zero leaves what the
	// row says.
	LookedAt time.Time
	// Quiet is a success that nobody asked for and that has nothing to tell: it is
	// not published, and the history does not mention it.
	Quiet   bool
	Outputs map[string]json.RawMessage
	Stack   tenant.Stack
	Outcome tenant.Outcome
	// History is what the row remembered when it was read. Only the holder of the
	// lease adds to it, and this write does.
	History []tenant.Past
	// GaveUp ends the attempts at Target.
	GaveUp bool
	// Tell has a failure published although attempts go on.
	Tell bool
	// Attempts and NotBefore space further ones.
	Attempts  int
	NotBefore time.Time
	// Clean says that nothing of this holder can still reach the state.
	Clean bool
}

// Settled is how a settlement was recorded.
type Settled struct {
	// Released says that the lease was let go. If not, desired moved on while
	// the operation ran, and Record is the row as it is now.
	Released bool
	Record   tenant.Record
}

// The parts of a settlement. Sequences only grow: a repeated write that lands
// late must not take back a later one (model, finding 7).
const (
	retryCommon   = "SET last_outcome = :outcome, history = :history, stack = :stack, updated_at = :now, work_round = :round"
	recordCommon  = retryCommon + ", result_pending = :operation"
	recordSuccess = ", applied_seq = :target, applied = :applied, outputs = :outputs"
	recordPartial = ", applied_seq = :reached, applied = :applied, outputs = :outputs"
	recordFailure = ", failed_seq = :target"
	recordTries   = ", attempts = :attempts"
	recordRetry   = ", attempts = :attempts, not_before = :before"
	recordClean   = ", clean_fence = :fence"

	recordChange  = ", tier_change = :change"
	recordPending = ", approval_pending = :pending"
	recordDue     = ", due_at = :due"
	recordLook    = ", looked_at = :looked"

	removeProgress = " REMOVE progress"
	removeChange   = ", tier_change"
	removePending  = ", approval_pending"
	removeDue      = ", due_at"
	removeBackoff  = ", not_before, attempts"
	removeWaiting  = ", not_before"
	removeLease    = ", " + leaseAttributes

	leaseAttributes = "lease_owner, rvn, lease_ms, lease_until, lease_message"

	heldCondition    = "lease_owner = :me AND fence = :fence"
	roundCondition   = " AND work_round < :round"
	unmovedCondition = " AND desired_seq = :target"
	successCondition = " AND applied_seq < :target"
	failureCondition = " AND failed_seq < :target"
)

// Settle records an outcome and lets go of the lease in one write, if desired
// is still what was worked on. If it moved on, the outcome is recorded alone and
// the lease stays. A write that is already there is a success. ErrLeaseLost
// means that nothing was written.
func (r *Registry) Settle(ctx context.Context, id tenant.ID, token Token, s Settlement) (Settled, error) {
	ways := []bool{true, false}
	if s.Keep {
		ways = ways[1:]
	}

	for _, release := range ways {
		u, err := r.settlement(token, s, release)
		if err != nil {
			return Settled{}, err
		}

		row, err := r.write(ctx, tenantKey(id), u)
		if err == nil {
			rec, err := decodeRow(id, row)

			return Settled{Released: release, Record: rec}, err
		}

		if !refused(err) {
			return Settled{}, err
		}

		settled, done, err := r.settledAlready(ctx, id, token, s)
		if done || err != nil {
			return settled, err
		}
	}

	return Settled{}, fmt.Errorf("settling %s: %w", id, errContended)
}

// settledAlready looks at a row that refused a settlement. It is done if there
// is nothing left to write; otherwise desired moved on.
func (r *Registry) settledAlready(ctx context.Context, id tenant.ID, token Token, s Settlement) (Settled, bool, error) {
	rec, err := r.Get(ctx, id)
	if err != nil {
		return Settled{}, false, err
	}

	held := rec.Lease.Owner == token.Owner && rec.Fence == token.Fence
	recorded := rec.Last != nil && rec.Last.OperationID == s.Outcome.OperationID

	switch {
	case recorded && held:
		return Settled{Record: rec}, true, nil
	case recorded:
		return Settled{Released: true, Record: rec}, true, nil
	case !held:
		return Settled{}, false, fmt.Errorf("settling %s: %w", id, ErrLeaseLost)
	default:
		return Settled{}, false, nil
	}
}

// settlement composes the write from constant parts.
func (r *Registry) settlement(token Token, s Settlement, release bool) (update, error) {
	outcome, err := outcomeDocument(s.Outcome)
	if err != nil {
		return update{}, err
	}

	if !s.Quiet {
		s.History = tenant.Remember(s.History, s.Outcome)
	}

	history, err := historyDocument(s.History)
	if err != nil {
		return update{}, err
	}

	stack, err := document(s.Stack)
	if err != nil {
		return update{}, err
	}

	u := update{condition: heldCondition + roundCondition, values: item{
		":me": text(token.Owner), ":fence": number(token.Fence), ":round": number(roundOf(token, s.Round)),
		":outcome": outcome, ":history": history, ":stack": stack, nowValue: number(r.now().UnixMilli()),
	}}
	set, remove := retryCommon, removeProgress

	switch {
	case s.Applied != nil && s.Partial:
		set, remove, err = u.partial(s, release)
	case s.Applied != nil:
		set, remove, err = u.success(s)
	case s.GaveUp:
		// A newer desired has all of its attempts before it.
		set, remove = u.failure(s, release)
	case release:
		set, remove = u.retry(s), removeProgress
	}

	if err != nil {
		return update{}, err
	}

	moreSet, moreRemove, err := u.beside(s)
	if err != nil {
		return update{}, err
	}

	set, remove = set+moreSet, remove+moreRemove

	if release {
		u.condition += unmovedCondition
		u.values[":target"] = number(s.Target)
		remove += removeLease

		if s.Clean {
			set += recordClean
		}
	}

	u.expression = set + remove

	return u, nil
}

// roundsPerLease is more than any lease has rounds.
const roundsPerLease = 1000

// roundOf numbers the rounds of all leases of a tenant in one row.
func roundOf(token Token, round int) int64 { return token.Fence*roundsPerLease + int64(round) }

// beside writes what stands beside the tenant's own topology and work, or removes
// what no longer does.
func (u *update) beside(s Settlement) (set, remove string, err error) {
	set, remove, err = u.change(s.Change)
	if err != nil {
		return "", "", err
	}

	if s.Pending == nil {
		remove += removePending
	} else {
		if u.values[":pending"], err = pendingDocument(*s.Pending); err != nil {
			return "", "", err
		}

		set += recordPending
	}

	if !s.LookedAt.IsZero() {
		u.values[":looked"] = number(s.LookedAt.UnixMilli())
		set += recordLook
	}

	if s.DueAt.IsZero() {
		return set, remove + removeDue, nil
	}

	u.values[":due"] = number(s.DueAt.UnixMilli())

	return set + recordDue, remove, nil
}

func (u *update) change(c *tenant.Change) (set, remove string, err error) {
	if c == nil {
		return "", removeChange, nil
	}

	if u.values[":change"], err = changeDocument(*c); err != nil {
		return "", "", err
	}

	return recordChange, "", nil
}

// partial records a part of the way. All changes before the target are done with.
func (u *update) partial(s Settlement, release bool) (set, remove string, err error) {
	if err := u.applied(s); err != nil {
		return "", "", err
	}

	u.condition += successCondition
	u.values[":target"] = number(s.Target)
	u.values[":reached"] = number(s.Target - 1)

	if !release {
		return retryCommon + recordPartial, removeProgress + removeBackoff, nil
	}

	return u.retry(s) + recordPartial, removeProgress, nil
}

func (u *update) applied(s Settlement) error {
	applied, err := appliedDocument(*s.Applied)
	if err != nil {
		return err
	}

	outputs, err := document(s.Outputs)
	if err != nil {
		return err
	}

	u.values[":applied"], u.values[":outputs"] = applied, outputs

	return nil
}

func (u *update) success(s Settlement) (set, remove string, err error) {
	if err := u.applied(s); err != nil {
		return "", "", err
	}

	u.condition += successCondition
	u.values[":target"] = number(s.Target)

	if s.Quiet {
		return retryCommon + recordSuccess, removeProgress + removeBackoff, nil
	}

	u.values[":operation"] = text(s.Outcome.OperationID)

	return recordCommon + recordSuccess, removeProgress + removeBackoff, nil
}

func (u *update) retry(s Settlement) (set string) {
	u.values[":attempts"] = number(int64(s.Attempts))
	u.values[":before"] = number(s.NotBefore.UnixMilli())

	if !s.Tell {
		return retryCommon + recordRetry
	}

	u.values[":operation"] = text(s.Outcome.OperationID)

	return recordCommon + recordRetry
}

func (u *update) failure(s Settlement, release bool) (set, remove string) {
	u.condition += failureCondition
	u.values[":target"] = number(s.Target)
	u.values[":operation"] = text(s.Outcome.OperationID)
	set = recordCommon + recordFailure

	if release {
		u.values[":attempts"] = number(int64(s.Attempts))
		set += recordTries
	}

	return set, removeProgress + removeWaiting
}
