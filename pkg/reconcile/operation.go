package reconcile

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/shard"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// operationDone is an operation that ended, and what to record of it.
type operationDone struct {
	op         engine.Operation
	result     engine.Result
	settlement registry.Settlement
	// stuck means that attempts go on although they would otherwise be given
	// up on, so that nothing is left behind.
	stuck bool
}

func (d operationDone) failedWith(kind tenant.Kind) bool {
	return d.result.Failure != nil && d.result.Failure.Kind == kind
}

func (d operationDone) lost() bool        { return d.failedWith(tenant.KindLeaseLost) }
func (d operationDone) interrupted() bool { return d.failedWith(tenant.KindInterrupted) }

// operation turns a plan into the order for the engine.
func (t *tenure) operation(rec tenant.Record, p plan.Plan) engine.Operation {
	op := t.newOperation(rec, p.Steps)
	op.Topologies, op.Leaving = topologies(rec, p, op.ID)
	op.Stack.Generation = max(op.Stack.Generation, p.Generation)

	op.Retain = p.Blueprint.RetainDays > 0

	if slices.Contains(p.Steps, plan.StepUp) {
		op.Stack.RemovedAt, op.Stack.PurgedAt = time.Time{}, time.Time{}
	}

	return op
}

// tierOf is the tier that an operation is counted under.
func tierOf(rec tenant.Record, p plan.Plan) string {
	if p.Spec.Tier == "" && rec.Applied != nil {
		return rec.Applied.Spec.Tier
	}

	return p.Spec.Tier
}

func (t *tenure) newOperation(rec tenant.Record, steps []plan.Step) engine.Operation {
	stack := rec.Stack
	if !stack.Begun() {
		stack = tenant.Stack{
			Project: t.Config.Project,
			Name:    engine.StackName(rec.ID),
			Shard:   shard.Of(rec.ID, t.Config.Buckets),
		}
	}

	return engine.Operation{
		ID:        ulid.Make().String(),
		Tenant:    rec.ID,
		Fence:     t.lease.Token().Fence,
		Steps:     steps,
		Stack:     stack,
		Resources: lastResources(rec),
		Deadline:  t.now().Add(t.Config.OperationTimeout),
	}
}

// topologies are what the ups of a plan declare, the one that is to serve last,
// and what they no longer do.
func topologies(rec tenant.Record, p plan.Plan, operationID string) (live, leaving []engine.Topology) {
	// What is deleted is what stands, whatever the events say by now.
	phase := p.Spec.Phase
	if phase == tenant.PhaseAbsent && rec.Applied != nil {
		phase = rec.Applied.Spec.Phase
	}

	deployed := func(a tenant.Applied, stood, keepsData bool) engine.Topology {
		top := engine.Topology{
			Generation: a.Generation, Tenant: rec.ID, Tier: a.Spec.Tier, Region: a.Spec.Region, Phase: phase,
			Program: a.Blueprint.Program, Parameters: a.Blueprint.Parameters, RoleARN: a.Blueprint.RoleARN,
			// A first up is unprotected, so that it can be rolled back. The step
			// prepare-delete overrides this.
			Protect: a.Blueprint.Protect && stood,
		}
		if !stood {
			top.Addresses = a.Blueprint.Addresses
		}

		if a.Blueprint.FinalSnapshot && keepsData {
			top.FinalSnapshot = snapshotName(rec.ID, a.Generation, operationID)
		}

		return top
	}

	keeps := !p.Spec.AcceptDataLoss

	if p.Beside != nil {
		live = append(live, deployed(*p.Beside, true, keeps))
	}

	if p.Blueprint.Program != "" {
		target := tenant.Applied{Spec: p.Spec, Blueprint: p.Blueprint, Generation: p.Generation}
		stood := rec.Applied != nil && rec.Applied.Generation == p.Generation || p.Change != nil && p.Change.Stood
		live = append(live, deployed(target, stood, keeps))
	}

	if p.Leaving != nil {
		// What never served has no data that is not elsewhere.
		served := p.Change.Stage == tenant.StageRetiring
		leaving = append(leaving, deployed(*p.Leaving, true, keeps && served))
	}

	return live, leaving
}

