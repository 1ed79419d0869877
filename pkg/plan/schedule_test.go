package plan_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const week = 7 * 24 * time.Hour

// atTime is when the plans of these tests are made.
func atTime() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// tierOf has one tier, whatever is asked for.
type tierOf tenant.Blueprint

func (c tierOf) Resolve(tenant.Spec) (tenant.Blueprint, error) { return tenant.Blueprint(c), nil }

// refusing is a catalog that has the tier no more.
type refusing struct{}

func (refusing) Resolve(tenant.Spec) (tenant.Blueprint, error) {
	return tenant.Blueprint{}, &tenant.InvalidError{Field: "tier", Message: "there is no such tier", Hint: "use another"}
}

func versionOf(n int) tenant.Version {
	return tenant.TimeVersion(atTime().Add(-time.Hour+time.Duration(n)*time.Second), strconv.Itoa(n), "test")
}

// settledRow is of a tenant that was made and then asked for by the clock.
func settledRow(kinds ...tenant.EventType) tenant.Record {
	desired, _ := tenant.Apply(tenant.Desired{}, tenant.Event{
		Type: tenant.EventCreated, Tier: "silo", Region: "eu-west-1", Version: versionOf(0),
		Parameters: tenant.Parameters{"size": []byte("1")},
	})
	rec := tenant.Record{
		ID: "acme", AppliedSeq: 1, DesiredSeq: 1 + int64(len(kinds)), Stack: tenant.Stack{Project: "lessor", Created: true, Generation: 1},
		Applied:  &tenant.Applied{Spec: desired.Spec(), Blueprint: tenant.Blueprint{Program: "silo"}, Generation: 1},
		LookedAt: atTime().Add(-week),
	}

	for i, kind := range kinds {
		desired, _ = tenant.Apply(desired, tenant.Event{ID: strconv.Itoa(i), Type: kind, Version: versionOf(i + 1)})
	}

	rec.Desired = desired

	return rec
}

func TestLooksForDrift(t *testing.T) {
	t.Parallel()

	same := tierOf{Program: "silo"}
	changed := tierOf{Program: "silo", RoleARN: "arn:aws:iam::123456789012:role/new"}
	reset := func(change func(*tenant.Record)) func(tenant.EventType) tenant.Record {
		return func(kind tenant.EventType) tenant.Record {
			rec := settledRow(kind)
			change(&rec)

			return rec
		}
	}
	unchanged := reset(func(*tenant.Record) {})
	refresh := []plan.Step{plan.StepRefresh}

	for name, tt := range map[string]struct {
		rec     func(tenant.EventType) tenant.Record
		kind    tenant.EventType
		catalog plan.Resolver
		every   time.Duration
		want    []plan.Step
	}{
		"due":                      {unchanged, tenant.EventDue, same, week, refresh},
		"no schedule":              {unchanged, tenant.EventDue, same, 0, nil},
		"another event":            {unchanged, tenant.EventUpdated, same, week, nil},
		"a bit early":              {unchanged, tenant.EventDue, same, week + week/20, refresh},
		"not due":                  {unchanged, tenant.EventDue, same, 2 * week, nil},
		"never looked":             {reset(func(r *tenant.Record) { r.LookedAt = time.Time{} }), tenant.EventDue, same, week, refresh},
		"the catalog moved on":     {unchanged, tenant.EventDue, changed, week, refresh},
		"the tier is gone":         {unchanged, tenant.EventDue, refusing{}, week, refresh},
		"an event as well":         {reset(func(r *tenant.Record) { r.DesiredSeq++ }), tenant.EventDue, changed, week, []plan.Step{plan.StepRefresh, plan.StepUp}},
		"suspended":                {suspended, tenant.EventDue, same, week, refresh},
		"an operation was cut off": {reset(func(r *tenant.Record) { r.Progress = &tenant.Progress{Step: "up"} }), tenant.EventDue, same, week, []plan.Step{plan.StepRefresh, plan.StepUp}},
		"nothing stands":           {reset(func(r *tenant.Record) { r.Applied, r.AppliedSeq = nil, 0 }), tenant.EventDue, same, week, []plan.Step{plan.StepUp}},
		"reprovision":              {reset(withRequest(tenant.EventReprovision)), tenant.EventDue, same, week, []plan.Step{plan.StepRefresh, plan.StepUp}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			p, err := plan.Schedule{Drift: tt.every}.For(tt.rec(tt.kind), tt.catalog, atTime())
			require.NoError(t, err)
			require.Equal(t, tt.want, p.Steps)
		})
	}
}

func suspended(kind tenant.EventType) tenant.Record {
	rec := settledRow(tenant.EventSuspended, kind)
	rec.AppliedSeq, rec.Applied.Spec = 2, rec.Desired.Spec()

	return rec
}

func withRequest(kind tenant.EventType) func(*tenant.Record) {
	return func(rec *tenant.Record) {
		rec.Desired, _ = tenant.Apply(rec.Desired, tenant.Event{ID: "r", Type: kind, Version: versionOf(9)})
	}
}

