package cloudsim

import (
	"slices"
	"time"
)

// Event is what happened to a resource.
type Event string

// The events. A resource that takes no time to make is available as soon as it
// is created, and one that takes none to delete is deleted without deleting
// first: Resource.State tells. A change that takes time ends with available.
const (
	EventCreated   Event = "created"
	EventAvailable Event = "available"
	EventUpdated   Event = "updated"
	EventDeleting  Event = "deleting"
	EventDeleted   Event = "deleted"
	// EventFailed is a mutation that was refused: nothing happened.
	EventFailed Event = "failed"
)

// Transition is one step in the life of a resource.
//
// Resources with data in the emulator are here too: they are created once the
// plugin says that the emulator has made them, and deleted just before it takes
// them away there. Data itself, and what somebody makes in the emulator without
// the plugin, is in no journal.
type Transition struct {
	Sequence int64 `json:"sequence"`
	// Time is when it happened by the simulator's clock. It never goes back
	// from one transition to the next.
	Time  time.Time `json:"time"`
	Event Event     `json:"event"`
	// Resource is what it was afterwards, with all its properties. What is gone
	// has no state, and what was never made neither state nor id.
	Resource Resource `json:"resource"`
	// Operation and Code say what was refused, and why, if Event is EventFailed.
	Operation Operation `json:"operation,omitempty"`
	Code      string    `json:"code,omitempty"`
	// Fault is the id of the scripted fault that struck, if one did.
	Fault string `json:"fault,omitempty"`
	// Behind marks changes that a test made behind the engine's back.
	Behind bool `json:"behind,omitempty"`
}

// Journal is the history of resources.
type Journal struct {
	// Transitions are in the order in which they happened.
	Transitions []Transition `json:"transitions"`
	// Complete is false once the journal had to forget its oldest transitions,
	// whosever they were. See Options.MaxTransitions.
	Complete bool `json:"complete"`
	// Now is when the journal was read, by the same clock.
	Now time.Time `json:"now"`
}

// Clock returns a clock that tells this machine's time and never goes back.
func Clock() func() time.Time {
	start := time.Now()

	// What time.Since measures does not follow changes of the machine's time.
	return func() time.Time { return start.Add(time.Since(start)) }
}

// history returns the transitions of a tenant's resources, of all for "".
func (c *Cloud) history(tenant string) Journal {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.settle()

	all := c.journal.after(0)
	if tenant != "" {
		all = slices.DeleteFunc(all, func(t Transition) bool { return t.Resource.Tenant() != tenant })
	}

	return Journal{Transitions: all, Complete: c.journal.forgotten() == 0, Now: c.at}
}

// note adds a transition that happens now.
func (c *Cloud) note(event Event, r *Resource, faultID string, behind bool) {
	c.journal.add(func(sequence int64) Transition {
		was := r.clone()
		if event == EventDeleted {
			was.State = ""
		}

		return Transition{Sequence: sequence, Time: c.at, Event: event, Resource: was, Fault: faultID, Behind: behind}
	})
}

// noteFailure adds a mutation that was refused.
func (c *Cloud) noteFailure(op Operation, r *Resource, err *Error, faultID string) {
	c.journal.add(func(sequence int64) Transition {
		failed := r.clone()
		if op == OperationCreate {
			failed.ID, failed.State = "", ""
		}

		return Transition{
			Sequence: sequence, Time: c.at, Event: EventFailed, Resource: failed, Operation: op, Code: err.Code, Fault: faultID,
		}
	})
}
