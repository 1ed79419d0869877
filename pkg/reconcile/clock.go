package reconcile

import (
	"slices"
	"time"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// dueAt is when the clock makes work of a row once it is settled like that.
func dueAt(rec tenant.Record, s registry.Settlement) time.Time {
	if s.Applied != nil {
		rec.Applied = s.Applied
	}

	rec.Change, rec.Stack = s.Change, s.Stack

	return plan.Due(rec)
}

// looked notes what the clock must know of a plan that was done: when the cloud
// was last compared with the state, which what was just made always is, and since
// when the state is empty.
func (t *tenure) looked(rec tenant.Record, p plan.Plan, s *registry.Settlement) {
	now := t.now().UTC()
	first := rec.Applied == nil || rec.Applied.Spec.Phase == tenant.PhaseAbsent

	if slices.Contains(p.Steps, plan.StepRefresh) || first && slices.Contains(p.Steps, plan.StepUp) {
		s.LookedAt = now
	}

	switch {
	case slices.Contains(p.Steps, plan.StepRemove):
		s.Stack.RemovedAt = now
	case slices.Contains(p.Steps, plan.StepPurge):
		s.Stack.RemovedAt, s.Stack.PurgedAt = time.Time{}, now
	}
}

// unremarkable reports whether a settlement is none that anybody waits for: a look
// that found nothing, or no work at all.
func unremarkable(s registry.Settlement) bool {
	o := s.Outcome
	looked := !slices.ContainsFunc(o.Steps, func(step string) bool { return step != string(plan.StepRefresh) })

	return s.Applied != nil && !s.Partial && o.Failure == nil && looked &&
		tenant.Drifted(o.Report)+len(o.Repairs)+len(o.Orphans) == 0
}
