package tenant

import "encoding/json"

// Field is a value and the version of the event that set it.
type Field[T any] struct {
	Value   T       `json:"value"`
	Version Version `json:"version"`
}

// set takes value if it is newer than what is there.
func (f *Field[T]) set(value T, version Version) bool {
	if !version.After(f.Version) {
		return false
	}

	f.Value, f.Version = value, version

	return true
}

// Existence is the newest word on whether the tenant shall be.
type Existence struct {
	Created        bool   `json:"created"`
	AcceptDataLoss bool   `json:"acceptDataLoss,omitempty"`
	Reason         string `json:"reason,omitempty"`
}

// TierChoice is the newest word on the tenant's tier.
type TierChoice struct {
	Name string `json:"name"`
	// AcceptDataLoss lets a change drop the data of the tier that is left.
	AcceptDataLoss bool `json:"acceptDataLoss,omitempty"`
}

// Confirmation answers the data hook of a tier change.
type Confirmation struct {
	Refused bool   `json:"refused,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Approval lets an operation go on that the tier's guard stopped.
type Approval struct {
	Operation string `json:"operation"`
	Reason    string `json:"reason,omitempty"`
}

// RequestKind names a one-off wish that changes no fact.
type RequestKind string

// The kinds of requests.
const (
	RequestReprovision RequestKind = "reprovision"
	RequestRefresh     RequestKind = "refresh"
	RequestPreview     RequestKind = "preview"
	RequestRetire      RequestKind = "retire"
	RequestDue         RequestKind = "due"
)

// Request is the newest request of its kind.
type Request struct {
	EventID string `json:"eventId"`
	Reason  string `json:"reason,omitempty"`
}

// Desired is what the tenant shall be: a last-writer-wins map in which every
// fact remembers the version of the event that stated it. The zero value is a
// tenant that nobody has spoken of.
type Desired struct { //nolint:recvcheck // readers take the value, Apply changes its own copy
	Existence  Field[Existence]                  `json:"existence"`
	Suspended  Field[bool]                       `json:"suspended"`
	Tier       Field[TierChoice]                 `json:"tier"`
	Region     Field[string]                     `json:"region"`
	Parameters map[string]Field[json.RawMessage] `json:"parameters,omitempty"`
	Requests   map[RequestKind]Field[Request]    `json:"requests,omitempty"`
	// Confirmations are by the SHA-256 of their tokens. Only the newest few are
	// kept, since whoever knows no token may send any.
	Confirmations map[string]Field[Confirmation] `json:"confirmations,omitempty"`
	Approval      Field[Approval]                `json:"approval"`
	// Floor is the version of the newest creation. Parameters and suspensions
	// older than it belong to an earlier life of the same id.
	Floor Version `json:"floor"`
}

// Newest is the version of the newest fact (requests are no facts).
func (d Desired) Newest() Version {
	newest := d.Floor
	for _, v := range []Version{d.Existence.Version, d.Suspended.Version, d.Tier.Version, d.Region.Version} {
		if v.After(newest) {
			newest = v
		}
	}

	for _, p := range d.Parameters {
		if p.Version.After(newest) {
			newest = p.Version
		}
	}

	return newest
}

// Phase is the state of life that a tenant is in or shall be in.
type Phase string

// The phases.
const (
	PhaseAbsent    Phase = "absent"
	PhaseActive    Phase = "active"
	PhaseSuspended Phase = "suspended"
)

// Spec is the tenant that Desired asks for, without the history of how it came
// about.
type Spec struct {
	Phase      Phase      `json:"phase"`
	Tier       string     `json:"tier,omitempty"`
	Region     string     `json:"region,omitempty"`
	Parameters Parameters `json:"parameters,omitempty"`
	// AcceptDataLoss is set where a deletion, or the change to this tier, may
	// drop data without a snapshot.
	AcceptDataLoss bool `json:"acceptDataLoss,omitempty"`
}

// Spec resolves the facts. A tenant that was never created, or was deleted, is
// absent whatever else is known of it.
func (d Desired) Spec() Spec {
	if !d.Existence.Value.Created {
		return Spec{Phase: PhaseAbsent, AcceptDataLoss: d.Existence.Value.AcceptDataLoss}
	}

	spec := Spec{
		Phase: PhaseActive, Tier: d.Tier.Value.Name, Region: d.Region.Value, AcceptDataLoss: d.Tier.Value.AcceptDataLoss,
	}
	if d.Suspended.Value && d.Suspended.Version.After(d.Floor) {
		spec.Phase = PhaseSuspended
	}

	for name, p := range d.Parameters {
		if isNull(p.Value) {
			continue
		}

		if spec.Parameters == nil {
			spec.Parameters = make(Parameters, len(d.Parameters))
		}

		spec.Parameters[name] = p.Value
	}

	return spec
}

func isNull(v json.RawMessage) bool { return len(v) == 0 || string(v) == "null" }
