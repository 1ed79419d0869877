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

	return rec.Applied != nil && standing(rec) == nil && !disturbed(rec)
}

// disturbed reports that the stack may be other than Applied says: an operation
// that changes things began after it and failed, was given up on, or never
// told how it ended. The row shows the progress of an operation from before it
// begins until its outcome is recorded.
func disturbed(rec tenant.Record) bool {
	if rec.FailedSeq > rec.AppliedSeq || unfinished(rec) {
		return true
	}

	return rec.Last != nil && rec.Last.Failure != nil && slices.ContainsFunc(rec.Last.Steps, changes)
}

// unfinished reports an operation whose worker died, or lost the lease.
func unfinished(rec tenant.Record) bool {
	return rec.Progress != nil && (rec.Last == nil || rec.Last.OperationID != rec.Progress.OperationID)
}

func changes(step string) bool {
	return Step(step) != StepRefresh && Step(step) != StepPreview
}

// prepared reports that the newest operation was past prepare-delete when it
// stopped. A second one would make again what the destroy already deleted.
func prepared(rec tenant.Record) bool {
	var step Step

	switch {
	case unfinished(rec):
		step = Step(rec.Progress.Step)
	case rec.Last != nil && rec.Last.Failure != nil && slices.Contains(rec.Last.Steps, string(StepDestroy)):
		step = Step(rec.Last.Failure.Step)
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
