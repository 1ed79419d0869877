package plan_test

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// topology is one that is really there, which a plan never sees.
type topology struct {
	deployed  string
	blueprint tenant.Blueprint
	// torn is set while it is there in part only, or between two deployments.
	torn bool
	// protected makes a deletion fail.
	protected bool
	// snapshot is set while a deletion leaves a final snapshot, waived while it
	// was prepared to leave none.
	snapshot, waived bool
	// served is set once it may hold the tenant's data, accepted once upstream
	// agreed to lose that.
	served, accepted bool
}

// world is every topology that is there, by generation.
type world map[int]topology

// declaration is what an up says of one topology.
type declaration struct {
	generation int
	deployed   string
	blueprint  tenant.Blueprint
	protect    bool
	snapshot   bool
	waived     bool
}

// deployment tells what is deployed from what else could be. The phase is no
// part of it, since a tenant is suspended as a whole.
func deployment(spec tenant.Spec, b tenant.Blueprint) string {
	data, err := json.Marshal([]any{spec.Tier, spec.Region, b.Program, b.Parameters})
	if err != nil {
		panic(err)
	}

	return string(data)
}

// declared is what a step of a plan declares, as package reconcile orders it
// and package engine does it.
func declared(rec tenant.Record, p plan.Plan, step plan.Step) []declaration {
	prepare := step == plan.StepPrepareDelete
	keeps := !p.Spec.AcceptDataLoss

	declare := func(a tenant.Applied, stood, snapshot bool) declaration {
		return declaration{
			generation: a.Generation, deployed: deployment(a.Spec, a.Blueprint), blueprint: a.Blueprint,
			protect: a.Blueprint.Protect && stood, snapshot: a.Blueprint.FinalSnapshot && keeps && snapshot, waived: !keeps && snapshot,
		}
	}

	var set []declaration

	if p.Leaving != nil && prepare {
		leaving := declare(*p.Leaving, false, p.Change.Stage == tenant.StageRetiring)
		set = append(set, leaving)
	}

	alone := prepare && p.Leaving == nil
	if p.Beside != nil {
		set = append(set, declare(*p.Beside, !alone, alone))
	}

	if p.Blueprint.Program == "" {
		return set
	}

	stood := rec.Applied != nil && rec.Applied.Generation == p.Generation || p.Change != nil && p.Change.Stood

	return append(set, declare(tenant.Applied{Spec: p.Spec, Blueprint: p.Blueprint, Generation: p.Generation}, stood && !alone, alone))
}

// put makes a topology what is declared of it.
func (w world) put(d declaration) {
	top := w[d.generation]
	top.deployed, top.blueprint, top.torn = d.deployed, d.blueprint, false
	top.protected, top.snapshot, top.waived = d.protect, d.snapshot, d.waived
	w[d.generation] = top
}

// tear leaves a topology as an interrupted up may. What has nothing to do is as
// it was.
func (w world) tear(d declaration, setting bool) {
	top, there := w[d.generation]

	if !there || top.torn || top.deployed != d.deployed {
		top.torn = true
	}

	if setting {
		top.protected, top.snapshot, top.waived = d.protect, d.snapshot, d.waived
	}

	top.blueprint = d.blueprint
	w[d.generation] = top
}

// undeclared are the generations that an up would delete.
func (w world) undeclared(set []declaration) []int {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(w)), func(generation int) bool {
		return slices.ContainsFunc(set, func(d declaration) bool { return d.generation == generation })
	})
}

// drop deletes a topology, which must be safe.
func (w world) drop(t require.TestingT, generation int, accepted bool) {
	top := w[generation]
	require.False(t, top.protected, "t%d is protected and cannot be deleted", generation)

	if top.served && !top.accepted && !top.waived && !accepted {
		require.False(t, top.blueprint.DataLoss, "the data of t%d would be lost", generation)
		require.True(t, top.snapshot || !top.blueprint.FinalSnapshot, "t%d would leave no final snapshot", generation)
	}

	delete(w, generation)
}
