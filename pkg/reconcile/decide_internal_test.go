package reconcile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestJudge(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	work := tenant.Record{DesiredSeq: 2, AppliedSeq: 1}
	settled := tenant.Record{DesiredSeq: 2, AppliedSeq: 2}
	failed := tenant.Record{DesiredSeq: 2, AppliedSeq: 1, FailedSeq: 2}

	with := func(rec tenant.Record, change func(*tenant.Record)) tenant.Record {
		change(&rec)

		return rec
	}
	leased := func(message string) func(*tenant.Record) {
		return func(r *tenant.Record) { r.Lease = tenant.Lease{Owner: "other", Message: message} }
	}

	tests := map[string]struct {
		rec   tenant.Record
		stale bool
		want  verdict
	}{
		"free and due":                     {rec: work, want: verdictWork},
		"settled":                          {rec: settled, want: verdictSettled},
		"given up on":                      {rec: failed, want: verdictSettled},
		"busy with another message":        {rec: with(work, leased("m2")), want: verdictHandOver},
		"busy with another message, dead":  {rec: with(work, leased("m2")), stale: true, want: verdictHandOver},
		"busy with mine":                   {rec: with(work, leased("m1")), want: verdictWatch},
		"busy with mine, dead":             {rec: with(work, leased("m1")), stale: true, want: verdictWork},
		"settled, but mine is the lease's": {rec: with(settled, leased("m1")), want: verdictWatch},
		"settled, and the lease is dead":   {rec: with(settled, leased("m1")), stale: true, want: verdictWork},
		"settled under another message":    {rec: with(settled, leased("m2")), want: verdictSettled},
		"held":                             {rec: with(work, func(r *tenant.Record) { r.Hold = "audit" }), want: verdictHeld},
		"backing off":                      {rec: with(work, func(r *tenant.Record) { r.NotBefore = now.Add(1) }), want: verdictBackoff},
		"backed off":                       {rec: with(work, func(r *tenant.Record) { r.NotBefore = now }), want: verdictWork},
		"nobody spoke of it: nothing to do, nothing to own": {rec: tenant.Record{}, want: verdictSettled},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, tt.want, judge(tt.rec, "m1", tt.stale, now))
		})
	}
}

func TestBackoff(t *testing.T) {
	t.Parallel()

	b := Backoff{Min: 10 * time.Second, Max: 15 * time.Minute}

	tests := map[string]struct {
		attempt int
		random  float64
		want    time.Duration
	}{
		"the first":                        {attempt: 1, want: 10 * time.Second},
		"zero counts as the first":         {attempt: 0, want: 10 * time.Second},
		"doubles":                          {attempt: 4, want: 80 * time.Second},
		"ends at the limit":                {attempt: 8, want: 15 * time.Minute},
		"does not overflow":                {attempt: 1 << 20, want: 15 * time.Minute},
		"chance shortens it by up to 20 %": {attempt: 1, random: 0.5, want: 9 * time.Second},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, tt.want, b.After(tt.attempt, tt.random))
		})
	}
}
