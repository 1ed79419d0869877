package plan

import (
	"fmt"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Resolver makes blueprints; the catalog is one.
type Resolver interface {
	Resolve(spec tenant.Spec) (tenant.Blueprint, error)
}

// InvalidError says that what is desired cannot follow what is.
type InvalidError = tenant.InvalidError

// Plan is what leads from applied to desired.
type Plan struct {
	// Steps are to be done in this order. Where there are none, only the row
	// has to note that desired is applied.
	Steps []Step
	// Spec is the tenant once the plan is done. Of an absent tenant it keeps
	// tier, region and parameters, which a deletion must still know.
	Spec tenant.Spec
	// Blueprint is what to deploy or, for a deletion, what stands.
	Blueprint tenant.Blueprint
	// Generation is of the topology that the steps work on.
	Generation int
	// Previous is what a tier change replaces, if that has to be prepared: its
	// protection ends and its final snapshot is named before the up in which
	// the engine makes the new topology and then deletes the old one.
	Previous *tenant.Applied
	// Requests are served once the plan is done.
	Requests map[tenant.RequestKind]tenant.Version
}

// For makes the plan of a tenant. It fails if the catalog refuses what is
// desired, with the catalog's error, or with an *InvalidError if the tenant
// as it is cannot become so.
func For(rec tenant.Record, catalog Resolver) (Plan, error) {
	spec := rec.Desired.Spec()
	if spec.Phase == tenant.PhaseAbsent {
		return absent(rec, spec)
	}

	return present(rec, spec, catalog)
}

func absent(rec tenant.Record, spec tenant.Spec) (Plan, error) {
	p := Plan{Spec: remembered(rec, spec), Requests: requested(rec)}
	if rec.Applied != nil {
		p.Blueprint = rec.Applied.Blueprint
		p.Generation = rec.Applied.Generation
	}

	if gone(rec) {
		return p, nil
	}

	// What is left of a topology that never stood counts as one, or the next
	// life would use its physical names while they are still in deletion.
	p.Generation = max(p.Generation, firstGeneration)

	standing := standing(rec)
	if standing == nil {
		p.Blueprint = tenant.Blueprint{}
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

	if !prepared(rec) {
		p.Steps = append(p.Steps, StepPrepareDelete)
	}

	p.Steps = append(p.Steps, StepDestroy, StepRemove)

	return p, nil
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

const firstGeneration = 1

func present(rec tenant.Record, spec tenant.Spec, catalog Resolver) (Plan, error) {
	blueprint, err := catalog.Resolve(spec)
	if err != nil {
		return Plan{}, fmt.Errorf("resolving the tier: %w", err)
	}

	standing := standing(rec)
	if standing != nil && standing.Spec.Region != spec.Region {
		return Plan{}, &InvalidError{
			Field:   "region",
			Message: fmt.Sprintf("the tenant stands in %q and cannot move to %q", standing.Spec.Region, spec.Region),
			Hint:    "delete the tenant, wait until it is gone, and create it again; or send a created event with its present region",
		}
	}

	p := Plan{Spec: spec, Blueprint: blueprint, Generation: firstGeneration, Requests: requested(rec)}
	if rec.Applied != nil {
		p.Generation = max(rec.Applied.Generation, firstGeneration)
	}

	if fresh := standing == nil || standing.Spec.Tier != spec.Tier; fresh {
		// A tenant that comes back goes on counting, because AWS may still be
		// deleting what had the names of its earlier life.
		if rec.Applied != nil {
			p.Generation = rec.Applied.Generation + 1
		}

		if standing == nil {
			p.Steps = firstSteps(rec, blueprint)

			return p, nil
		}

		return replacing(rec, p, standing)
	}

	p.Steps = nextSteps(rec, differs(*standing, spec, blueprint) || disturbed(rec))

	return p, nil
}

// replacing plans a tier change: a new topology in place of the one that stands.
func replacing(rec tenant.Record, p Plan, standing *tenant.Applied) (Plan, error) {
	if standing.Blueprint.DataLoss {
		return Plan{}, &InvalidError{
			Field: "tier",
			Message: fmt.Sprintf("tier %q keeps data and takes no final snapshot, so a change to %q would lose it",
				standing.Spec.Tier, p.Spec.Tier),
			Hint: "set finalSnapshot for the present tier, or delete the tenant with acceptDataLoss: true and create it again",
		}
	}

	if unserved(rec, tenant.RequestReprovision) || unserved(rec, tenant.RequestRefresh) {
		p.Steps = append(p.Steps, StepRefresh)
	}

	if standing.Blueprint.Protect || standing.Blueprint.FinalSnapshot {
		p.Previous = standing
		p.Steps = append(p.Steps, StepPrepareDelete)
	}

	p.Steps = append(p.Steps, firstSteps(rec, p.Blueprint)...)

	return p, nil
}

// firstSteps make a topology that does not stand yet. There is nothing of its
// own to refresh.
func firstSteps(rec tenant.Record, blueprint tenant.Blueprint) []Step {
	var steps []Step

	if unserved(rec, tenant.RequestPreview) {
		steps = append(steps, StepPreview)
	}

	steps = append(steps, StepUp)
	if blueprint.Protect {
		steps = append(steps, StepProtect)
	}

	return steps
}

func nextSteps(rec tenant.Record, different bool) []Step {
	var steps []Step

	reprovision := unserved(rec, tenant.RequestReprovision)

	if reprovision || unserved(rec, tenant.RequestRefresh) {
		steps = append(steps, StepRefresh)
	}

	if unserved(rec, tenant.RequestPreview) {
		steps = append(steps, StepPreview)
	}

	if reprovision || different {
		steps = append(steps, StepUp)
	}

	return steps
}
