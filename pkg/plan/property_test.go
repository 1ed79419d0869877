package plan_test

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// life is a tenant to which anything may happen: events in any order, workers
// that fail or die at any step.
type life struct {
	ledger

	t     *rapid.T
	world world
	// forgotten are the generations that the row knew once and no longer does.
	forgotten map[int]bool
	// deleting is set from the first step of a deletion on until the tenant is
	// what it shall be: what serves may be half gone.
	deleting bool
	// faultless is set while nothing goes wrong any more.
	faultless bool
}

func newLife(t *rapid.T) *life {
	return &life{
		ledger: ledger{rec: tenant.Record{ID: "acme"}, catalog: catalog(), now: now},
		t:      t, world: world{}, forgotten: map[int]bool{},
	}
}

func (l *life) event(t *rapid.T) {
	e := tenant.Event{
		Type: rapid.SampledFrom([]tenant.EventType{
			tenant.EventCreated, tenant.EventCreated, tenant.EventUpdated,
			tenant.EventTierChanged, tenant.EventTierChanged, tenant.EventTierChanged, tenant.EventTierChanged,
			tenant.EventSuspended, tenant.EventResumed, tenant.EventDeleted,
			tenant.EventReprovision, tenant.EventRefresh, tenant.EventPreview, tenant.EventRetire,
		}).Draw(t, "type"),
		// Mostly new, now and then late.
		Version: at(l.clock + rapid.SampledFrom([]int64{1, 1, 1, 1, 0, -1}).Draw(t, "version")),
		Tier: rapid.SampledFrom([]string{
			"free", "free", "standard", "silo", "silo", "fragile", "hooked", "hooked", "baked", "gold",
		}).Draw(t, "tier"),
		Region:         rapid.SampledFrom([]string{"r1", "r1", "r1", "r1", "r1", "r1", "r1", "r1", "r2"}).Draw(t, "region"),
		AcceptDataLoss: rapid.Bool().Draw(t, "acceptDataLoss"),
	}
	if e.Type != tenant.EventTierChanged || rapid.Bool().Draw(t, "with parameters") {
		e.Parameters = tenant.Parameters{"a": json.RawMessage(rapid.SampledFrom([]string{"1", "null"}).Draw(t, "a"))}
	}

	l.clock++
	l.accept(e)
}

// answer is one of the data hook, or of somebody who guesses.
func (l *life) answer(t *rapid.T) {
	l.tell(tenant.Event{
		Type:    tenant.EventCutoverConfirmed,
		Token:   rapid.SampledFrom(append([]string{"guessed"}, l.tokens...)).Draw(t, "token"),
		Refused: rapid.Bool().Draw(t, "refused"),
	})
}

func (l *life) pass(t *rapid.T) {
	l.now = l.now.Add(rapid.SampledFrom([]time.Duration{time.Second, 40 * time.Minute, 2 * time.Hour}).Draw(t, "time"))
}

// due is the sweep.
func (l *life) due(*rapid.T) {
	failed := l.rec.FailedSeq > l.rec.AppliedSeq
	if !l.rec.NeedsWork() && !failed && !l.rec.DueAt.IsZero() && !l.now.Before(l.rec.DueAt) {
		l.tell(tenant.Event{Type: tenant.EventDue})
	}
}

// act is one round of a worker.
func (l *life) act(t *rapid.T) {
	if !l.rec.NeedsWork() || l.now.Before(l.rec.NotBefore) {
		return
	}

	l.t = t
	before := l.rec
	l.pure()
	l.work(l)

	for _, generation := range known(before) {
		if !slices.Contains(known(l.rec), generation) {
			l.forgotten[generation] = true
		}
	}

	l.serve(before)
	l.settled()
}

// known are the generations of which a row tells.
func known(rec tenant.Record) []int {
	var list []int
	if present(rec) {
		list = append(list, rec.Applied.Generation)
	}

	if rec.Change != nil {
		list = append(list, rec.Change.Other.Generation)
	}

	return list
}

func present(rec tenant.Record) bool {
	return rec.Applied != nil && rec.Applied.Spec.Phase != tenant.PhaseAbsent
}

// serve has the tenant's data follow.
func (l *life) serve(before tenant.Record) {
	if !present(l.rec) || present(before) && before.Applied.Generation == l.rec.Applied.Generation {
		return
	}

	if present(before) {
		old := l.world[before.Applied.Generation]
		old.accepted = l.rec.Applied.Spec.AcceptDataLoss
		l.world[before.Applied.Generation] = old
	}

	serves := l.world[l.rec.Applied.Generation]
	serves.served, serves.accepted = true, false
	l.world[l.rec.Applied.Generation] = serves
}

// settled holds whenever the row tells of no failure and no death.
func (l *life) settled() {
	if present(l.rec) && !l.deleting {
		require.Subset(l.t, known(l.rec), slices.Collect(maps.Keys(l.world)), "nothing is there that the row does not tell of")
	}

	if l.rec.Progress != nil || l.rec.Last == nil || l.rec.Last.Failure != nil {
		return
	}

	if !present(l.rec) {
		require.Empty(l.t, l.world)

		return
	}

	l.deleting = false
	require.True(l.t, l.applies(), "what serves is there")

	if l.rec.Change == nil {
		require.Len(l.t, l.world, 1)
	}
}

