package plan_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestFor(t *testing.T) {
	t.Parallel()

	free, silo := created("free"), created("silo")
	suspended := free
	suspended.Suspended = tenant.Field[bool]{Value: true, Version: at(3)}

	const (
		refresh, preview, up     = plan.StepRefresh, plan.StepPreview, plan.StepUp
		prepare, destroy, remove = plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove
	)

	steps := func(s ...plan.Step) []plan.Step { return s }

	for name, c := range map[string]struct {
		rec        tenant.Record
		want       []plan.Step
		generation int
	}{
		"nobody spoke of it":            {tenant.Record{}, nil, 0},
		"deleted before it was created": {tenant.Record{Desired: deleted(tenant.Desired{}, false)}, nil, 0},
		"deleted before anything began": {tenant.Record{Desired: deleted(free, false)}, nil, 0},
		"requests without a tenant":     {tenant.Record{Desired: asking(tenant.Desired{}, "reprovision", "preview")}, nil, 0},
		"first":                         {tenant.Record{Desired: free}, steps(up), 1},
		"first, suspended":              {tenant.Record{Desired: suspended}, steps(up), 1},
		"first, of a protected tier":    {tenant.Record{Desired: silo}, steps(up), 1},
		"first, with every request": {
			tenant.Record{Desired: asking(silo, "reprovision", "refresh", "preview")},
			steps(preview, up), 1,
		},
		"first, after a failure":       {failed(tenant.Record{Desired: silo}, "up", "up"), steps(up), 1},
		"settled":                      {settled(free, free), nil, 1},
		"settled, of a protected tier": {settled(silo, silo), nil, 1},
		"parameter added":              {settled(free, with(free, map[string]string{"a": "1"})), steps(up), 1},
		"parameter changed": {
			settled(with(free, map[string]string{"a": "1"}), with(free, map[string]string{"a": "2"})),
			steps(up), 1,
		},
		"parameter removed": {
			settled(with(free, map[string]string{"a": "1"}), with(free, map[string]string{"a": "null"})),
			steps(up), 1,
		},
		"parameter written otherwise": {
			settled(with(free, map[string]string{"a": `{"x":1,"y":[2.0]}`}), with(free, map[string]string{"a": ` {"y":[2e0], "x":1} `})),
			nil, 1,
		},
		"suspended":                         {settled(free, suspended), steps(up), 1},
		"resumed":                           {settled(suspended, free), steps(up), 1},
		"tier changed":                      {settled(free, created("standard")), steps(up), 2},
		"tier changed to a protected one":   {settled(free, silo), steps(up), 2},
		"tier changed from a protected one": {settled(silo, free), steps(up), 2},
		"tier changed, reprovision and preview": {
			settled(free, asking(created("standard"), "reprovision", "preview")),
			steps(refresh, preview, up), 2,
		},
		"reprovision":                 {settled(free, asking(free, "reprovision")), steps(refresh, up), 1},
		"refresh":                     {settled(free, asking(free, "refresh")), steps(refresh), 1},
		"preview":                     {settled(free, asking(free, "preview")), steps(preview), 1},
		"refresh and preview":         {settled(free, asking(free, "refresh", "preview")), steps(refresh, preview), 1},
		"refresh beside a difference": {settled(free, asking(suspended, "refresh")), steps(refresh, up), 1},
		"preview beside a difference": {settled(free, asking(suspended, "preview")), steps(preview, up), 1},
		"requests served": {
			settled(asking(free, "reprovision", "refresh", "preview"), asking(free, "reprovision", "refresh", "preview")),
			nil, 1,
		},
		"refresh failed":                     {failed(settled(free, asking(free, "refresh")), "refresh", "refresh"), steps(refresh), 1},
		"back to applied after a failed up":  {failed(settled(free, free), "up", "up"), steps(up), 1},
		"back to applied after a death":      {died(settled(free, free), "up"), steps(up), 1},
		"deleted":                            {settled(free, deleted(free, false)), steps(destroy, remove), 1},
		"deleted, of a tier with a snapshot": {settled(silo, deleted(silo, false)), steps(prepare, destroy, remove), 1},
		"deleted, data loss accepted": {
			settled(created("fragile"), deleted(created("fragile"), true)),
			steps(prepare, destroy, remove), 1,
		},
		"deleted, with requests": {
			settled(free, asking(deleted(free, false), "reprovision", "refresh", "preview")),
			steps(destroy, remove), 1,
		},
		"deleted after a failed first up": {
			failed(tenant.Record{Desired: deleted(free, false)}, "up", "up"), steps(destroy, remove), 1,
		},
		"deleted after a death in the first up": {died(tenant.Record{Desired: deleted(free, false)}, ""), steps(destroy, remove), 1},
		"deletion failed early": {
			failed(settled(silo, deleted(silo, false)), "prepare-delete", "prepare-delete", "destroy", "remove"),
			steps(prepare, destroy, remove), 1,
		},
		"deletion failed in the destroy": {
			failed(settled(silo, deleted(silo, false)), "destroy", "prepare-delete", "destroy", "remove"),
			steps(destroy, remove), 1,
		},
		"deletion, begun and failed before the destroy went on": {
			failed(settled(silo, deleted(silo, false)), "recover", "destroy", "remove"), steps(destroy, remove), 1,
		},
		"deletion after a failed update": {
			failed(settled(free, deleted(free, false)), "up", "up"), steps(prepare, destroy, remove), 1,
		},
		"deletion died in the remove": {died(settled(silo, deleted(silo, false)), "remove"), steps(destroy, remove), 1},
		"deletion died early": {
			died(settled(silo, deleted(silo, false)), "prepare-delete"),
			steps(prepare, destroy, remove), 1,
		},
		"gone":                                {gone(deleted(free, false)), nil, 1},
		"gone, with requests":                 {gone(asking(deleted(free, false), "reprovision", "refresh")), nil, 1},
		"created again":                       {gone(free), steps(up), 2},
		"created again in vain, then deleted": {failed(gone(deleted(free, false)), "up", "up"), steps(destroy, remove), 1},
		"died while created again, then deleted": {
			died(gone(deleted(free, false)), "up"), steps(destroy, remove), 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			p, err := plan.For(c.rec, catalog(), now)
			require.NoError(t, err)
			require.Equal(t, c.want, p.Steps)
			require.Equal(t, c.generation, p.Generation)
		})
	}
}

