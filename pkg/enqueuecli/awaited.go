package enqueuecli

import (
	"fmt"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// awaited is a message on its way to being done.
type awaited struct {
	msg       message
	messageID string
	// foreseen is what the row told before the message was sent.
	foreseen verdict

	// rec is the newest row, if one was seen.
	rec  tenant.Record
	seen bool
	// target is the sequence at which the event is part of desired. It may be
	// above the one that the event itself got, if others came in between.
	target   int64
	accepted bool
	replaced bool
	verdict  verdict
	took     time.Duration
}

func newAwaited(msg message, messageID string, foreseen verdict) *awaited {
	return &awaited{msg: msg, messageID: messageID, foreseen: foreseen}
}

// result is what is known so far.
func (w *awaited) result() verdict {
	if w.verdict != "" {
		return w.verdict
	}

	return w.foreseen
}

// observe takes in a row and reports whether the wait is over.
func (w *awaited) observe(rec tenant.Record) bool {
	w.rec, w.seen = rec, true

	if !w.accepted && !w.accept(rec) {
		return w.verdict != ""
	}

	switch {
	case rec.Desired.Existence.Version.IsZero():
		// Without a creation there is no work, and no end to wait for.
		w.verdict = verdictKept
	case rec.AppliedSeq >= w.target:
		w.verdict = verdictSettled
	case rec.FailedSeq >= w.target:
		w.verdict = verdictFailed
	}

	return w.verdict != ""
}

// accept reports whether desired contains the event.
func (w *awaited) accept(rec tenant.Record) bool {
	switch {
	case w.foreseen == verdictDuplicate:
	case w.foreseen == verdictStale:
		w.verdict = verdictStale

		return false
	case w.msg.event.Type == tenant.EventNudged:
	default:
		if _, changes := tenant.Apply(rec.Desired, w.msg.event); changes {
			return false
		}

		// Newer events may have replaced all that it said, before a row
		// with it was ever seen here.
		w.replaced = !contains(rec.Desired, w.msg.event)
	}

	w.accepted = true
	w.target = rec.DesiredSeq

	return true
}

// stage is how far the work on a message is, for people.
type stage struct {
	// text and detail change only when something happened.
	text string
	// countdown follows text and changes all the time.
	countdown string
	// detail comes last, where a narrow terminal may cut it off.
	detail  string
	done    int
	planned int
}

func (w *awaited) stage(now time.Time) stage {
	rec := w.rec

	switch {
	case !w.accepted:
		return stage{text: "waiting for a worker to accept it"}
	case rec.Lease.Owner != "" && rec.Progress != nil:
		return stage{text: rec.Progress.Step, done: rec.Progress.Done, planned: rec.Progress.Planned}
	case rec.Lease.Owner != "":
		return stage{text: fmt.Sprintf("sequence %d: starting", rec.DesiredSeq)}
	case rec.Hold != "":
		return stage{text: "on hold (" + rec.Hold + ")"}
	case awaitsCutover(rec, now):
		left := elapsed(rec.Change.Deadline.Sub(now))

		return stage{text: "waiting for the data hook of the tier change", countdown: ", " + left + " left"}
	case rec.NotBefore.After(now):
		return backoffStage(rec, now)
	}

	return stage{text: fmt.Sprintf("sequence %d: waiting for a worker", rec.DesiredSeq)}
}

func backoffStage(rec tenant.Record, now time.Time) stage {
	s := stage{
		text:      fmt.Sprintf("attempt %d failed, next try", rec.Attempts),
		countdown: " in " + elapsed(rec.NotBefore.Sub(now)),
	}

	if rec.Last != nil && rec.Last.Failure != nil {
		s.detail = " (" + rec.Last.Failure.Error() + ")"
	}

	return s
}