// applies reports that what serves is as the row tells.
func (l *life) applies() bool {
	if !present(l.rec) {
		return false
	}

	serves, ok := l.world[l.rec.Applied.Generation]

	return ok && !serves.torn && serves.deployed == deployment(l.rec.Applied.Spec, l.rec.Applied.Blueprint)
}

// pure holds for every row.
func (l *life) pure() {
	before, err := json.Marshal(l.rec) //nolint:musttag // it is only compared with itself
	require.NoError(l.t, err)

	p, err := plan.For(l.rec, l.catalog, l.now)
	l.t.Logf("plan: %s %v", summary(p), err)

	same, errSame := plan.For(l.rec, l.catalog, l.now)
	require.Equal(l.t, p, same)
	require.Equal(l.t, err, errSame)

	if err != nil {
		require.Empty(l.t, p)

		if l.catalog.knows(l.rec.Desired.Spec().Tier) {
			require.ErrorAs(l.t, err, new(*plan.InvalidError))
		}
	}

	after, err := json.Marshal(l.rec) //nolint:musttag // as above
	require.NoError(l.t, err)
	require.JSONEq(l.t, string(before), string(after))
}

// begin checks what holds for every plan.
func (l *life) begin(p plan.Plan) fate {
	desired := l.rec.Desired.Spec()
	absent := desired.Phase == tenant.PhaseAbsent
	has := func(s plan.Step) bool { return slices.Contains(p.Steps, s) }

	require.True(l.t, slices.IsSortedFunc(p.Steps, func(a, b plan.Step) int {
		return slices.Index(plan.Steps(), a) - slices.Index(plan.Steps(), b)
	}), "order of %v", p.Steps)
	require.Len(l.t, slices.Compact(slices.Clone(p.Steps)), len(p.Steps), "no step twice")
	require.False(l.t, !absent && has(plan.StepDestroy), "a tenant that shall be is never destroyed")
	require.False(l.t, absent && has(plan.StepUp), "a tenant that shall not be is never made")
	require.Equal(l.t, has(plan.StepDestroy), has(plan.StepRemove))
	require.Equal(l.t, absent, p.Spec.Phase == tenant.PhaseAbsent)

	if p.End == plan.EndApplied {
		require.Equal(l.t, desired.Phase, p.Spec.Phase)
		require.True(l.t, absent || p.Spec.Tier == desired.Tier)
	}

	if p.Leaving != nil {
		require.True(l.t, has(plan.StepUp))
		require.NotNil(l.t, p.Change)
	}

	l.deleting = l.deleting || absent && len(p.Steps) > 0

	return l.luck("begin", goesThrough, dies)
}

func (l *life) ask() fate             { return l.luck("ask", goesThrough, fails, dies) }
func (l *life) settle(plan.Plan) fate { return l.luck("settle", goesThrough, dies) }

func (l *life) judge(plan.Plan) judgement {
	return rapid.SampledFrom([]judgement{counted, interrupts, final}).Draw(l.t, "judgement")
}

// luck draws what happens, mostly that nothing does.
func (l *life) luck(label string, fates ...fate) fate {
	if l.faultless || rapid.IntRange(0, 3).Draw(l.t, label+" has luck") > 0 {
		return goesThrough
	}

	drawn := rapid.SampledFrom(fates).Draw(l.t, label)
	l.t.Logf("%s: %v", label, []string{"goes through", "fails", "dies"}[drawn])

	return drawn
}

func (l *life) step(p plan.Plan, step plan.Step) fate {
	if !l.faultless && rapid.IntRange(0, 9).Draw(l.t, "meanwhile") == 0 {
		l.event(l.t)
	}

	outcome := l.luck("step", goesThrough, fails, dies)
	whole := l.applies()

	l.do(p, step, outcome != goesThrough)

	if !present(l.rec) || l.deleting {
		return outcome
	}

	serves := l.rec.Applied.Generation
	require.Contains(l.t, l.world, serves, "what serves is never removed")

	// An update does, and it may call off a change at the same time.
	update := p.Generation == serves && (p.End == plan.EndApplied || p.Leaving == nil)
	if whole && !update {
		require.True(l.t, l.applies(), "a change of the tier does not touch what serves")
	}

	return outcome
}

// do does a step in the world, or a part of it.
func (l *life) do(p plan.Plan, step plan.Step, partly bool) {
	var set []declaration

	switch step {
	case plan.StepRefresh, plan.StepPreview, plan.StepCutover:
		return
	case plan.StepRemove, plan.StepPurge:
		require.Empty(l.t, l.world)

		return
	case plan.StepUp, plan.StepPrepareDelete:
		set = declared(l.rec, p, step)
	case plan.StepDestroy:
	}

	dropped := l.world.undeclared(set)

	reached := len(set) + len(dropped)
	if partly {
		reached = rapid.IntRange(0, reached).Draw(l.t, "reached")
	}

	for i, d := range set {
		require.False(l.t, l.forgotten[d.generation], "the names of t%d were used before", d.generation)

		switch {
		case i < reached:
			l.world.put(d)
		case i == reached:
			l.world.tear(d, rapid.Bool().Draw(l.t, "setting"))
		}
	}

	for i, generation := range dropped {
		top := l.world[generation]

		if i+len(set) < reached {
			l.world.drop(l.t, generation, p.Spec.AcceptDataLoss)
		}

		if i+len(set) == reached-1 && partly && rapid.Bool().Draw(l.t, "half gone") {
			top.torn = true
			l.world[generation] = top
		}
	}
}