// snapshotName is unique in an account and region, whatever the lives and the
// topologies of a tenant.
func snapshotName(id tenant.ID, generation int, operationID string) string {
	return fmt.Sprintf("%s-t%d-final-%s", id.Slug(snapshotSlugLength), generation, snapshotSuffix(operationID))
}

const (
	// snapshotSlugLength keeps the name of a snapshot within the 255
	// characters of RDS with ample room.
	snapshotSlugLength   = 63
	snapshotSuffixLength = 10
)

func snapshotSuffix(operationID string) string {
	const lower = 'a' - 'A'

	suffix := []byte(operationID[len(operationID)-snapshotSuffixLength:])
	for i, c := range suffix {
		if c >= 'A' && c <= 'Z' {
			suffix[i] = c + lower
		}
	}

	return string(suffix)
}

func outcomeOf(op engine.Operation, sequence int64, started time.Time, took time.Duration, res engine.Result) tenant.Outcome {
	steps := make([]string, 0, len(op.Steps))
	for _, s := range op.Steps {
		steps = append(steps, string(s))
	}

	return tenant.Outcome{
		OperationID: op.ID,
		Steps:       steps,
		Fence:       op.Fence,
		Sequence:    sequence,
		StartedAt:   started.UTC(),
		Duration:    took,
		Changes:     res.Changes,
		Resources:   res.Resources,
		Types:       res.Types,
		Failure:     res.Failure,
		Report:      res.Report,
		Repairs:     res.Repairs,
		Orphans:     res.Orphans,
	}
}

// applied is the row's account of what the plan made.
func (t *tenure) applied(rec tenant.Record, p plan.Plan) *tenant.Applied {
	generation := p.Generation
	if p.Spec.Phase == tenant.PhaseAbsent {
		// Nor are the names of what never stood used again.
		generation = max(generation, rec.Stack.Generation)
	}

	return &tenant.Applied{
		Spec:       p.Spec,
		Blueprint:  p.Blueprint,
		Requests:   p.Requests,
		Build:      t.Config.Build,
		Generation: generation,
		At:         t.now().UTC(),
	}
}

// nothingDone is an operation without steps, as when a tenant is deleted that
// never came to be.
func (t *tenure) nothingDone(rec tenant.Record, op engine.Operation) operationDone {
	return operationDone{op: op, settlement: registry.Settlement{
		Target:   rec.DesiredSeq,
		Outputs:  rec.Outputs,
		Stack:    rec.Stack,
		Change:   rec.Change,
		Attempts: rec.Attempts,
		Clean:    t.clean,
		Outcome: tenant.Outcome{
			OperationID: op.ID,
			Fence:       t.lease.Token().Fence,
			Sequence:    rec.DesiredSeq,
			StartedAt:   t.now().UTC(),
			Resources:   lastResources(rec),
			Types:       lastTypes(rec),
		},
	}}
}

func lastResources(rec tenant.Record) int {
	if rec.Last == nil {
		return 0
	}

	return max(0, rec.Last.Resources)
}

// lastTypes are the types of the resources as they were last known.
func lastTypes(rec tenant.Record) map[string]int {
	if rec.Last == nil {
		return nil
	}

	return rec.Last.Types
}

// refused records that the catalog or the plan cannot serve what is desired. A
// first provision that left something behind is rolled back all the same.
func (t *tenure) refused(rec tenant.Record, cause error) (operationDone, error) {
	if failure, ok := errors.AsType[*tenant.Failure](cause); ok {
		return t.waiting(rec, failure), nil
	}

	var invalid *tenant.InvalidError
	if !errors.As(cause, &invalid) {
		return operationDone{}, cause
	}

	done := t.nothingDone(rec, t.newOperation(rec, nil))
	done.result.Failure = &tenant.Failure{Kind: tenant.KindInvalid, Message: invalid.Error(), Hint: invalid.Advice()}
	done.settlement.GaveUp = true
	// What the newest operation tells of a tier change goes with its outcome.
	done.settlement.Change = plan.Noted(rec)
	done.settlement.Attempts = rec.Attempts + 1
	done.settlement.Outcome.Failure = done.result.Failure

	return t.compensate(rec, plan.Plan{}, done)
}
