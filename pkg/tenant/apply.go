package tenant

import (
	"bytes"
	"encoding/json"
	"maps"
)

// Apply folds an event into desired and reports whether that changed anything.
// It is commutative, associative and idempotent: any order and any repetition
// of the same events gives the same desired. The argument is not modified.
func Apply(desired Desired, e Event) (Desired, bool) {
	d := desired
	d.Parameters = maps.Clone(desired.Parameters)
	d.Requests = maps.Clone(desired.Requests)

	var changed bool

	switch e.Type {
	case EventCreated:
		changed = d.Existence.set(Existence{Created: true}, e.Version) || changed
		changed = d.Tier.set(e.Tier, e.Version) || changed
		changed = d.Region.set(e.Region, e.Version) || changed
		changed = d.raiseFloor(e.Version) || changed
		changed = d.setParameters(e.Parameters, e.Version) || changed
	case EventDeleted:
		changed = d.Existence.set(Existence{AcceptDataLoss: e.AcceptDataLoss, Reason: e.Reason}, e.Version)
	case EventUpdated:
		changed = d.setParameters(e.Parameters, e.Version)
	case EventTierChanged:
		changed = d.Tier.set(e.Tier, e.Version)
		changed = d.setParameters(e.Parameters, e.Version) || changed
	case EventSuspended:
		changed = d.Suspended.set(true, e.Version)
	case EventResumed:
		changed = d.Suspended.set(false, e.Version)
	case EventReprovision, EventRefresh, EventPreview:
		changed = d.setRequest(requestOf(e.Type), e)
	case EventNudged:
	}

	return d, changed
}

// requestOf is the kind of request that an event makes.
func requestOf(t EventType) RequestKind {
	return map[EventType]RequestKind{
		EventReprovision: RequestReprovision, EventRefresh: RequestRefresh, EventPreview: RequestPreview,
	}[t]
}

// raiseFloor starts a new life: parameters stated before it are forgotten.
func (d *Desired) raiseFloor(version Version) bool {
	if !version.After(d.Floor) {
		return false
	}

	d.Floor = version
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
		if !field.set(bytes.Clone(value), version) {
			continue
		}

		if d.Parameters == nil {
			d.Parameters = map[string]Field[json.RawMessage]{}
		}

		d.Parameters[name] = field
		changed = true
	}

	return changed
}

func (d *Desired) setRequest(kind RequestKind, e Event) bool {
	field := d.Requests[kind]
	if !field.set(Request{EventID: e.ID, Reason: e.Reason}, e.Version) {
		return false
	}

	if d.Requests == nil {
		d.Requests = map[RequestKind]Field[Request]{}
	}

	d.Requests[kind] = field

	return true
}
