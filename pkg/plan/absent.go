package plan

import (
	"fmt"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// absent plans the end of a tenant.
func absent(rec tenant.Record, spec tenant.Spec, now time.Time) (Plan, error) {
	p := Plan{Spec: remembered(rec, spec), Requests: requested(rec)}
	if rec.Applied != nil {
		p.Blueprint = rec.Applied.Blueprint
		p.Generation = rec.Applied.Generation
	}

	if gone(rec) {
		if purges(rec, now) {
			p.Steps = []Step{StepPurge}
		}

		return p, nil
	}

	// What is left of a topology that never stood counts as one, or the next
	// life would use its physical names while they are still in deletion.
	p.Generation = max(p.Generation, firstGeneration)

	standing := standing(rec)
	if standing == nil {
		// What is kept of an earlier life is kept as long as that asked for.
		p.Blueprint = tenant.Blueprint{RetainDays: p.Blueprint.RetainDays}
		p.Steps = []Step{StepDestroy, StepRemove}

		return p, nil
	}

	if standing.Blueprint.DataLoss && !spec.AcceptDataLoss {
		return Plan{}, &InvalidError{
			Field:   "acceptDataLoss",
			Message: fmt.Sprintf("tier %q keeps data and takes no final snapshot, so the deletion would lose it", standing.Spec.Tier),
			Hint:    "send a deleted event with acceptDataLoss: true, or set finalSnapshot for the tier and reprovision the tenant first",
		}
	}

	p.Change, p.Beside = Noted(rec), besideOfDeletion(rec)

	// Preparing takes the program, and destroying does not.
	guarded := guards(standing.Blueprint) || standing.Blueprint.DataLoss || p.Beside != nil || Disturbed(rec)
	if guarded && !prepared(rec) {
		p.Steps = append(p.Steps, StepPrepareDelete)
	}

	p.Steps = append(p.Steps, StepDestroy, StepRemove)

	return p, nil
}

// besideOfDeletion is the topology that must be prepared for the deletion too.
// The others need no more than the destroy, and what is half removed would be
// made again.
func besideOfDeletion(rec tenant.Record) *tenant.Applied {
	if !guarded(rec) {
		return nil
	}

	return &rec.Change.Other
}

// remembered adds to the spec of an absent tenant what it is or was to be.
func remembered(rec tenant.Record, spec tenant.Spec) tenant.Spec {
	switch {
	case rec.Applied != nil:
		spec.Tier, spec.Region, spec.Parameters = rec.Applied.Spec.Tier, rec.Applied.Spec.Region, rec.Applied.Spec.Parameters
	default:
		spec.Tier, spec.Region = rec.Desired.Tier.Value.Name, rec.Desired.Region.Value
	}

	return spec
}