// Only what the clock alone asked for may be done in silence.
func TestByClock(t *testing.T) {
	t.Parallel()

	due := settledRow(tenant.EventDue)
	require.True(t, plan.ByClock(due))
	require.True(t, plan.ByClock(suspended(tenant.EventDue)))

	served := settledRow(tenant.EventDue)
	served.Applied.Requests = map[tenant.RequestKind]tenant.Version{tenant.RequestDue: versionOf(1)}

	for name, rec := range map[string]tenant.Record{
		"settled":        settledRow(),
		"another event":  settledRow(tenant.EventRefresh),
		"two events":     settledRow(tenant.EventDue, tenant.EventUpdated),
		"served":         served,
		"never applied":  {Desired: due.Desired, DesiredSeq: 1},
		"beside another": func() tenant.Record { r := settledRow(tenant.EventDue); withRequest(tenant.EventPreview)(&r); return r }(),
		"another spec": func() tenant.Record {
			r := settledRow(tenant.EventDue)
			r.Applied.Spec.Parameters = tenant.Parameters{"size": []byte("2")}

			return r
		}(),
		"another phase": func() tenant.Record {
			r := settledRow(tenant.EventDue)
			r.Applied.Spec.Phase = tenant.PhaseAbsent

			return r
		}(),
	} {
		require.False(t, plan.ByClock(rec), name)
	}
}

// The first looks are spread over the interval, and every later one comes an
// interval after the last.
func TestNextLook(t *testing.T) {
	t.Parallel()

	const tenants, slices = 20_000, 20

	s := plan.Schedule{Drift: week}
	began := atTime()
	counts := make([]int, slices)

	for i := range tenants {
		id := tenant.ID(fmt.Sprintf("tenant-%05d", i))
		next := s.NextLook(id, time.Time{}, began)

		require.Equal(t, next, s.NextLook(id, began.Add(-2*week), began), "who was last looked at long ago")
		require.False(t, next.Before(began))
		require.True(t, next.Before(began.Add(week)))

		counts[next.Sub(began)*slices/week]++
	}

	for slice, n := range counts {
		require.InDelta(t, tenants/slices, n, tenants/slices/5.0, "slice %d", slice)
	}

	require.Equal(t, began.Add(week), s.NextLook("acme", began, began))
	require.Equal(t, began.Add(week/2), s.NextLook("acme", began.Add(-week/2), began), "a look from before counts")
	require.Zero(t, plan.Schedule{}.NextLook("acme", began, began))
}

// goneRow is of a tenant that was removed, and then asked for by the clock.
func goneRow(removed time.Time, retainDays int) tenant.Record {
	rec := settledRow(tenant.EventDeleted, tenant.EventDue)
	rec.AppliedSeq = 2
	rec.Applied = &tenant.Applied{
		Spec: tenant.Spec{Phase: tenant.PhaseAbsent}, Blueprint: tenant.Blueprint{Program: "silo", RetainDays: retainDays}, Generation: 1,
	}
	rec.Stack = tenant.Stack{Project: "lessor", Generation: 1, RemovedAt: removed}

	return rec
}

func TestPurge(t *testing.T) {
	t.Parallel()

	const day = 24 * time.Hour

	purge := []plan.Step{plan.StepPurge}
	change := func(f func(*tenant.Record)) tenant.Record {
		rec := goneRow(atTime().Add(-day), 0)
		f(&rec)

		return rec
	}

	for name, tt := range map[string]struct {
		rec   tenant.Record
		due   time.Time
		steps []plan.Step
	}{
		"a day later":      {goneRow(atTime().Add(-day), 0), atTime(), purge},
		"too early":        {goneRow(atTime().Add(-day+1), 0), atTime().Add(1), nil},
		"retained":         {goneRow(atTime().Add(-30*day), 30), atTime(), purge},
		"retained for yet": {goneRow(atTime().Add(-29*day), 30), atTime().Add(day), nil},
		"purged":           {change(func(r *tenant.Record) { r.Stack.RemovedAt = time.Time{} }), time.Time{}, nil},
		"tried before": {change(func(r *tenant.Record) {
			r.Last = &tenant.Outcome{Steps: []string{"purge"}, Failure: &tenant.Failure{Step: "purge"}}
		}), atTime(), purge},
		"not gone for certain": {
			change(func(r *tenant.Record) { r.FailedSeq = 3 }), atTime(), []plan.Step{plan.StepDestroy, plan.StepRemove},
		},
		"comes again": {change(withRequest(tenant.EventCreated)), atTime(), []plan.Step{plan.StepUp}},
		"stands":      {func() tenant.Record { r := settledRow(tenant.EventDue); r.Stack.RemovedAt = atTime(); return r }(), time.Time{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			require.True(t, tt.due.Equal(plan.Due(tt.rec)), plan.Due(tt.rec))

			p, err := plan.For(tt.rec, tierOf{Program: "silo"}, atTime())
			require.NoError(t, err)
			require.Equal(t, tt.steps, p.Steps)
			require.LessOrEqual(t, tt.rec.Applied.Generation, p.Generation, "names are not used again")
		})
	}

	until := atTime().Add(time.Minute)
	baking := settledRow()
	baking.Change = &tenant.Change{Stage: tenant.StageBaking, Until: until}
	require.Equal(t, until, plan.Due(baking))

	// What is kept of an earlier life is not removed with the rest of one that
	// never stood.
	rec := change(func(r *tenant.Record) { r.FailedSeq, r.Applied.Blueprint.RetainDays = 3, 30 })
	p, err := plan.For(rec, tierOf{}, atTime())
	require.NoError(t, err)
	require.Equal(t, tenant.Blueprint{RetainDays: 30}, p.Blueprint)
}
