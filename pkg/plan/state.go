package plan

import (
	"slices"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// standing is what is applied, if that is a tenant that exists.
func standing(rec tenant.Record) *tenant.Applied {
	if rec.Applied == nil || rec.Applied.Spec.Phase == tenant.PhaseAbsent {
		return nil
	}

	return rec.Applied
}

// gone reports that the stack holds nothing: no operation ever began, or the
// last one that did proved it empty. Whether the stack has a checkpoint is not
// the question: a worker may die after it made resources and before it could
// record that.
func gone(rec tenant.Record) bool {
	if rec.Stack == (tenant.Stack{}) {
		return true
	}

	return rec.Applied != nil && standing(rec) == nil && !Disturbed(rec)
}

// Disturbed reports that the stack may be other than Applied says: an operation
// that changes things began after it and failed, was given up on, or never
// told how it ended. The row shows the progress of an operation from before it
// begins until its outcome is recorded.
func Disturbed(rec tenant.Record) bool {
	if stopped(rec) {
		return rec.Pending.Disturbed
	}

	return rec.FailedSeq > rec.AppliedSeq || interrupted(rec)
}

// interrupted reports that the newest operation that changes things failed or
// never told how it ended.
func interrupted(rec tenant.Record) bool {
	if unfinished(rec) {
		return true
	}

	return rec.Last != nil && rec.Last.Failure != nil && Step(rec.Last.Failure.Step) != StepCutover &&
		slices.ContainsFunc(rec.Last.Steps, changes)
}

// stopped reports that the newest operation waits for approval. It changed nothing.
func stopped(rec tenant.Record) bool {
	return rec.Pending != nil && !unfinished(rec) && rec.Last != nil && rec.Last.OperationID == rec.Pending.Operation
}

// unfinished reports an operation whose worker died, or lost the lease.
func unfinished(rec tenant.Record) bool {
	return rec.Progress != nil && (rec.Last == nil || rec.Last.OperationID != rec.Progress.OperationID)
}

func changes(step string) bool {
	return !slices.Contains([]Step{StepRefresh, StepPreview, StepCutover, StepPurge}, Step(step))
}

// guarded reports whether the topology beside must be prepared before it can be
// removed. A retirement that is past prepare-delete has begun to remove it.
func guarded(rec tenant.Record) bool {
	c := rec.Change
	if c == nil || !c.Guarded {
		return false
	}

	return c.Stage != tenant.StageRetiring || newestStep(rec) != StepUp || !preparedFirst(rec)
}

// newestStep is where the newest operation stopped, "" if it did not.
func newestStep(rec tenant.Record) Step {
	switch {
	case unfinished(rec):
		return Step(rec.Progress.Step)
	case rec.Last != nil && rec.Last.Failure != nil:
		return Step(rec.Last.Failure.Step)
	default:
		return ""
	}
}

// preparedFirst reports that the newest operation began to remove something. Of
// one that told nothing only its step is known, and its change from the row.
func preparedFirst(rec tenant.Record) bool {
	return unfinished(rec) || slices.Contains(rec.Last.Steps, string(StepPrepareDelete))
}

// prepared reports that the newest operation was past prepare-delete when it
// stopped, or had no need of it. A second one would make again what the destroy
// already deleted.
func prepared(rec tenant.Record) bool {
	var step Step

	switch {
	case unfinished(rec):
		step = Step(rec.Progress.Step)
	case rec.Last != nil && rec.Last.Failure != nil && slices.Contains(rec.Last.Steps, string(StepDestroy)):
		step = Step(rec.Last.Failure.Step)
		if !slices.Contains(rec.Last.Steps, string(StepPrepareDelete)) {
			return true
		}
	}

	return step == StepDestroy || step == StepRemove
}

// requested are the newest requests of each kind.
func requested(rec tenant.Record) map[tenant.RequestKind]tenant.Version {
	if len(rec.Desired.Requests) == 0 {
		return nil
	}

	versions := make(map[tenant.RequestKind]tenant.Version, len(rec.Desired.Requests))
	for kind, request := range rec.Desired.Requests {
		versions[kind] = request.Version
	}

	return versions
}

func unserved(rec tenant.Record, kind tenant.RequestKind) bool {
	var served tenant.Version
	if rec.Applied != nil {
		served = rec.Applied.Requests[kind]
	}

	return rec.Desired.Requests[kind].Version.After(served)
}