func TestForProtectsWhatServes(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name  string
		story *story
		want  string
	}{
		{"first", born("silo"), "up t1 > more"},
		{"tried again", born("silo").fails(plan.StepUp), "up t1 > more"},
		{"rolled back, and tried again", born("silo").givesUp().asks(tenant.EventReprovision), "up t1 > more"},
		{"protected next", born("silo").works(), "up t1 > applied"},
		{"protection died", born("silo").works().dies(plan.StepUp), "up t1 > applied"},
		{"done", born("silo").works().works(), "t1 > applied"},
		{"deleted before the first up was done", born("silo").dies(plan.StepUp).deleted(), "destroy remove t1 > applied"},
		{"deleted before it was protected", born("silo").works().deleted(), "prepare-delete destroy remove t1 > applied"},
		{"deleted after that died", born("silo").works().dies(plan.StepUp).deleted(), "prepare-delete destroy remove t1 > applied"},
		{"changed before it was protected", born("silo").works().to("free"), "up t2 +t1, building t2 > applied, baking t1 guarded"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			p, err := plan.For(c.story.rec, c.story.catalog, c.story.now)
			require.NoError(t, err)
			require.Equal(t, c.want, summary(p))
		})
	}

	p, err := plan.For(born("silo").rec, catalog(), now)
	require.NoError(t, err)
	require.False(t, p.Blueprint.Protect, "the row says so until the next plan is done")
}

func TestForPurges(t *testing.T) {
	t.Parallel()

	retains := catalog()
	b := retains["free"]
	b.RetainDays = 7
	retains["free"] = b

	kept := in("free")
	kept.catalog = retains
	kept.asks(tenant.EventReprovision).works().deleted().works()

	const day = 24 * time.Hour

	for _, c := range []struct {
		name  string
		story *story
		want  string
	}{
		{"gone", in("free").deleted().works().later(day - time.Second), "t1 > applied"},
		{"a day later", in("free").deleted().works().later(day), "purge t1 > applied"},
		{"purged", in("free").deleted().works().later(day).asks(tenant.EventDue).works().later(day), "t1 > applied"},
		{"purge died", in("free").deleted().works().later(day).asks(tenant.EventDue).dies(plan.StepPurge), "destroy remove t1 > applied"},
		{"purge failed", in("free").deleted().works().later(day).asks(tenant.EventDue).fails(plan.StepPurge), "purge t1 > applied"},
		{"retained", kept.copied().later(7*day - time.Second), "t1 > applied"},
		{"retained long enough", kept.copied().later(7 * day), "purge t1 > applied"},
		{"created again", in("free").deleted().works().later(day).hears(tenant.Event{
			Type: tenant.EventCreated, Tier: "free", Region: "eu-central-1",
		}), "up t2 > applied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			p, err := plan.For(c.story.rec, c.story.catalog, c.story.now)
			require.NoError(t, err)
			require.Equal(t, c.want, summary(p))
		})
	}
}

