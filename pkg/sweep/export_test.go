package sweep

import (
	"context"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Sweep is one sweep.
func (s *Sweeper) Sweep(ctx context.Context) Report { return s.sweep(ctx) }

// Judge is judge.
func Judge(rec tenant.Record, stale bool, now time.Time, age time.Duration) (waiting Reason, end, nudge bool) {
	f := judge(rec, stale, now, age)

	return f.waiting, f.end, f.nudge
}
