package enqueuecli

import (
	"fmt"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// changeStatus is a tier change that is under way: `enqueue help json`.
type changeStatus struct {
	ID    string             `json:"id"`
	Stage tenant.ChangeStage `json:"stage"`
	// Tier and Generation are of the topology beside the one that serves.
	Tier       string     `json:"tier"`
	Generation int        `json:"generation"`
	Deadline   *time.Time `json:"deadline,omitempty"`
	Until      *time.Time `json:"until,omitempty"`
	// Kept is why no clock removes the topology beside.
	Kept string `json:"kept,omitempty"`
	// Next is what people can do.
	Next string `json:"next"`
}

// pendingStatus is an operation that waits for approval: `enqueue help json`.
type pendingStatus struct {
	Operation string              `json:"operation"`
	Sequence  int64               `json:"sequence"`
	At        time.Time           `json:"at"`
	Report    []tenant.Difference `json:"report,omitempty"`
	Next      string              `json:"next"`
}

// awaitsApproval reports whether the guard stopped the newest wish, and nothing
// happened since.
func awaitsApproval(rec tenant.Record) bool {
	return failed(rec) && rec.Pending != nil && rec.Pending.Sequence == rec.FailedSeq
}

// awaitsCutover reports whether a tier change waits for its data hook alone.
func awaitsCutover(rec tenant.Record, now time.Time) bool {
	return rec.NeedsWork() && asksHook(rec) && rec.Change.Asked && rec.Attempts == 0 && rec.NotBefore.After(now)
}

func asksHook(rec tenant.Record) bool {
	return rec.Change != nil && rec.Change.Stage == tenant.StageCutover
}

// standsBy reports whether what a tier change replaced still stands.
func standsBy(rec tenant.Record) bool {
	return rec.Change != nil && (rec.Change.Stage == tenant.StageBaking || rec.Change.Stage == tenant.StageRetiring)
}

func changeOf(rec tenant.Record) *changeStatus {
	c := rec.Change
	if c == nil {
		return nil
	}

	s := &changeStatus{
		ID: c.ID, Stage: c.Stage, Tier: c.Other.Spec.Tier, Generation: c.Other.Generation, Next: nextOf(rec),
	}

	// Either time may be left from a stage before.
	if c.Stage == tenant.StageCutover {
		s.Deadline = instant(c.Deadline)
	}

	if c.Stage == tenant.StageBaking {
		s.Until = instant(c.Until)
	}

	if standsBy(rec) && failed(rec) {
		s.Kept = "the last operation failed"
	}

	return s
}

// nextOf is what people can do about a tier change.
func nextOf(rec tenant.Record) string {
	c := rec.Change

	switch {
	case awaitsApproval(rec):
		return "`enqueue approve " + rec.ID.String() + "` lets it go on"
	case c.Stage == tenant.StageCutover && rec.NeedsWork():
		return fmt.Sprintf("its data hook confirms or refuses; so can `enqueue confirm %s --token TOKEN`", rec.ID)
	case c.Stage == tenant.StageBuilding && rec.NeedsWork():
		return "nothing: it goes on by itself"
	case c.Stage == tenant.StageBaking:
		return fmt.Sprintf("`enqueue retire %s` removes tier %s now, `enqueue tier %s %s` goes back to it",
			rec.ID, c.Other.Spec.Tier, rec.ID, c.Other.Spec.Tier)
	case failed(rec) && c.Stage == tenant.StageRetiring:
		return "`enqueue retire " + rec.ID.String() + "` tries again"
	case failed(rec):
		return fmt.Sprintf("`enqueue tier %s %s` tries again, `enqueue tier %s %s` removes it",
			rec.ID, c.Other.Spec.Tier, rec.ID, servingTier(rec))
	}

	return "nothing: it is being removed"
}

func servingTier(rec tenant.Record) string {
	if rec.Applied == nil {
		return ""
	}

	return rec.Applied.Spec.Tier
}

func pendingOf(rec tenant.Record) *pendingStatus {
	if !awaitsApproval(rec) {
		return nil
	}

	p := rec.Pending

	return &pendingStatus{
		Operation: p.Operation, Sequence: p.Sequence, At: p.At.UTC(), Report: p.Report,
		Next: fmt.Sprintf("`enqueue approve %s --operation %s`, or an event that takes the change back", rec.ID, p.Operation),
	}
}

// changeLines tell people of a tier change.
func changeLines(line lineWriter, s status, now time.Time) {
	c := s.Change
	if c == nil {
		return
	}

	name := fmt.Sprintf("tier %s (t%d)", c.Tier, c.Generation)

	switch {
	case c.Stage == tenant.StageBuilding:
		line("change", "%s is being made beside what serves", name)
	case c.Stage == tenant.StageCutover && c.Deadline != nil:
		line("change", "%s stands and waits for its data%s", name, endsAt("until", *c.Deadline, now))
	case c.Stage == tenant.StageCutover:
		line("change", "%s stands and waits for its data", name)
	case c.Stage == tenant.StageBaking && c.Kept == "" && c.Until != nil:
		line("change", "%s is replaced and stands by%s", name, endsAt("until", *c.Until, now))
	case c.Stage == tenant.StageBaking:
		line("change", "%s is replaced and stands by", name)
	default:
		line("change", "%s is replaced and being removed", name)
	}

	if c.Kept != "" {
		line("kept", "%s: no clock removes it", c.Kept)
	}

	line("next", "%s", c.Next)
}

// pendingLines tell people what waits for their approval.
func pendingLines(line lineWriter, p *pendingStatus) {
	if p == nil {
		return
	}

	line("approval", "operation %s waits since %s", p.Operation, p.At.Format(time.RFC3339))

	for _, d := range p.Report {
		line("exceeds", "%s", difference(d))
	}

	line("next", "%s", p.Next)
}

// endsAt is a time and how far off it is.
func endsAt(word string, t, now time.Time) string {
	text := ", " + word + " " + t.Format(time.RFC3339)

	if left := t.Sub(now); left > 0 {
		return text + " (in " + elapsed(left) + ")"
	}

	return text
}
