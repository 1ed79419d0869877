package plan

import (
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	day = 24 * time.Hour
	// minRetention is how long the empty checkpoint of a tenant that is gone stays
	// at least. Without one, the first write of an operation that died long ago
	// would succeed if it arrived now.
	minRetention = day
)

// Due is when a tenant that is settled has work by the clock, zero if it has
// none. What the fleet's Schedule adds is no part of it.
func Due(rec tenant.Record) time.Time {
	if c := rec.Change; c != nil && c.Stage == tenant.StageBaking {
		return c.Until
	}

	return purgeDue(rec)
}

// purgeDue is when nothing of a tenant that is gone is to be kept any more but
// its row.
func purgeDue(rec tenant.Record) time.Time {
	if rec.Applied == nil || standing(rec) != nil || rec.Stack.RemovedAt.IsZero() {
		return time.Time{}
	}

	return rec.Stack.RemovedAt.Add(max(minRetention, time.Duration(rec.Applied.Blueprint.RetainDays)*day))
}

// purges reports whether that time has come.
func purges(rec tenant.Record, now time.Time) bool {
	due := purgeDue(rec)

	return !due.IsZero() && !now.Before(due)
}
