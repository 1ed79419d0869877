// Package phase says where the time of an operation goes, from the receipt of a
// message to the recorded outcome.
package phase

import (
	"log/slog"
	"time"
)

// Phase is a part of an operation's time. Phases do not overlap.
type Phase string

const (
	// Receive is the wait of a message in hand: for a slot, and for the lease of
	// another worker. How long it was in the queue is not in it.
	Receive Phase = "receive"
	// Accept decodes the event and writes it to the tenant's row.
	Accept Phase = "accept"
	// Lease keeps the message and takes the lease.
	Lease Phase = "lease"
	// ChildStart starts the operation's process, or finds one that was started
	// ahead, until that has its order.
	ChildStart Phase = "child_start"
	// StateOpen locks the stack, reads its state and shuts out older writers.
	StateOpen Phase = "state_open"
	// CLIStart starts the Pulumi CLI, each time until it first asks for anything.
	CLIStart Phase = "cli_start"
	// Engine is the rest of the CLI's time: the engine, the program, the secrets
	// provider, and the start and the checks of the provider plugins.
	Engine Phase = "engine"
	// Provider is when resources are worked on, one at least.
	Provider Phase = "provider"
	// State is when reads and writes of the open state wait for S3.
	State Phase = "state"
	// StateClose unlocks the stack.
	StateClose Phase = "state_close"
	// Commit writes to the tenant's row that the operation begins, how far it is
	// and how it ended.
	Commit Phase = "commit"
	// Publish sends the result event and notes that in the row.
	Publish Phase = "publish"
	// Other is the rest: the plan, the end of the operation's process, and all of
	// its time after its start where it was killed.
	Other Phase = "other"
)

// All are the phases in the order in which an operation first gets to them.
func All() []Phase {
	return []Phase{
		Receive, Accept, Lease, ChildStart, StateOpen, CLIStart, Engine, Provider, State, StateClose, Commit, Publish, Other,
	}
}

// Times are how long the phases took. One that is missing took no time.
type Times map[Phase]time.Duration

// Total is the sum of all phases.
func (t Times) Total() time.Duration {
	var total time.Duration
	for _, d := range t {
		total += d
	}

	return total
}

// Split says of what the time of one phase consisted: parts, and the rest remains.
// The total stays the same, so of parts that are longer than the whole some are
// cut.
func (t Times) Split(whole Phase, parts Times) {
	for _, p := range All() {
		if d := min(parts[p], t[whole]); d > 0 {
			t[whole] -= d
			t[p] += d
		}
	}
}

// LogValue is a group with the milliseconds of every phase.
func (t Times) LogValue() slog.Value {
	all := All()
	group := make([]slog.Attr, 0, len(all))

	for _, p := range all {
		group = append(group, slog.Float64(string(p), milliseconds(t[p])))
	}

	return slog.GroupValue(group...)
}

func milliseconds(d time.Duration) float64 {
	const thousand = 1000

	return float64(d.Microseconds()) / thousand
}
