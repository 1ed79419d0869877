package tenant

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// Apply folds an event into desired and reports whether that changed anything.
// It is commutative, associative and idempotent: any order and any repetition
// of the same events gives the same desired. The argument is not modified, and
// the result may share its maps.
func Apply(desired Desired, e Event) (Desired, bool) { //nolint:cyclop // one case for each type of event
	d := desired // its maps are copied before they change, which a duplicate's never do

	var changed bool

	switch e.Type {
	case EventCreated:
		changed = d.Existence.set(Existence{Created: true}, e.Version) || changed
		changed = d.Tier.set(TierChoice{Name: e.Tier}, e.Version) || changed
		changed = d.Region.set(e.Region, e.Version) || changed
		changed = d.raiseFloor(e.Version) || changed
		changed = d.setParameters(e.Parameters, e.Version) || changed
	case EventDeleted:
		changed = d.Existence.set(Existence{AcceptDataLoss: e.AcceptDataLoss, Reason: e.Reason}, e.Version)
	case EventUpdated:
		changed = d.setParameters(e.Parameters, e.Version)
	case EventTierChanged:
		changed = d.Tier.set(TierChoice{Name: e.Tier, AcceptDataLoss: e.AcceptDataLoss}, e.Version)
		changed = d.setParameters(e.Parameters, e.Version) || changed
	case EventSuspended:
		changed = d.Suspended.set(true, e.Version)
	case EventResumed:
		changed = d.Suspended.set(false, e.Version)
	case EventReprovision, EventRefresh, EventPreview, EventRetire, EventDue:
		changed = d.setRequest(requestOf(e.Type), e)
	case EventCutoverConfirmed:
		changed = d.confirm(e)
	case EventApproved:
		changed = d.Approval.set(Approval{Operation: e.Operation, Reason: e.Reason}, e.Version)
	case EventNudged:
	}

	return d, changed
}

// requestOf is the kind of request that an event makes.
func requestOf(t EventType) RequestKind {
	switch t {
	case EventReprovision:
		return RequestReprovision
	case EventRefresh:
		return RequestRefresh
	case EventPreview:
		return RequestPreview
	case EventRetire:
		return RequestRetire
	default:
		return RequestDue
	}
}

// with is a copy of a map in which a key has a value.
func with[K comparable, V any](m map[K]V, key K, value V) map[K]V {
	m = maps.Clone(m)
	if m == nil {
		m = map[K]V{}
	}

	m[key] = value

	return m
}

// raiseFloor starts a new life: parameters stated before it are forgotten.
func (d *Desired) raiseFloor(version Version) bool {
	if !version.After(d.Floor) {
		return false
	}

	d.Floor = version
	d.Parameters = maps.Clone(d.Parameters)
	maps.DeleteFunc(d.Parameters, func(_ string, p Field[json.RawMessage]) bool {
		return d.Floor.After(p.Version)
	})

	// Desired with nothing in a map has no map, however it came about.
	if len(d.Parameters) == 0 {
		d.Parameters = nil
	}

	return true
}

func (d *Desired) setParameters(parameters Parameters, version Version) bool {
	if d.Floor.After(version) {
		return false
	}

	changed := false

	for name, value := range parameters {
		field := d.Parameters[name]
		if !field.set(value, version) {
			continue
		}

		field.Value = bytes.Clone(value)

		if changed {
			d.Parameters[name] = field
		} else {
			d.Parameters = with(d.Parameters, name, field)
		}

		changed = true
	}

	return changed
}

func (d *Desired) setRequest(kind RequestKind, e Event) bool {
	field := d.Requests[kind]
	if !field.set(Request{EventID: e.ID, Reason: e.Reason}, e.Version) {
		return false
	}

	d.Requests = with(d.Requests, kind, field)

	return true
}

// maxConfirmations bounds what those can fill a row with who know no token.
const maxConfirmations = 8

// confirm keeps the newest confirmations. Which those are does not depend on the
// order in which they came, because a set of the newest ones loses nothing that
// a larger set would keep among its newest.
func (d *Desired) confirm(e Event) bool {
	token := TokenDigest(e.Token)
	field, known := d.Confirmations[token]

	if !field.set(Confirmation{Refused: e.Refused, Reason: e.Reason}, e.Version) {
		return false
	}

	if !known && len(d.Confirmations) == maxConfirmations {
		oldest := d.oldestConfirmation()
		if d.Confirmations[oldest].Version.After(e.Version) {
			return false
		}

		d.Confirmations = maps.Clone(d.Confirmations)
		delete(d.Confirmations, oldest)
	}

	d.Confirmations = with(d.Confirmations, token, field)

	return true
}

func (d *Desired) oldestConfirmation() string {
	return slices.MinFunc(slices.Collect(maps.Keys(d.Confirmations)), func(a, b string) int {
		return d.Confirmations[a].Version.Compare(d.Confirmations[b].Version)
	})
}
