package reconcile

import (
	"slices"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// guard has the engine stop an operation that would do more than the tier lets
// pass, unless that was approved.
func guard(op *engine.Operation, rec tenant.Record, p plan.Plan) {
	if !guarded(rec, p) {
		return
	}

	op.Guard = p.Blueprint.Guard

	waiting := rec.Pending
	if waiting != nil && rec.Desired.Approval.Value.Operation == waiting.Operation {
		op.Approved = &engine.Exceeds{Digest: waiting.Digest, Report: waiting.Report}
	}
}

// guarded reports whether a plan updates what serves. A first provision has nothing
// to lose, what a change of tier removes was announced by it, and a way back must
// not wait. What goes on with one of these, such as the up that protects what now
// serves, is a part of it.
func guarded(rec tenant.Record, p plan.Plan) bool {
	serves, last := rec.Applied, rec.Last
	if goesOn := last != nil && last.Failure == nil && last.Sequence == rec.DesiredSeq; goesOn {
		return false
	}

	return serves != nil && serves.Spec.Phase != tenant.PhaseAbsent && p.Generation == max(serves.Generation, 1) &&
		p.Leaving == nil && p.End != plan.EndBack && slices.Contains(p.Steps, plan.StepUp)
}

// pending is what waits for approval after an attempt. One that is repeated leaves
// it: an approval holds until the operation that it is for went through.
func (t *tenure) pending(rec tenant.Record, done operationDone) *tenant.Pending {
	s := done.settlement

	switch over := done.result.Exceeds; {
	case over != nil && done.failedWith(tenant.KindApproval):
		return &tenant.Pending{
			Operation: done.op.ID, Sequence: rec.DesiredSeq, Digest: over.Digest, Report: over.Report, At: t.now().UTC(),
			Disturbed: plan.Disturbed(rec),
		}
	case s.Applied != nil, s.GaveUp:
		return nil
	default:
		return rec.Pending
	}
}
