package plan_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// world is what is really there, which a plan never sees.
type world struct {
	// deployed is the spec and blueprint of the last up that went through,
	// "" if nothing is there.
	deployed string
	// torn is set while an operation stopped halfway.
	torn bool
	// prepared is set while protection is off for a deletion.
	prepared bool
}

func deployment(spec tenant.Spec, b tenant.Blueprint) string {
	data, err := json.Marshal([]any{spec.Phase, spec.Tier, spec.Region, b.Program, b.Parameters})
	if err != nil {
		panic(err)
	}

	return string(data)
}

// life is a tenant to which anything may happen: events in any order, workers
// that fail or die at any step.
type life struct {
	rec   tenant.Record
	world world
	clock int64
	// operations numbers them.
	operations int
}

func (l *life) event(t *rapid.T) {
	e := tenant.Event{
		Type: rapid.SampledFrom([]tenant.EventType{
			tenant.EventCreated, tenant.EventCreated, tenant.EventUpdated, tenant.EventTierChanged,
			tenant.EventSuspended, tenant.EventResumed,
			tenant.EventDeleted, tenant.EventReprovision, tenant.EventRefresh, tenant.EventPreview,
		}).Draw(t, "type"),
		// Mostly new, now and then late.
		Version:        at(l.clock + rapid.SampledFrom([]int64{1, 1, 1, 1, 0, -1}).Draw(t, "version")),
		Tier:           rapid.SampledFrom([]string{"free", "free", "free", "silo", "fragile", "gold"}).Draw(t, "tier"),
		Region:         rapid.SampledFrom([]string{"r1", "r1", "r1", "r1", "r1", "r2"}).Draw(t, "region"),
		AcceptDataLoss: rapid.Bool().Draw(t, "acceptDataLoss"),
		Parameters: tenant.Parameters{
			"a": json.RawMessage(rapid.SampledFrom([]string{"1", "null"}).Draw(t, "a")),
		},
	}
	l.clock++

	if d, changed := tenant.Apply(l.rec.Desired, e); changed {
		l.rec.Desired = d
		l.rec.DesiredSeq++
		l.rec.Attempts = 0
	}
}

// work makes the plan and does it, well or badly.
func (l *life) work(t *rapid.T) {
	if !l.rec.NeedsWork() {
		return
	}

	p, err := plan.For(l.rec, catalog(), now)
	if err != nil {
		require.Empty(t, p.Steps)

		l.rec.FailedSeq = l.rec.DesiredSeq
		l.rec.Last = &tenant.Outcome{OperationID: "refused", Failure: &tenant.Failure{Kind: tenant.KindInvalid}}

		return
	}

	l.check(t, p)

	if len(p.Steps) == 0 {
		l.rec = succeed(l.rec, p)

		return
	}

	// The row shows stack and progress before the operation begins.
	l.operations++

	id := strconv.Itoa(l.operations)
	if l.rec.Stack == (tenant.Stack{}) {
		l.rec.Stack = stack()
		l.rec.Stack.Created = false
	}

	l.rec.Progress = &tenant.Progress{OperationID: id}

	stop := rapid.IntRange(0, 2*len(p.Steps)).Draw(t, "stop")
	for i, step := range p.Steps {
		l.rec.Progress.Step = string(step)

		if i == stop {
			l.world.torn = l.world.torn || (step != plan.StepRefresh && step != plan.StepPreview)
			l.fail(t, p, id, step)

			return
		}

		l.do(t, p, step)
	}

	l.rec = succeed(l.rec, p)
	l.rec.Last.OperationID = id
	l.rec.Stack.Created = l.rec.Applied.Spec.Phase != tenant.PhaseAbsent
	require.False(t, l.world.torn)
}

func (l *life) do(t *rapid.T, p plan.Plan, step plan.Step) {
	switch step {
	case plan.StepUp:
		l.world = world{deployed: deployment(p.Spec, p.Blueprint)}
	case plan.StepPrepareDelete:
		l.world.prepared = true
	case plan.StepDestroy:
		require.True(t, l.world.prepared || l.rec.Applied == nil || l.rec.Applied.Spec.Phase == tenant.PhaseAbsent,
			"what was protected cannot be destroyed")

		l.world.deployed = ""
	case plan.StepRemove:
		l.world = world{}
	case plan.StepRefresh, plan.StepPreview, plan.StepProtect:
	}
}

