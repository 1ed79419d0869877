package e2e_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Somebody changes a tenant's resources by hand. A refresh names exactly what is
// other than it was made, and a reprovision puts it right.
func TestDriftIsFoundAndRepaired(t *testing.T) {
	t.Parallel()

	const (
		id       = tenant.ID("drifter")
		database = "aws:rds/instance:Instance"
		iamLogin = "iamDatabaseAuthenticationEnabled"
		logs     = "enabledCloudwatchLogsExports"
	)

	f := newFleet(t, 1)
	f.create(id, "enterprise")
	f.applied(id, 1)

	look := func() []tenant.Difference {
		rec := f.request(id, tenant.EventRefresh)
		require.Equal(t, []string{"refresh"}, rec.Last.Steps)

		return rec.Last.Report
	}

	require.Empty(t, look())

	made := f.only(id, database)
	alias := "alias/" + strings.TrimSuffix(made.ID, "-db") + "-key"
	tamper := func() {
		f.tamper(id, database, func(inputs map[string]any) {
			inputs["deletionProtection"], inputs["backupRetentionPeriod"], inputs[iamLogin] = false, 1, true
			delete(inputs, logs)
		})
		require.NoError(t, local.Cloud().Remove(t.Context(), cloudsim.Removal{
			Type: cloudsim.TypeAlias, Region: made.Region, ID: alias, Behind: true,
		}))
	}
	promised := func() {
		db := f.only(id, database)
		require.Equal(t, made.Inputs[logs], db.Inputs[logs])
		require.InEpsilon(t, made.Inputs["backupRetentionPeriod"], db.Inputs["backupRetentionPeriod"], 0)
		require.Equal(t, true, db.Inputs["deletionProtection"])
		require.NotContains(t, db.Inputs, iamLogin)

		_, err := local.Cloud().Get(t.Context(), cloudsim.TypeAlias, made.Region, alias)
		require.NoError(t, err)
	}
	found := []tenant.Difference{
		{Type: cloudsim.TypeAlias, Name: "t1-key-alias", Action: "delete", Drift: true},
		{
			Type: database, Name: "t1-db", Action: "update", Drift: true,
			Properties: []string{"backupRetentionPeriod", "deletionProtection"}, Missing: []string{logs}, Extra: []string{iamLogin},
		},
	}

	promised()
	tamper()

	require.Equal(t, found, look())
	require.Equal(t, 1, f.resultsOf(id)["lessor.tenant.drifted.v1"])
	require.Equal(t, false, f.only(id, database).Inputs["deletionProtection"], "a look changes nothing")

	require.Empty(t, f.request(id, tenant.EventReprovision).Last.Report, "the state knew already")
	promised()
	require.Empty(t, look())

	tamper()
	require.Equal(t, found, f.request(id, tenant.EventReprovision).Last.Report)
	promised()
	require.Empty(t, look())
	require.Zero(t, f.resultsOf(id)["lessor.tenant.drifted.v1"], "what was found was repaired")

	metrics := get(t, f.workers[0].admin+"/metrics")
	require.Contains(t, metrics, `lessor_drift_detected_total{tier="enterprise"} 2`)
	require.Contains(t, metrics, `lessor_drift_resources_total{action="delete",tier="enterprise"} 2`)
	require.Contains(t, metrics, `lessor_drift_resources_total{action="update",tier="enterprise"} 2`)
}

