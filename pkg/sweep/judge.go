package sweep

import (
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Reason is why a tenant waits, as a label of metrics.
type Reason string

// The reasons.
const (
	// ReasonWork: nobody works on an accepted change, and nobody has for long.
	ReasonWork Reason = "work"
	// ReasonResult: the result of an operation was not published.
	ReasonResult Reason = "result"
	// ReasonHeld: people hold the tenant, and there is work.
	ReasonHeld Reason = "held"
	// ReasonBackoff: there is work, and the last attempt failed.
	ReasonBackoff Reason = "backoff"
	// ReasonDue: the clock made work.
	ReasonDue Reason = "due"
	// ReasonUncreated: events came for a tenant that was never created.
	ReasonUncreated Reason = "uncreated"
	// ReasonFailed: the last change was given up on, and people or the next event
	// must put it right.
	ReasonFailed Reason = "failed"
	// ReasonApproval: the last change exceeds its tier's guard, and people must
	// approve it.
	ReasonApproval Reason = "approval"
)

// Reasons lists every reason, for metrics that start at zero.
func Reasons() []Reason {
	return []Reason{ReasonWork, ReasonResult, ReasonHeld, ReasonBackoff, ReasonDue, ReasonUncreated, ReasonFailed, ReasonApproval}
}

// finding is what a look at a row led to.
type finding struct {
	// waiting is why the tenant waits, "" if it does not.
	waiting Reason
	// end: its lease is dead and must end. nudge: somebody must look at it.
	end, nudge bool
	// event is what the message says.
	event tenant.EventType
}

// judge decides on a row. stale says that its lease stood still for so long that
// its holder must be dead.
func judge(rec tenant.Record, stale bool, now time.Time, age time.Duration) finding {
	held := rec.Lease.Owner != ""

	switch {
	case !rec.Exists() || held && !stale:
		return finding{}
	case rec.NeedsWork() && rec.Hold != "":
		return finding{waiting: ReasonHeld}
	case rec.Hold != "":
		return finding{}
	case rec.NeedsWork() && now.Before(rec.NotBefore):
		return finding{waiting: ReasonBackoff}
	case byClock(rec, now) && !held:
		return finding{waiting: ReasonDue, nudge: true, event: tenant.EventDue}
	case !forgotten(rec, now, age):
		return finding{waiting: forPeople(rec)}
	default:
		return left(rec, held)
	}
}

// left decides on a row to which nothing happened for long.
func left(rec tenant.Record, held bool) finding {
	switch {
	case rec.NeedsWork():
		return finding{waiting: ReasonWork, end: held, nudge: true, event: tenant.EventNudged}
	case rec.Unpublished != "":
		return finding{waiting: ReasonResult, end: held, nudge: true, event: tenant.EventNudged}
	case rec.Desired.Existence.Version == (tenant.Version{}):
		return finding{waiting: ReasonUncreated, end: held}
	default:
		// Later events would be handed over to the dead holder.
		return finding{waiting: forPeople(rec), end: held}
	}
}

// forPeople is why nothing goes on with a tenant by itself, "" if something does
// or nothing needs to.
func forPeople(rec tenant.Record) Reason {
	switch {
	case rec.NeedsWork() || rec.FailedSeq <= rec.AppliedSeq:
		return ""
	case rec.Pending != nil:
		return ReasonApproval
	default:
		return ReasonFailed
	}
}

// byClock reports that a tenant that is settled has work by the clock. What failed
// waits for people.
func byClock(rec tenant.Record, now time.Time) bool {
	return !rec.NeedsWork() && rec.FailedSeq <= rec.AppliedSeq && !rec.DueAt.IsZero() && !now.Before(rec.DueAt)
}

// forgotten reports that nothing happened to a row for long. Accepted events
// count as something, but not where they are handed over to a dead holder: then
// the end of its lease counts, a hint of its clock that suffices for this.
func forgotten(rec tenant.Record, now time.Time, age time.Duration) bool {
	touched := rec.UpdatedAt
	if rec.NotBefore.After(touched) {
		touched = rec.NotBefore
	}

	return now.Sub(touched) >= age || rec.Lease.Owner != "" && now.Sub(rec.Lease.Until) >= age
}
