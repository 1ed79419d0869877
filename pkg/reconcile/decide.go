package reconcile

import (
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Action is what the worker does with the message.
type Action int

// The actions.
const (
	// ActionDelete: nothing is left to do that this message must stand for.
	ActionDelete Action = iota
	// ActionDelay: give it back, visible again after Outcome.Delay.
	ActionDelay
	// ActionWatch: keep it without a slot until the lease it stands for is
	// let go or dead.
	ActionWatch
	// ActionDrop: it is somebody else's by now; touch nothing.
	ActionDrop
)

// Reason says why, as a label of metrics.
type Reason string

// The reasons.
const (
	ReasonSettled    Reason = "settled"
	ReasonPartial    Reason = "partial"
	ReasonFailed     Reason = "failed"
	ReasonHandedOver Reason = "handed_over"
	ReasonUnchanged  Reason = "unchanged"
	ReasonHeld       Reason = "held"
	ReasonBackoff    Reason = "backoff"
	ReasonStuck      Reason = "stuck"
	ReasonBreaker    Reason = "breaker"
	ReasonPaused     Reason = "paused"
	ReasonDrain      Reason = "drain"
	ReasonBusy       Reason = "busy"
	ReasonError      Reason = "error"
	ReasonLost       Reason = "lost"
)

// Outcome is what became of a message.
type Outcome struct {
	Action Action
	Reason Reason
	Delay  time.Duration
}

// verdict is what a row says before anybody tries to take its lease.
type verdict int

const (
	verdictWork verdict = iota
	verdictWatch
	verdictSettled
	verdictHandOver
	verdictHeld
	verdictBackoff
)

// judge decides on a row that already contains the event of the message: only
// then may the message of a busy tenant be deleted, since its holder must see
// the change before it can let go.
//
// The lease's own message is spared even where the row is settled. Its holder
// may have died between the record and the release, and later messages would
// be handed over to a lease that nobody holds.
func judge(rec tenant.Record, messageID string, stale bool, now time.Time) verdict {
	held := rec.Lease.Owner != ""

	switch {
	case held && rec.Lease.Message == messageID && stale:
		return verdictWork
	case held && rec.Lease.Message == messageID:
		return verdictWatch
	case !rec.NeedsWork():
		return verdictSettled
	case held:
		return verdictHandOver
	case rec.Hold != "":
		return verdictHeld
	case now.Before(rec.NotBefore):
		return verdictBackoff
	default:
		return verdictWork
	}
}
