package tenant

import (
	"encoding/json"
	"time"
)

// EventType says what an event tells of a tenant.
type EventType string

// The event types. The names on the wire are in package event.
const (
	EventCreated     EventType = "created"
	EventUpdated     EventType = "updated"
	EventTierChanged EventType = "tier-changed"
	EventSuspended   EventType = "suspended"
	EventResumed     EventType = "resumed"
	EventDeleted     EventType = "deleted"
	EventReprovision EventType = "reprovision-requested"
	EventRefresh     EventType = "refresh-requested"
	EventPreview     EventType = "preview-requested"
	// EventRetire ends the bake time of a tier change, or the waiting for
	// people after one that went wrong: what was replaced is removed.
	EventRetire EventType = "retire-requested"
	// EventCutoverConfirmed answers the data hook of a tier change.
	EventCutoverConfirmed EventType = "cutover-confirmed"
	// EventApproved lets an operation go on that the tier's guard stopped.
	EventApproved EventType = "approved"
	// EventDue makes a worker see what has become due by the clock. The sweep
	// sends it.
	EventDue EventType = "due"
	// EventNudged states no fact. It makes a worker look at the tenant's row:
	// after a hold was lifted, or when the sweep found work that nobody does.
	EventNudged EventType = "nudged"
)

// Parameters are the tenant's own settings by name, each a JSON value. They
// override the parameters of the tier and are never secret.
type Parameters map[string]json.RawMessage

// Event is one validated message from upstream or from an engineer.
type Event struct {
	ID     string
	Source string
	Type   EventType
	Tenant ID
	Time   time.Time
	// Version orders this event's facts among the others of the tenant.
	Version Version
	Tier    string
	Region  string
	// Parameters: a JSON null removes the name.
	Parameters     Parameters
	Reason         string
	AcceptDataLoss bool
	// Token is what a confirmation brings back. Only its TokenDigest is kept.
	Token string
	// Refused is set by a confirmation that the data cannot follow.
	Refused bool
	// Operation is the id of the operation that is approved.
	Operation string
	// Extensions are CloudEvents extension attributes, passed on to results.
	Extensions map[string]string
}
