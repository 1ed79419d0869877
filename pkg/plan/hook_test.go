package plan_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestForTellsWhyItLeadsBack(t *testing.T) {
	t.Parallel()

	refused := in("free").to("hooked").works().refuses()
	silent := in("free").to("hooked").works().hears(tenant.Event{Type: tenant.EventCutoverConfirmed, Token: "guess", Refused: true})

	for name, c := range map[string]struct {
		story   *story
		message string
	}{
		"refused":                {refused, "the data hook refused the change to tier hooked: no room"},
		"late":                   {silent.later(time.Hour), "the data hook did not confirm the change to tier hooked within 1h0m0s"},
		"refused without reason": {in("free").to("hooked").works().refusesSilently(), "the data hook refused the change to tier hooked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			p, err := plan.For(c.story.rec, c.story.catalog, c.story.now)
			require.NoError(t, err)
			require.Equal(t, plan.EndBack, p.End)
			require.Equal(t, tenant.KindCutover, p.Failure.Kind)
			require.Equal(t, "cutover", p.Failure.Step)
			require.Equal(t, c.message, p.Failure.Message)
			require.NotEmpty(t, p.Failure.Hint)
			require.Equal(t, c.story.rec.Applied.Spec, p.Spec)
			require.Equal(t, c.story.rec.Applied.Requests, p.Requests, "nothing that is new is served by that")
			require.Equal(t, plan.Due(tenant.Record{Change: p.Then}), c.story.rec.DueAt)
		})
	}
}

func TestForWaitsForTheHook(t *testing.T) {
	t.Parallel()

	s := in("free").to("hooked").later(time.Minute).works().asks(tenant.EventRefresh)

	p, err := plan.For(s.rec, s.catalog, s.now)
	require.NoError(t, err)
	require.Equal(t, plan.EndWait, p.End)
	require.Equal(t, now.Add(time.Minute+time.Hour), p.Wait)
	require.Contains(t, p.Requests, tenant.RequestRefresh)
	require.Equal(t, s.rec.Change, p.Change, "tokens and outputs are kept")

	// What the catalog no longer has need not be waited for.
	changed := catalog()
	b := changed["hooked"]
	b.Hook = nil
	changed["hooked"] = b

	p, err = plan.For(s.rec, changed, s.now.Add(2*time.Hour))
	require.NoError(t, err)
	require.Equal(t, "refresh t2 +t1, cutover t2 > more, baking t1", summary(p))
}

func TestForForgetsWhatAnOlderBuildSaid(t *testing.T) {
	t.Parallel()

	s := in("free").to("hooked").works().asks(tenant.EventSuspended)

	p, err := plan.For(s.rec, s.catalog, s.now)
	require.NoError(t, err)
	require.Equal(t, s.rec.Change.ID, p.Change.ID, "it is the same change")
	require.Empty(t, p.Change.Tokens)
	require.Zero(t, p.Change.Deadline)
	require.Equal(t, tenant.PhaseSuspended, p.Change.Other.Spec.Phase)
}

func TestForKeepsRequestsForTheNextPlan(t *testing.T) {
	t.Parallel()

	for name, s := range map[string]*story{
		"called off": in("free").to("standard").dies(plan.StepUp).to("silo"),
		"retired":    in("silo").to("baked").works().to("free"),
		"mended":     in("silo").to("baked").works().to("silo").dies(plan.StepUp).to("free"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s.asks(tenant.EventReprovision)

			p, err := plan.For(s.rec, s.catalog, s.now)
			require.NoError(t, err)
			require.Equal(t, plan.EndMore, p.End)
			require.NotContains(t, p.Requests, tenant.RequestReprovision)
			require.Equal(t, s.rec.Applied.Spec, p.Spec)
		})
	}

	s := in("silo").to("baked").works().asks(tenant.EventRetire).asks(tenant.EventRefresh)

	p, err := plan.For(s.rec, s.catalog, s.now)
	require.NoError(t, err)
	require.Equal(t, plan.EndMore, p.End)
	require.NotContains(t, p.Requests, tenant.RequestRetire)
	require.Contains(t, p.Requests, tenant.RequestRefresh)
}

func TestBack(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		story *story
		want  string
	}{
		"no change":   {in("free"), ""},
		"building":    {in("free").to("standard").dies(plan.StepUp), "up t1 -t2, building t2 > back"},
		"cutover":     {in("free").to("hooked").works(), "up t1 -t2, cutover t2 > back"},
		"going back":  {in("silo").to("baked").works().to("silo").dies(plan.StepUp), "t2, building t1 stood guarded > back, baking t1 guarded"},
		"baking":      {in("silo").to("baked").works(), ""},
		"retiring":    {in("silo").to("free").works().asks(tenant.EventRetire).dies(plan.StepUp), ""},
		"not applied": {born("free").dies(plan.StepUp), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			p, ok := plan.Back(c.story.rec, now)
			require.Equal(t, c.want != "", ok)

			if ok {
				require.Equal(t, c.want, summary(p))
				require.Nil(t, p.Failure)
			}
		})
	}
}

func TestDue(t *testing.T) {
	t.Parallel()

	until := now.Add(time.Hour)

	require.Zero(t, plan.Due(tenant.Record{}))

	for _, stage := range []tenant.ChangeStage{tenant.StageBuilding, tenant.StageCutover, tenant.StageRetiring} {
		require.Zero(t, plan.Due(tenant.Record{Change: &tenant.Change{Stage: stage, Until: until, Deadline: until}}), "%s", stage)
	}

	require.Equal(t, until, plan.Due(tenant.Record{Change: &tenant.Change{Stage: tenant.StageBaking, Until: until}}))
	require.Equal(t, until, in("silo").to("baked").works().rec.DueAt, "the tier that serves says how long")
	require.Equal(t, now, in("baked").to("silo").works().works().rec.DueAt)
}