// With an interval, the fleet looks by itself. It tells what it finds, once, and
// nobody hears of looks that find nothing.
func TestDriftIsLookedFor(t *testing.T) {
	t.Parallel()

	const id = tenant.ID("watched")

	f := newFleet(t, 1)
	f.create(id, "wired")
	f.applied(id, 1)
	require.Equal(t, map[string]int{"lessor.tenant.settled.v1": 1}, f.resultsOf(id))

	// The interval comes with the next release of the fleet.
	f.env = append(f.env, "LESSOR_DRIFT_INTERVAL=4s", "LESSOR_SWEEP_INTERVAL=1s")
	f.stop(f.workers[0])
	f.start()

	looked := func(after time.Time) tenant.Record {
		var rec tenant.Record

		f.await("a look", time.Minute, func() bool {
			rec = f.settled(id)

			return rec.LookedAt.After(after)
		})

		return rec
	}

	first := looked(f.settled(id).LookedAt)
	second := looked(first.LookedAt)

	require.Empty(t, second.Last.Report)
	require.Len(t, second.History, 1, "looks that find nothing are no history")
	require.Equal(t, second.DesiredSeq, second.AppliedSeq)
	require.Empty(t, f.resultsOf(id))

	f.tamper(id, cloudsim.TypeVPC, func(inputs map[string]any) { inputs["enableDnsSupport"] = false })

	want := []tenant.Difference{{
		Type: cloudsim.TypeVPC, Name: "t1-net", Action: "update", Drift: true, Properties: []string{"enableDnsSupport"},
	}}

	// The first look may have begun before.
	at := looked(time.Now())
	if at.Last.Report == nil {
		at = looked(at.LookedAt)
	}

	require.Equal(t, want, at.Last.Report)

	f.ask(tenant.EventSuspended, id)
	f.await("the suspension", time.Minute, func() bool { return f.settled(id).Applied.Spec.Phase == tenant.PhaseSuspended })
	require.Empty(t, looked(looked(time.Now()).LookedAt).Last.Report, "who is suspended is looked at too")

	told := f.resultsOf(id)
	require.Equal(t, map[string]int{"lessor.tenant.drifted.v1": 1, "lessor.tenant.settled.v1": 1}, told, "of the suspension")
}

// request sends a request and waits until it is served.
func (f *fleet) request(id tenant.ID, kind tenant.EventType) tenant.Record {
	f.t.Helper()

	before := f.settled(id)
	f.ask(kind, id)

	return f.applied(id, before.DesiredSeq+1)
}

// ask sends an event of now.
func (f *fleet) ask(kind tenant.EventType, id tenant.ID) {
	f.t.Helper()
	f.send(f.event(kind, id, time.Now(), nil))
}

// only is the one resource of a type that a tenant has.
func (f *fleet) only(id tenant.ID, typ string) cloudsim.Resource {
	f.t.Helper()

	list, err := local.Cloud().List(f.t.Context(), cloudsim.Filter{Type: typ, Tags: map[string]string{cloudsim.TagTenant: string(id)}})
	require.NoError(f.t, err)
	require.Len(f.t, list, 1)

	return list[0]
}

// tamper changes a resource as somebody at the console would.
func (f *fleet) tamper(id tenant.ID, typ string, change func(inputs map[string]any)) {
	f.t.Helper()

	r := f.only(id, typ)
	inputs := maps.Clone(r.Inputs)
	change(inputs)

	_, err := local.Cloud().Change(f.t.Context(), cloudsim.Change{
		Type: r.Type, Region: r.Region, ID: r.ID, Inputs: inputs, Behind: true,
	})
	require.NoError(f.t, err)
}

// resultsOf takes the results that were sent since it was last called and counts
// those of a tenant by their type. All workers must have told what they had to.
func (f *fleet) resultsOf(id tenant.ID) map[string]int {
	f.t.Helper()

	counts := map[string]int{}

	for {
		messages, err := f.results.Receive(f.t.Context(), 10)
		require.NoError(f.t, err)

		if len(messages) == 0 {
			return counts
		}

		for _, m := range messages {
			var told struct {
				Type    string    `json:"type"`
				Subject tenant.ID `json:"subject"`
			}

			require.NoError(f.t, json.Unmarshal(m.Body, &told))
			require.NoError(f.t, f.results.Delete(f.t.Context(), m))

			if told.Subject == id {
				counts[told.Type]++
			}
		}
	}
}
