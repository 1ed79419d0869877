package reconcile

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// MaxOutputBytes bounds the outputs of a tenant as JSON: the row is an item of
// DynamoDB, which may have 400 KB, and every reader pays for its size.
const MaxOutputBytes = 64 << 10

const defaultMaxAttempts = 5

// outputsOf are the tenant's once a plan is done.
func outputsOf(rec tenant.Record, p plan.Plan, done operationDone) map[string]json.RawMessage {
	switch {
	case slices.Contains(p.Steps, plan.StepRemove):
		return nil
	case slices.Contains(p.Steps, plan.StepUp):
		return done.result.Outputs
	case p.Change != nil && p.Change.Stage == tenant.StageCutover && p.Then != nil && p.Then.Stage == tenant.StageBaking:
		return p.Change.Outputs
	default:
		return rec.Outputs
	}
}

// judgeFailure decides on the next attempt.
func (t *tenure) judgeFailure(rec tenant.Record, p plan.Plan, done *operationDone) {
	s := &done.settlement
	kind := done.result.Failure.Kind

	if kind.Retry() == tenant.RetryUncounted {
		s.NotBefore = t.now().Add(t.wait(rec, kind))

		return
	}

	s.Attempts++
	s.NotBefore = t.now().Add(t.Config.Backoff.After(s.Attempts, chance()))

	if s.Attempts < lastAttempt(kind, p.Blueprint) {
		return
	}

	if p.End != plan.EndBack && !slices.Contains(p.Steps, plan.StepDestroy) {
		s.GaveUp = true

		return
	}

	// What is to be deleted costs money and may hold data for as long as it
	// is there, so nobody gives up on that, nor on the way back from a tier
	// change. The outside is told once.
	before := failureOf(rec)
	done.stuck = true
	s.Tell = before == nil || rec.Attempts < lastAttempt(before.Kind, p.Blueprint)
}

// lastAttempt is the one after which a failure of a kind is not retried.
func lastAttempt(kind tenant.Kind, b tenant.Blueprint) int {
	switch {
	case kind.Retry() == tenant.RetryNever:
		return 1
	case b.MaxAttempts > 0:
		return b.MaxAttempts
	default:
		return defaultMaxAttempts
	}
}

// failureOf is how the last operation failed, nil if it did not.
func failureOf(rec tenant.Record) *tenant.Failure {
	if rec.Last == nil {
		return nil
	}

	return rec.Last.Failure
}

// wait is the delay after a failure that is not counted.
func (t *tenure) wait(rec tenant.Record, kind tenant.Kind) time.Duration {
	before, backoff := failureOf(rec), t.Config.Backoff
	growing := kind == tenant.KindThrottled || kind == tenant.KindWaiting

	if kind == tenant.KindWaiting {
		backoff = waitForPool()
	}

	switch {
	case kind == tenant.KindInterrupted && t.Interrupt.Err() != nil:
		return 0
	case growing && before != nil && before.Kind == kind:
		ended := rec.Last.StartedAt.Add(rec.Last.Duration)

		return backoff.Beyond(rec.NotBefore.Sub(ended), chance())
	default:
		return backoff.After(1, chance())
	}
}

func oversized(outputs map[string]json.RawMessage) *tenant.Failure {
	size, largest := 0, ""

	for name, value := range outputs {
		size += len(name) + len(value)
		if largest == "" || len(value) > len(outputs[largest]) {
			largest = name
		}
	}

	if size <= MaxOutputBytes {
		return nil
	}

	return &tenant.Failure{
		Kind: tenant.KindInvalid,
		Message: fmt.Sprintf("the program's outputs have %d bytes, more than the %d that a tenant's row takes; the largest is %q with %d",
			size, MaxOutputBytes, largest, len(outputs[largest])),
		Hint: "export names and addresses, and keep documents in S3 or Secrets Manager with their ARN as the output",
	}
}

