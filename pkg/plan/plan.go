package plan

import (
	"fmt"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Resolver makes blueprints; the catalog is one.
type Resolver interface {
	Resolve(spec tenant.Spec) (tenant.Blueprint, error)
}

// InvalidError says that what is desired cannot follow what is.
type InvalidError = tenant.InvalidError

// Plan is what leads from applied to desired, or a part of the way.
type Plan struct {
	// Steps are to be done in this order. Where there are none, only the row
	// has to note what the rest of the plan says.
	Steps []Step
	// Spec is the tenant once the plan is done. Of an absent tenant it keeps
	// tier, region and parameters, which a deletion must still know.
	Spec tenant.Spec
	// Blueprint is what to deploy or, for a deletion, what stands.
	Blueprint tenant.Blueprint
	// Generation is of the topology that the steps work on.
	Generation int
	// Beside is a topology that every up declares as well, so that it stays.
	Beside *tenant.Applied
	// Leaving is a topology that the plan removes. Its protection ends and its
	// final snapshot is named before the up that no longer declares it.
	Leaving *tenant.Applied
	// Change is what the row says of a tier change from before the first step
	// on, and Then once the plan is done. A change that begins has no id.
	Change, Then *tenant.Change
	// Requests are served once the plan is done.
	Requests map[tenant.RequestKind]tenant.Version
	// End is what the plan leads to.
	End End
	// Wait is until when nothing is to be done, if End is EndWait.
	Wait time.Time
	// Failure is why the plan leads back, if End is EndBack.
	Failure *tenant.Failure
}

// End is what a plan leads to once its steps are done.
type End int

const (
	// EndApplied means that the tenant is what it shall be.
	EndApplied End = iota
	// EndMore means that a part of the way is done, and the next plan goes on at once.
	EndMore
	// EndAsk means that the data hook is to be asked, and the tenant waits for its answer.
	EndAsk
	// EndWait means that the tenant still waits for the data hook.
	EndWait
	// EndBack means that the tenant is what it was, and what is desired is given up.
	EndBack
)

// For makes the plan of a tenant at a time. It fails if the catalog refuses what
// is desired, with the catalog's error, or with an *InvalidError if the tenant
// as it is cannot become so.
func For(rec tenant.Record, catalog Resolver, now time.Time) (Plan, error) {
	spec := rec.Desired.Spec()
	if spec.Phase == tenant.PhaseAbsent {
		return absent(rec, spec, now)
	}

	return present(rec, spec, catalog, now)
}

const firstGeneration = 1

// nextGeneration is one whose names were never used.
func nextGeneration(rec tenant.Record) int {
	highest := rec.Stack.Generation
	if rec.Applied != nil {
		highest = max(highest, rec.Applied.Generation)
	}

	return highest + 1
}

func present(rec tenant.Record, spec tenant.Spec, catalog Resolver, now time.Time) (Plan, error) {
	blueprint, err := catalog.Resolve(spec)
	if err != nil {
		return Plan{}, fmt.Errorf("resolving the tier: %w", err)
	}

	p := Plan{Spec: spec, Blueprint: blueprint, Requests: requested(rec)}

	standing := standing(rec)

	switch {
	case standing == nil:
		return first(rec, p), nil
	case standing.Spec.Region != spec.Region:
		return Plan{}, &InvalidError{
			Field:   "region",
			Message: fmt.Sprintf("the tenant stands in %q and cannot move to %q", standing.Spec.Region, spec.Region),
			Hint:    "delete the tenant, wait until it is gone, and create it again; or send a created event with its present region",
		}
	case standing.Spec.Tier != spec.Tier:
		return change(rec, p, standing, now)
	default:
		return stay(rec, p, standing, now), nil
	}
}

// first plans the topology of a tenant of which none stands. There is nothing of
// its own to refresh.
func first(rec tenant.Record, p Plan) Plan {
	// What an earlier attempt of this life left keeps its names. A tenant that
	// comes back goes on counting, because AWS may still be deleting what had
	// the names of its earlier life.
	p.Generation = max(firstGeneration, rec.Stack.Generation)
	if rec.Applied != nil && rec.Applied.Generation >= p.Generation {
		p.Generation = rec.Applied.Generation + 1
	}

	if unserved(rec, tenant.RequestPreview) {
		p.Steps = append(p.Steps, StepPreview)
	}

	p.Steps = append(p.Steps, StepUp)

	return unprotected(p)
}

// unprotected leaves the protection of a topology to the plan after this one, once
// the row says that it serves: what does not serve yet must be easy to remove, and
// what is protected must be known to whoever removes it.
func unprotected(p Plan) Plan {
	if p.Blueprint.Protect {
		p.Blueprint.Protect, p.End = false, EndMore
	}

	return p
}

// stay plans a tenant that is in its tier already, whatever stands beside it.
func stay(rec tenant.Record, p Plan, standing *tenant.Applied, now time.Time) Plan {
	p.Generation = max(standing.Generation, firstGeneration)
	different := differs(*standing, p.Spec, p.Blueprint) || Disturbed(rec)

	switch beside := rec.Change; {
	case beside == nil:
		p.Steps = nextSteps(rec, different)

		return p
	case beside.Stage == tenant.StageRetiring:
		return retire(rec, p, EndApplied)
	case beside.Stage == tenant.StageBaking:
		return bake(rec, p, different, now)
	case beside.Stood:
		// A change back to what still stands was called off: it goes on baking.
		p = standBy(rec, p, now)
		p.Steps = nextSteps(rec, different)

		return p
	default:
		return callOff(rec, p)
	}
}

// callOff removes the new topology of a tier change that is no longer wanted.
func callOff(rec tenant.Record, p Plan) Plan {
	p.Steps = nextSteps(rec, true)

	return leave(rec, p)
}

// nextSteps are those of a topology that stands.
func nextSteps(rec tenant.Record, different bool) []Step {
	steps := looks(rec)

	if different || unserved(rec, tenant.RequestReprovision) {
		steps = append(steps, StepUp)
	}

	return steps
}

// looks are the steps that serve requests and change nothing.
func looks(rec tenant.Record) []Step {
	var steps []Step

	if unserved(rec, tenant.RequestReprovision) || unserved(rec, tenant.RequestRefresh) {
		steps = append(steps, StepRefresh)
	}

	if unserved(rec, tenant.RequestPreview) {
		steps = append(steps, StepPreview)
	}

	return steps
}
