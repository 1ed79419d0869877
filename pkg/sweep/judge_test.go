package sweep_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/sweep"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestJudge(t *testing.T) {
	t.Parallel()

	now := time.Now()
	old, young := now.Add(-age), now.Add(-age+time.Millisecond)
	lease := func(r *tenant.Record) { r.Lease = tenant.Lease{Owner: "a", Until: now} }
	settled := func(r *tenant.Record) { r.AppliedSeq = 2 }

	for name, tt := range map[string]struct {
		change     func(r *tenant.Record) // of an old row that needs work
		stale      bool
		waiting    sweep.Reason
		end, nudge bool
	}{
		"forgotten":       {change: func(*tenant.Record) {}, waiting: sweep.ReasonWork, nudge: true},
		"no row":          {change: func(r *tenant.Record) { *r = tenant.Record{ID: "a"} }},
		"young":           {change: func(r *tenant.Record) { r.UpdatedAt = young }},
		"settled":         {change: settled},
		"given up":        {change: func(r *tenant.Record) { r.FailedSeq = 2 }, waiting: sweep.ReasonFailed},
		"just given up":   {change: func(r *tenant.Record) { r.FailedSeq, r.UpdatedAt = 2, now }, waiting: sweep.ReasonFailed},
		"failed and held": {change: func(r *tenant.Record) { r.FailedSeq, r.Hold = 2, "x" }},
		"failed, put right since": {
			change: func(r *tenant.Record) { r.FailedSeq, r.AppliedSeq = 1, 2 },
		},
		"failed, a new change is young": {
			change: func(r *tenant.Record) { r.FailedSeq, r.DesiredSeq, r.UpdatedAt = 2, 3, now },
		},
		"failed, worked on": {change: func(r *tenant.Record) { r.FailedSeq = 2; lease(r) }},
		"failed, result not told": {
			change: func(r *tenant.Record) { r.FailedSeq, r.Unpublished = 2, "op" }, waiting: sweep.ReasonResult, nudge: true,
		},
		"failed, dead owner": {
			change: func(r *tenant.Record) { r.FailedSeq = 2; lease(r) }, stale: true, waiting: sweep.ReasonFailed, end: true,
		},
		"awaits approval": {
			change: func(r *tenant.Record) { r.FailedSeq, r.Pending = 2, &tenant.Pending{} }, waiting: sweep.ReasonApproval,
		},
		"approved": {
			change: func(r *tenant.Record) {
				r.FailedSeq, r.DesiredSeq, r.UpdatedAt, r.Pending = 2, 3, now, &tenant.Pending{}
			},
		},
		"held":            {change: func(r *tenant.Record) { r.Hold = "x" }, waiting: sweep.ReasonHeld},
		"young and held":  {change: func(r *tenant.Record) { r.Hold, r.UpdatedAt = "x", now }, waiting: sweep.ReasonHeld},
		"settled, held":   {change: func(r *tenant.Record) { settled(r); r.Hold, r.Unpublished = "x", "op" }},
		"in backoff":      {change: func(r *tenant.Record) { r.NotBefore = now.Add(1) }, waiting: sweep.ReasonBackoff},
		"backoff is over": {change: func(r *tenant.Record) { r.NotBefore = young }},
		"backoff is over for long": {
			change: func(r *tenant.Record) { r.NotBefore = old }, waiting: sweep.ReasonWork, nudge: true,
		},
		"worked on":            {change: lease},
		"held by a dead owner": {change: lease, stale: true, waiting: sweep.ReasonWork, end: true, nudge: true},
		"dead owner for a moment": {
			change: func(r *tenant.Record) { lease(r); r.UpdatedAt = now }, stale: true,
		},
		"dead owner for long, events come": {
			change: func(r *tenant.Record) { lease(r); r.UpdatedAt, r.Lease.Until = now, old }, stale: true,
			waiting: sweep.ReasonWork, end: true, nudge: true,
		},
		"people hold a tenant of a dead owner": {
			change: func(r *tenant.Record) { lease(r); r.Hold = "x" }, stale: true, waiting: sweep.ReasonHeld,
		},
		"settled, dead owner":    {change: func(r *tenant.Record) { settled(r); lease(r) }, stale: true, end: true},
		"settled, live owner":    {change: func(r *tenant.Record) { settled(r); lease(r) }},
		"result not told":        {change: func(r *tenant.Record) { settled(r); r.Unpublished = "op" }, waiting: sweep.ReasonResult, nudge: true},
		"result is being told":   {change: func(r *tenant.Record) { settled(r); r.Unpublished, r.UpdatedAt = "op", young }},
		"never created":          {change: func(r *tenant.Record) { settled(r); r.Desired = tenant.Desired{} }, waiting: sweep.ReasonUncreated},
		"not created yet":        {change: func(r *tenant.Record) { settled(r); r.Desired = tenant.Desired{}; r.UpdatedAt = young }},
		"never created, unasked": {change: func(r *tenant.Record) { r.Desired = tenant.Desired{} }, waiting: sweep.ReasonWork, nudge: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			rec := tenant.Record{ID: "a", DesiredSeq: 2, AppliedSeq: 1, CreatedAt: old, UpdatedAt: old}
			rec.Desired.Existence = tenant.Field[tenant.Existence]{Value: tenant.Existence{Created: true}, Version: tenant.Version{N: 1}}
			tt.change(&rec)

			waiting, end, nudge := sweep.Judge(rec, tt.stale, now, age)
			require.Equal(t, tt.waiting, waiting)
			require.Equal(t, tt.end, end, "end the lease")
			require.Equal(t, tt.nudge, nudge, "send a message")
		})
	}
}