// compensate follows the tier's policy once an operation was given up on: a
// first provision leaves nothing behind, an update goes back to what worked.
func (t *tenure) compensate(rec tenant.Record, p plan.Plan, done operationDone) (operationDone, error) {
	back, ok := t.wayBack(rec, p, done)
	if !ok {
		return done, nil
	}

	if len(back.Steps) == 0 {
		done.settlement.Change = back.Then

		return done, nil
	}

	select {
	case <-t.Interrupt.Done():
		// No time is left to undo it, so it is not given up on yet.
		done.settlement.GaveUp = false
		done.settlement.NotBefore = t.now()

		return done, nil
	default:
	}

	op := t.operation(rec, back)
	op.Stack.Created = done.settlement.Stack.Created
	rec.Change = back.Change

	undone, err := t.execute(rec, op, tierOf(rec, p))
	if err != nil {
		return operationDone{}, err
	}

	if undone.lost() || undone.interrupted() {
		// Nobody gives up in a hurry: the next round decides anew.
		undone.settlement.NotBefore = t.now().Add(t.wait(rec, tenant.KindInterrupted))

		return undone, nil
	}

	done.settlement.Clean = undone.settlement.Clean
	done.settlement.Stack = undone.settlement.Stack
	done.settlement.Outcome.Duration += undone.settlement.Outcome.Duration
	done.settlement.Outcome.Steps = append(done.settlement.Outcome.Steps, undone.settlement.Outcome.Steps...)
	done.settlement.Outcome.Resources = undone.settlement.Outcome.Resources
	done.settlement.Outcome.Types = undone.settlement.Outcome.Types

	if undone.result.Failure == nil {
		done.settlement.Change = back.Then

		return done, nil
	}

	// Nothing may be given up on while it is half there: the next attempt
	// ends in another compensation.
	done.result.Failure = undone.result.Failure
	done.settlement.GaveUp = false
	done.stuck = true
	done.settlement.NotBefore = t.now().Add(t.Config.Backoff.After(done.settlement.Attempts, chance()))
	done.settlement.Outcome.Failure = &tenant.Failure{
		Kind: undone.result.Failure.Kind,
		Message: fmt.Sprintf("%s; undoing it failed too: %s",
			failureMessage(done.settlement.Outcome.Failure), undone.result.Failure.Message),
		Hint:     undone.result.Failure.Hint,
		Resource: undone.result.Failure.Resource,
		Step:     undone.result.Failure.Step,
	}

	return done, nil
}

func failureMessage(f *tenant.Failure) string {
	if f == nil {
		return "the operation failed"
	}

	return f.Message
}

// wayBack is the plan that undoes a failed operation, if the policy has one.
func (t *tenure) wayBack(rec tenant.Record, p plan.Plan, done operationDone) (plan.Plan, bool) {
	stands := rec.Applied != nil && rec.Applied.Spec.Phase != tenant.PhaseAbsent
	// A worker that died may have made resources without a word of the stack.
	began := done.settlement.Stack.Created || rec.Stack.Created || rec.Progress != nil

	if !stands {
		undo := plan.Plan{Steps: []plan.Step{plan.StepDestroy, plan.StepRemove}}
		if rec.Applied != nil {
			// What is kept of an earlier life stays.
			undo.Blueprint.RetainDays = rec.Applied.Blueprint.RetainDays
		}

		return undo, began && p.Blueprint.OnCreate != tenant.PolicyKeep
	}

	if p.Blueprint.OnUpdate != tenant.PolicyRevert {
		return plan.Plan{}, false
	}

	ended := rec
	ended.Progress, ended.Change, ended.Last = nil, done.settlement.Change, &done.settlement.Outcome

	if back, ok := plan.Back(ended, t.now()); ok {
		return back, true
	}

	// What a retirement removed is not made again.
	if p.Leaving != nil || !slices.Contains(p.Steps, plan.StepUp) {
		return plan.Plan{}, false
	}

	return plan.Plan{
		Steps: []plan.Step{plan.StepUp}, Beside: p.Beside, Change: rec.Change, Then: rec.Change,
		Spec: rec.Applied.Spec, Blueprint: rec.Applied.Blueprint, Generation: rec.Applied.Generation,
	}, true
}
