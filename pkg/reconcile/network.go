package reconcile

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Addresses give topologies the ranges of their networks.
type Addresses interface {
	// Held are the blocks of a tenant's topologies, by generation. One that was
	// tried and may not be held is not valid.
	Held(ctx context.Context, id tenant.ID) (map[int]netip.Prefix, error)
	// Take gives a topology a block, the same one whenever it is asked. A
	// *tenant.Failure says why there is none.
	Take(ctx context.Context, id tenant.ID, generation int, pool tenant.AddressPool) (netip.Prefix, error)
	Release(ctx context.Context, id tenant.ID, generation int) error
}

// networks are the ranges of a tenant's topologies, by generation, as an operation
// found or took them.
type networks map[int]netip.Prefix

// perform has the engine run an operation, whose topologies have their ranges by
// then. Blocks of what is gone afterwards are given back.
func (t *tenure) perform(ctx context.Context, rec tenant.Record, op engine.Operation, watch engine.Watch) (engine.Result, error) {
	if t.Addresses == nil || !slices.ContainsFunc(op.Steps, needsNetworks) {
		return t.Engine.Run(ctx, t.slot, op, watch), nil
	}

	held, err := t.network(ctx, op)
	if failure, ok := errors.AsType[*tenant.Failure](err); ok {
		return t.unnetworked(rec, op, failure), nil
	}

	if err != nil {
		return engine.Result{}, err
	}

	res := t.Engine.Run(ctx, t.slot, op, watch)
	if res.Failure == nil {
		t.vacate(ctx, op, held)
	}

	return res, nil
}

// needsNetworks reports whether a step declares topologies, or ends them all.
func needsNetworks(step plan.Step) bool { return step != plan.StepRefresh && step != plan.StepDestroy }

// network gives the topologies of an operation their ranges. One that stands keeps
// what it has, whatever its tier says by now: another range would replace its
// network, and all that is in it. A *tenant.Failure is of the tenant.
func (t *tenure) network(ctx context.Context, op engine.Operation) (networks, error) {
	held, err := t.Addresses.Held(ctx, op.Tenant)
	if err != nil {
		return nil, fmt.Errorf("reading the networks of %s: %w", op.Tenant, err)
	}

	for _, topologies := range [][]engine.Topology{op.Topologies, op.Leaving} {
		for i := range topologies {
			top := &topologies[i]

			if pool := top.Addresses; pool != nil && !held[top.Generation].IsValid() {
				if held[top.Generation], err = t.Addresses.Take(ctx, op.Tenant, top.Generation, *pool); err != nil {
					return nil, fmt.Errorf("taking a block of %s: %w", pool.Range, err)
				}
			}

			if block := held[top.Generation]; block.IsValid() {
				top.Network = block.String()
			}
		}
	}

	return held, nil
}

// unnetworked is the result of an operation that got no range and did not begin.
func (t *tenure) unnetworked(rec tenant.Record, op engine.Operation, failure *tenant.Failure) engine.Result {
	failed := *failure
	failed.Step = string(op.Steps[0])

	return engine.Result{
		Failure: &failed, Resources: lastResources(rec), Types: lastTypes(rec), StackCreated: op.Stack.Created, Clean: t.clean,
	}
}

// vacate gives back the blocks of topologies that are gone once an operation
// succeeded. What fails here is made up for by the next operation of the tenant.
func (t *tenure) vacate(ctx context.Context, op engine.Operation, held networks) {
	gone := slices.Contains(op.Steps, plan.StepRemove)
	if !gone && !slices.Contains(op.Steps, plan.StepUp) {
		return
	}

	for generation := range held {
		stays := slices.ContainsFunc(op.Topologies, func(top engine.Topology) bool { return top.Generation == generation })
		if stays && !gone {
			continue
		}

		if err := t.Addresses.Release(ctx, op.Tenant, generation); err != nil && ctx.Err() == nil {
			t.Observer.Trouble(op.Tenant, "giving back a block of addresses", err)
		}
	}
}

// vacated gives back the blocks of a tenant that is gone without an operation.
func (t *tenure) vacated(rec tenant.Record, p plan.Plan) {
	if t.Addresses == nil || p.Spec.Phase != tenant.PhaseAbsent {
		return
	}

	held, err := t.Addresses.Held(t.ctx, rec.ID)
	if err != nil {
		t.Observer.Trouble(rec.ID, "reading the networks", err)

		return
	}

	t.vacate(t.ctx, engine.Operation{Tenant: rec.ID, Steps: []plan.Step{plan.StepRemove}}, held)
}
