package plan_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// stopped is a row whose newest operation waits for approval.
func stopped(rec tenant.Record, disturbed bool) tenant.Record {
	rec.FailedSeq = rec.DesiredSeq
	rec.Last = &tenant.Outcome{OperationID: "stopped", Steps: []string{"up"}, Failure: &tenant.Failure{Kind: tenant.KindApproval, Step: "up"}}
	rec.Pending = &tenant.Pending{Operation: "stopped", Sequence: rec.DesiredSeq, Disturbed: disturbed}
	rec.DesiredSeq++

	return rec
}

// An operation that was stopped changed nothing: there is no up for its sake.
func TestWhatWaitsForApprovalIsNotHalfDone(t *testing.T) {
	t.Parallel()

	small, large := with(created("free"), map[string]string{"size": "1"}), with(created("free"), map[string]string{"size": "2"})

	tests := map[string]struct {
		rec   tenant.Record
		steps []plan.Step
	}{
		"taken back":            {rec: stopped(settled(small, small), false)},
		"approved":              {rec: stopped(settled(small, large), false), steps: []plan.Step{plan.StepUp}},
		"half done before":      {rec: stopped(settled(small, small), true), steps: []plan.Step{plan.StepUp}},
		"failed after approval": {rec: failed(stopped(settled(small, small), false), "up", "up"), steps: []plan.Step{plan.StepUp}},
		"died after approval":   {rec: died(stopped(settled(small, small), false), "up"), steps: []plan.Step{plan.StepUp}},
	}

	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			p, err := plan.For(test.rec, catalog(), now)
			require.NoError(t, err)
			require.Equal(t, test.steps, p.Steps)
			require.Equal(t, len(test.steps) > 0 && name != "approved", plan.Disturbed(test.rec))
		})
	}
}
