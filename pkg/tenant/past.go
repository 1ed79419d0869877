package tenant

import (
	"slices"
	"time"
	"unicode/utf8"
)

const (
	// MaxHistory is how many operations a row remembers.
	MaxHistory = 10
	// maxPastMessage bounds what is kept of a failure's message, in bytes.
	maxPastMessage = 200
)

// Past is an operation that ended, in brief.
type Past struct {
	OperationID string        `json:"operationId"`
	Steps       []string      `json:"steps,omitempty"`
	Sequence    int64         `json:"sequence"`
	StartedAt   time.Time     `json:"startedAt"`
	Duration    time.Duration `json:"durationNanos"`
	// Kind is of the failure, "" after a success.
	Kind Kind `json:"kind,omitempty"`
	// Message says what failed. It is cut to 200 bytes.
	Message string `json:"message,omitempty"`
}

// PastOf is what is remembered of an operation.
func PastOf(o Outcome) Past {
	p := Past{
		OperationID: o.OperationID, Steps: o.Steps, Sequence: o.Sequence, StartedAt: o.StartedAt, Duration: o.Duration,
	}

	if o.Failure != nil {
		p.Kind, p.Message = o.Failure.Kind, brief(o.Failure.Message)
	}

	return p
}

// Remember puts an operation before the earlier ones, and forgets those that
// are too many. An operation that is known already replaces what is known of
// it. What asked for no step and went well was none, nor is waiting for a pool.
// The argument is not modified.
func Remember(history []Past, o Outcome) []Past {
	if len(o.Steps) == 0 && (o.Failure == nil || o.Failure.Kind == KindWaiting) {
		return history
	}

	out := make([]Past, 0, MaxHistory+1)
	out = append(out, PastOf(o))

	for _, p := range history {
		if p.OperationID != o.OperationID {
			out = append(out, p)
		}
	}

	return slices.Clip(out[:min(len(out), MaxHistory)])
}

// brief cuts a message without splitting a character.
func brief(s string) string {
	const mark = "…"

	if len(s) <= maxPastMessage {
		return s
	}

	end := maxPastMessage - len(mark)
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}

	return s[:end] + mark
}