func TestForDeletionKnowsWhatStands(t *testing.T) {
	t.Parallel()

	before := with(created("silo"), map[string]string{"a": "1"})
	gone := deleted(with(created("free"), map[string]string{"a": "2"}), true)

	p, err := plan.For(settled(before, gone), catalog(), now)
	require.NoError(t, err)
	require.Equal(t, "silo", p.Blueprint.Program)
	require.Equal(t, tenant.Spec{
		Phase: tenant.PhaseAbsent, Tier: "silo", Region: "eu-central-1",
		Parameters: tenant.Parameters{"a": json.RawMessage("1")}, AcceptDataLoss: true,
	}, p.Spec)

	p, err = plan.For(failed(tenant.Record{Desired: gone}, "up", "up"), catalog(), now)
	require.NoError(t, err)
	require.Empty(t, p.Blueprint.Program, "leftovers are destroyed from the state alone")
	require.Equal(t, "free", p.Spec.Tier)
}

func TestForServesRequests(t *testing.T) {
	t.Parallel()

	want := map[tenant.RequestKind]tenant.Version{"refresh": at(5), "preview": at(5)}

	for name, d := range map[string]tenant.Desired{
		"present": asking(created("free"), "refresh", "preview"),
		"absent":  asking(deleted(created("free"), false), "refresh", "preview"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			p, err := plan.For(tenant.Record{Desired: d}, catalog(), now)
			require.NoError(t, err)
			require.Equal(t, want, p.Requests)
		})
	}
}

func TestForRefuses(t *testing.T) {
	t.Parallel()

	moved := created("free")
	moved.Region.Value = "us-east-1"

	fragile := created("fragile")

	for name, c := range map[string]struct {
		rec   tenant.Record
		field string
		hint  string
	}{
		"data loss not accepted": {settled(fragile, deleted(fragile, false)), "acceptDataLoss", "acceptDataLoss: true"},
		"tier change loses data": {settled(fragile, created("free")), "tier", "finalSnapshot"},
		"another region":         {settled(created("free"), moved), "region", "wait until it is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			p, err := plan.For(c.rec, catalog(), now)

			var invalid *plan.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, c.field, invalid.Field)
			require.Contains(t, invalid.Advice(), c.hint)
			require.Empty(t, p.Steps)
		})
	}

	t.Run("the catalog", func(t *testing.T) {
		t.Parallel()

		_, err := plan.For(tenant.Record{Desired: created("gold")}, catalog(), now)
		require.ErrorIs(t, err, errUnknownTier)
	})

	t.Run("no data to lose", func(t *testing.T) {
		t.Parallel()

		p, err := plan.For(failed(tenant.Record{Desired: deleted(fragile, false)}, "up", "up"), catalog(), now)
		require.NoError(t, err)
		require.Equal(t, []plan.Step{plan.StepDestroy, plan.StepRemove}, p.Steps)
	})

	t.Run("a gone tenant may come back elsewhere", func(t *testing.T) {
		t.Parallel()

		p, err := plan.For(gone(moved), catalog(), now)
		require.NoError(t, err)
		require.Equal(t, []plan.Step{plan.StepUp}, p.Steps)
	})
}

func TestForChangedCatalog(t *testing.T) {
	t.Parallel()

	rec := settled(created("free"), created("free"))

	for name, c := range map[string]struct {
		change func(*tenant.Blueprint)
		want   []plan.Step
	}{
		"program":    {func(b *tenant.Blueprint) { b.Program = "silo" }, []plan.Step{plan.StepUp}},
		"role":       {func(b *tenant.Blueprint) { b.RoleARN = "arn" }, []plan.Step{plan.StepUp}},
		"protection": {func(b *tenant.Blueprint) { b.Protect = true }, []plan.Step{plan.StepUp}},
		"policies": {func(b *tenant.Blueprint) {
			b.MaxAttempts, b.OnUpdate, b.OnCreate = 9, tenant.PolicyKeep, tenant.PolicyKeep
			b.FinalSnapshot, b.DataLoss = true, true
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			changed := catalog()
			b := changed["free"]
			c.change(&b)
			changed["free"] = b

			p, err := plan.For(rec, changed, now)
			require.NoError(t, err)
			require.Equal(t, c.want, p.Steps)
			require.Equal(t, b, p.Blueprint, "policies take effect with the record")
		})
	}
}
