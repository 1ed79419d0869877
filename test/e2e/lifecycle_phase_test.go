package e2e_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// A tenant of each tier is suspended and resumed, and gets its outputs back. Then
// it is deleted, suspended once more, and begins again under its id with nothing
// of its former life.
func TestSuspendResumeDeleteAndReturn(t *testing.T) {
	t.Parallel()

	f := newLifecycle(t, "")
	tiers := map[tenant.ID]string{"sleeper-pool": tierPool, "sleeper-bridge": tierBridge, "sleeper-silo": tierSilo}
	own := map[tenant.ID]tenant.Parameters{
		"sleeper-pool":   {"schemaPrefix": []byte(`"former_"`)},
		"sleeper-bridge": {"desiredCount": []byte("3")},
		"sleeper-silo":   {"backupDays": []byte("9")},
	}
	first, began := map[tenant.ID]tenant.Record{}, time.Now()

	for id, tier := range tiers {
		f.send(f.event(tenant.EventCreated, id, began, func(e *tenant.Event) { e.Tier, e.Parameters = tier, own[id] }))
	}

	for id, tier := range tiers {
		first[id] = f.serves(id, tier)
		f.has(id, nil, tier)
		f.say(tenant.EventSuspended, id, nil)
	}

	for id, tier := range tiers {
		rec := f.phase(id, tenant.PhaseSuspended)
		f.has(id, nil, tier)
		f.cutOff(id)
		require.JSONEq(t, "false", string(rec.Outputs["serving"]))

		rec.Outputs["serving"] = first[id].Outputs["serving"]
		f.sameOutputs(first[id], rec)
		f.say(tenant.EventResumed, id, nil)
	}

	for id := range tiers {
		f.sameOutputs(first[id], f.phase(id, tenant.PhaseActive))

		resumed := now()
		f.uninterrupted(id, resumed)
		f.say(tenant.EventSuspended, id, nil)
		f.say(tenant.EventDeleted, id, nil)
	}

	for id, tier := range tiers {
		rec := f.gone(id)
		require.False(t, rec.Stack.Created)
		require.Empty(t, rec.Outputs)
		f.has(id, []string{tier})
		f.say(tenant.EventCreated, id, func(e *tenant.Event) { e.Tier = tier })

		// News of the former life come late.
		f.send(f.event(tenant.EventUpdated, id, began.Add(time.Millisecond), func(e *tenant.Event) { e.Parameters = own[id] }))
	}

	for id, tier := range tiers {
		rec := f.serves(id, tier)
		require.Equal(t, tenant.PhaseActive, rec.Applied.Spec.Phase, "who is created again is not suspended")
		require.Empty(t, rec.Applied.Spec.Parameters)
		require.Greater(t, rec.Applied.Generation, first[id].Applied.Generation, "its names are new")
		require.NotContains(t, string(rec.Outputs["sharedClusterSchema"]), "former")
		f.has(id, []string{tier}, tier)
		f.uninterrupted(id, now())
	}

	f.idle(time.Minute)

	for id, tier := range tiers {
		require.Equal(t, map[string]any{tierBridge: 2.0, tierSilo: 7.0}[tier], f.setting(id), "as the tier says")
	}
}

// phase waits until a tenant is in a phase and all is done.
func (f *fleet) phase(id tenant.ID, phase tenant.Phase) tenant.Record {
	f.t.Helper()

	return f.row(id, "to be "+string(phase), func(rec tenant.Record) bool {
		return f.done(rec) && rec.Applied.Spec.Phase == phase
	})
}

// cutOff checks that nothing leads to a tenant and no task of it runs.
func (f *fleet) cutOff(id tenant.ID) {
	f.t.Helper()

	for _, r := range f.resources(id) {
		switch r.Type {
		case cloudsim.TypeService:
			require.Zero(f.t, r.Inputs["desiredCount"])
			require.Empty(f.t, r.Inputs["loadBalancers"])
		case cloudsim.TypeSecurityGroup:
			require.Empty(f.t, r.Inputs["ingress"], r.Tags["Name"])
		case cloudsim.TypeListenerRule:
			actions, _ := r.Inputs["actions"].([]any)
			require.Len(f.t, actions, 1)
			require.NotContains(f.t, actions[0], "targetGroupArn")
		}
	}
}

// setting is what the parameters of this test are about, nil for a pool.
func (f *fleet) setting(id tenant.ID) any {
	f.t.Helper()

	settings := map[string]string{cloudsim.TypeService: "desiredCount", cloudsim.TypeInstance: "backupRetentionPeriod"}

	for _, r := range f.resources(id) {
		if slices.Contains(slices.Collect(maps.Keys(settings)), r.Type) {
			return r.Inputs[settings[r.Type]]
		}
	}

	return nil
}

// The checks of interruptions see one: without it none of them would mean a thing.
func TestInterruptionsAreSeen(t *testing.T) {
	t.Parallel()

	const id = tenant.ID("interrupted-bridge")

	f := newLifecycle(t, "")
	f.create(id, tierBridge)
	f.serves(id, tierBridge)

	since := now()
	f.uninterrupted(id, since)
	f.say(tenant.EventSuspended, id, nil)
	f.phase(id, tenant.PhaseSuspended)
	f.say(tenant.EventResumed, id, nil)
	f.phase(id, tenant.PhaseActive)

	gaps := f.gaps(id, since)
	require.NotEmpty(t, gaps)
	require.True(t, gaps[0].From.After(since))

	since = now()
	f.uninterrupted(id, since)

	for _, r := range f.resources(id) {
		if r.Type == cloudsim.TypeListenerRule {
			require.NoError(t, local.Cloud().Remove(t.Context(), cloudsim.Removal{
				Type: r.Type, Region: r.Region, ID: r.ID, Behind: true,
			}))
		}
	}

	require.Len(t, f.gaps(id, since), 1)
}
