package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// topologyError is the failure of a topology's program.
type topologyError struct {
	generation int
	err        error
}

func (e *topologyError) Error() string { return e.err.Error() }
func (e *topologyError) Unwrap() error { return e.err }

// prepareDelete makes the up that ends protection and names final snapshots. What
// once stood can be deleted whatever became of its program: if this build has none,
// or it fails on what it once made, the topology is declared from the state.
func (j *job) prepareDelete(ctx context.Context, c call) *tenant.Failure {
	if !j.state.Exists() {
		// There is nothing to prepare, and an up would make it.
		return nil
	}

	if j.gate == nil {
		return j.up(ctx, c)
	}

	defer func() { j.replayed, j.declared = nil, nil }()

	for i, t := range topologiesFor(plan.StepPrepareDelete, j.order.Operation) {
		if _, known := j.programs[t.Program]; known {
			continue
		}

		unknown := &unknownProgramError{program: t.Program}
		if i >= len(prepared(j.order.Operation)) {
			// It stays, and the up after this could not declare it.
			return programFailure(unknown)
		}

		j.replay(t, unknown)
	}

	failure := j.prepareOnce(ctx, &c)
	for failure != nil && ctx.Err() == nil && j.replayFaulty() {
		failure = j.prepareOnce(ctx, &c)
	}

	return failure
}

// prepared are the topologies that a deletion is prepared of.
func prepared(op Operation) []Topology {
	if len(op.Leaving) > 0 {
		return op.Leaving
	}

	return op.Topologies
}

// replay has a topology declared from the state, and says why.
func (j *job) replay(t Topology, why error) {
	if j.replayed == nil {
		j.replayed = map[int]bool{}
	}

	j.replayed[t.Generation] = true
	j.complain("declaring "+t.Name("*")+" from the state for its deletion", why)
}

// replayFaulty does so with the topology whose program made the last up fail, if it
// would do so again.
func (j *job) replayFaulty() bool {
	faulty, ok := errors.AsType[*topologyError](j.fault)
	if !ok || j.replayed[faulty.generation] || !lasting(faulty.err) {
		return false
	}

	topologies := prepared(j.order.Operation)

	i := slices.IndexFunc(topologies, func(t Topology) bool { return t.Generation == faulty.generation })
	if i < 0 {
		return false
	}

	j.replay(topologies[i], faulty.err)

	return true
}

// lasting reports whether nothing but another program makes an error go away, as
// far as that can be told.
func lasting(err error) bool {
	kind := programFailure(err).Kind

	return kind == tenant.KindInvalid || kind == tenant.KindUnknown
}

func (j *job) prepareOnce(ctx context.Context, c *call) *tenant.Failure {
	if len(j.replayed) == 0 {
		return j.up(ctx, *c)
	}

	// What is declared is what the state has, so that must be right before.
	if c.refresh {
		if failure := j.refresh(ctx); failure != nil {
			return failure
		}

		c.refresh = false
	}

	var replayed []Topology

	all := topologiesFor(plan.StepPrepareDelete, j.order.Operation)
	for _, t := range all {
		if j.replayed[t.Generation] {
			replayed = append(replayed, t)
		}
	}

	alone := len(replayed) == len(all)

	declared, err := declarations(j.gate.State().Resources, replayed, alone)
	if err != nil {
		return j.unprotect(ctx, replayed, alone, err)
	}

	j.declared = declared

	return j.up(ctx, *c)
}

// unprotect ends protection in the state alone, where the state cannot be declared.
// AWS may refuse the deletion still. What was to be kept would not be, so that this
// takes that nothing is.
func (j *job) unprotect(ctx context.Context, topologies []Topology, alone bool, why error) *tenant.Failure {
	if !alone || slices.ContainsFunc(topologies, func(t Topology) bool { return t.FinalSnapshot != "" }) {
		return &tenant.Failure{
			Kind: tenant.KindInvalid, Message: oneLine(why.Error()),
			Hint: "run a worker that has the program, or delete the tenant with acceptDataLoss: true",
		}
	}

	if err := j.gate.Rewrite(ctx, checkpoint.Unprotect); err != nil {
		return failureOf(err)
	}

	j.complain("ending protection in the state alone, so that AWS may still refuse the deletion", why)

	return nil
}
