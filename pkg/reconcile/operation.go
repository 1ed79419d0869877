package reconcile

import (
	"errors"
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
	if p.Blueprint.Program != "" {
		op.Topologies = []engine.Topology{topology(rec, p, op.ID)}
	}

	if old := p.Previous; old != nil {
		op.Previous = []engine.Topology{topology(rec, plan.Plan{
			Spec: old.Spec, Blueprint: old.Blueprint, Generation: old.Generation,
		}, op.ID)}
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
	if stack.Project == "" {
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

// topology fills in what the program needs to know.
func topology(rec tenant.Record, p plan.Plan, operationID string) engine.Topology {
	spec := p.Spec
	if spec.Phase == tenant.PhaseAbsent && rec.Applied != nil {
		// What is deleted is what stands, whatever the events say by now.
		spec = rec.Applied.Spec
	}

	top := engine.Topology{
		Generation: p.Generation,
		Tenant:     rec.ID,
		Tier:       spec.Tier,
		Region:     spec.Region,
		Phase:      spec.Phase,
		Program:    p.Blueprint.Program,
		Parameters: p.Blueprint.Parameters,
		RoleARN:    p.Blueprint.RoleARN,
		// A first up is unprotected, so that it can be rolled back. The
		// steps protect and prepare-delete override this.
		Protect: p.Blueprint.Protect && rec.Applied != nil && rec.Applied.Generation == p.Generation,
	}

	if p.Blueprint.FinalSnapshot && !p.Spec.AcceptDataLoss {
		top.FinalSnapshot = rec.ID.Slug(snapshotSlugLength) + "-final-" + snapshotSuffix(operationID)
	}

	return top
}

const (
	// snapshotSlugLength keeps the name of a snapshot within the 255
	// characters of RDS with ample room.
	snapshotSlugLength   = 63
	snapshotSuffixLength = 10
)

// snapshotSuffix tells the snapshots of two lives of one tenant apart: their
// names are unique in an account and region.
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
		Failure:     res.Failure,
		Report:      res.Report,
		Repairs:     res.Repairs,
		Orphans:     res.Orphans,
	}
}

// applied is the row's account of what the plan made.
func (t *tenure) applied(p plan.Plan) *tenant.Applied {
	return &tenant.Applied{
		Spec:       p.Spec,
		Blueprint:  p.Blueprint,
		Requests:   p.Requests,
		Build:      t.Config.Build,
		Generation: p.Generation,
		At:         t.now().UTC(),
	}
}

// nothingToDo records a change that asks for no step, as when a tenant is
// deleted that never came to be.
func (t *tenure) nothingToDo(rec tenant.Record, p plan.Plan) operationDone {
	return operationDone{settlement: registry.Settlement{
		Target:  rec.DesiredSeq,
		Applied: t.applied(p),
		Outputs: rec.Outputs,
		Stack:   rec.Stack,
		Clean:   t.clean,
		Outcome: tenant.Outcome{
			OperationID: ulid.Make().String(),
			Fence:       t.lease.Token().Fence,
			Sequence:    rec.DesiredSeq,
			StartedAt:   t.now().UTC(),
			Resources:   lastResources(rec),
		},
	}}
}

func lastResources(rec tenant.Record) int {
	if rec.Last == nil {
		return 0
	}

	return max(0, rec.Last.Resources)
}

// refused records that the catalog or the plan cannot serve what is desired. A
// first provision that left something behind is rolled back all the same.
func (t *tenure) refused(rec tenant.Record, cause error) (operationDone, error) {
	var invalid *tenant.InvalidError
	if !errors.As(cause, &invalid) {
		return operationDone{}, cause
	}

	done := t.nothingToDo(rec, plan.Plan{})
	done.result.Failure = &tenant.Failure{Kind: tenant.KindInvalid, Message: invalid.Error(), Hint: invalid.Advice()}
	done.settlement.Applied = nil
	done.settlement.GaveUp = true
	done.settlement.Attempts = rec.Attempts + 1
	done.settlement.Outcome.Failure = done.result.Failure

	return t.compensate(rec, plan.Plan{}, done)
}