// fail records a failure as package reconcile does, or nothing if the worker
// died.
func (l *life) fail(t *rapid.T, p plan.Plan, id string, step plan.Step) {
	if rapid.Bool().Draw(t, "dies") {
		return
	}

	l.rec.Progress = nil
	l.rec.Stack.Created = true
	l.rec.Last = &tenant.Outcome{OperationID: id, Steps: names(p.Steps), Failure: &tenant.Failure{Step: string(step)}}
	l.rec.Attempts++

	if rapid.Bool().Draw(t, "gives up") {
		l.rec.FailedSeq = l.rec.DesiredSeq
	}
}

// check holds for every plan.
func (l *life) check(t *rapid.T, p plan.Plan) {
	desired := l.rec.Desired.Spec()
	present := desired.Phase != tenant.PhaseAbsent

	require.True(t, slices.IsSortedFunc(p.Steps, func(a, b plan.Step) int {
		return slices.Index(plan.Steps(), a) - slices.Index(plan.Steps(), b)
	}), "order of %v", p.Steps)
	require.Len(t, slices.Compact(slices.Clone(p.Steps)), len(p.Steps), "no step twice")
	require.Equal(t, desired.Phase, p.Spec.Phase)

	if l.rec.Applied != nil {
		require.GreaterOrEqual(t, p.Generation, l.rec.Applied.Generation, "generations only grow")
	}

	destroys := slices.Contains(p.Steps, plan.StepDestroy)
	require.False(t, present && (destroys || slices.Contains(p.Steps, plan.StepRemove)), "a tenant that shall be is never destroyed")
	require.Equal(t, destroys, slices.Contains(p.Steps, plan.StepRemove))
	require.False(t, !present && slices.Contains(p.Steps, plan.StepUp), "a tenant that shall not be is never made")

	changing := slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s != plan.StepRefresh && s != plan.StepPreview })
	if changing {
		return
	}

	// What looks settled is settled.
	require.False(t, l.world.torn, "half an operation is nothing to rest on")

	if present {
		require.JSONEq(t, deployment(p.Spec, p.Blueprint), l.world.deployed)
	} else {
		require.Empty(t, l.world.deployed)
	}
}

// fixpoint does the plan without a fault and asks for another one.
func (l *life) fixpoint(t *rapid.T) {
	p, err := plan.For(l.rec, catalog(), now)
	if err != nil {
		return
	}

	after := succeed(l.rec, p)

	again, err := plan.For(after, catalog(), now)
	if err != nil {
		// A tenant that shall be absent and is, or shall be and is, can only
		// be refused by the catalog.
		require.NotErrorAs(t, err, new(*plan.InvalidError))

		return
	}

	require.Empty(t, again.Steps, "after %v", p.Steps)
	require.Equal(t, p.Generation, again.Generation)
	require.Equal(t, p.Spec.Phase, again.Spec.Phase)
	require.Equal(t, p.Requests, again.Requests)
}

func TestLife(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &life{rec: tenant.Record{ID: "acme"}}
		t.Repeat(map[string]func(*rapid.T){
			"event": l.event,
			"work":  l.work,
			"":      l.fixpoint,
		})
	})
}

func TestForIsTotalAndPure(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &life{rec: tenant.Record{ID: "acme"}}
		for range rapid.IntRange(0, 8).Draw(t, "events") {
			l.event(t)
		}

		// Apply copies, so that this shares nothing that For could change.
		before := l.rec
		before.Desired, _ = tenant.Apply(l.rec.Desired, tenant.Event{Type: tenant.EventNudged})

		p, err := plan.For(l.rec, catalog(), now)
		same, errSame := plan.For(l.rec, catalog(), now)
		require.Equal(t, p, same)
		require.Equal(t, err, errSame)

		var invalid *plan.InvalidError
		require.True(t, err == nil || errors.Is(err, errUnknownTier) || errors.As(err, &invalid))

		require.Equal(t, before, l.rec)
	})
}
