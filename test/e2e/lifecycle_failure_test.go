package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// forbid has the cloud refuse what a tenant's resources of a type are asked, every
// time, until the fault is cleared.
func (f *fleet) forbid(id tenant.ID, op cloudsim.Operation, typ string) string {
	f.t.Helper()

	set, err := local.Cloud().SetFault(f.t.Context(), cloudsim.Fault{
		Effect: cloudsim.EffectFail, Code: "AccessDenied", Message: "User: x is not authorized to perform this",
		Operation: op, Type: typ, Tenant: id.String(), Times: -1,
	})
	require.NoError(f.t, err)

	return set.ID
}

// A tier change that fails before the switch leads back to the old tier, which
// noticed nothing. Nothing of the new one is left.
func TestTierChangeThatFailsBeforeTheSwitch(t *testing.T) {
	t.Parallel()

	const id = tenant.ID("returner")

	f := newLifecycle(t, "")
	f.create(id, tierBridge)
	before := f.serves(id, tierBridge)
	had, since := f.ids(id, tierBridge), now()

	fault := f.forbid(id, cloudsim.OperationCreate, cloudsim.TypeInstance)
	f.move(id, tierSilo)

	rec := f.stays(id, before)
	require.Equal(t, tenant.KindDenied, rec.Last.Failure.Kind)
	require.Contains(t, rec.Last.Failure.Message, "is not authorized")
	require.Equal(t, had, f.ids(id, tierBridge))
	f.has(id, nil, tierBridge)
	require.Zero(t, f.backups(id))
	f.uninterrupted(id, since)

	t.Log("once it is allowed, the next word on the tier does it, under names of its own")
	require.NoError(t, local.Cloud().ClearFaults(t.Context(), fault))
	f.move(id, tierSilo)

	rec = f.serves(id, tierSilo)
	require.Equal(t, before.Applied.Generation+2, rec.Applied.Generation)
	f.has(id, nil, tierBridge, tierSilo)
	f.uninterrupted(id, since)
}

// What fails after the switch leaves the new tier serving, and the old one is kept
// until somebody decides.
func TestTierChangeThatFailsAfterTheSwitch(t *testing.T) {
	t.Parallel()

	const id = tenant.ID("hoarder")

	f := newLifecycle(t, "")
	f.create(id, tierBridge)
	f.serves(id, tierBridge)

	since := now()

	f.move(id, tierPool)
	switched := f.serves(id, tierPool)

	fault := f.forbid(id, cloudsim.OperationDelete, cloudsim.TypeTable)
	f.retire(id)

	rec := f.givenUp(id)
	require.Equal(t, tenant.KindDenied, rec.Last.Failure.Kind)
	require.Equal(t, tierPool, rec.Applied.Spec.Tier)
	f.sameOutputs(switched, rec)
	require.NotNil(t, rec.Change)
	require.Equal(t, tierBridge, rec.Change.Other.Spec.Tier)
	require.True(t, rec.DueAt.IsZero(), "people decide, not the clock")
	require.Contains(t, f.made(id)[tierBridge], cloudsim.TypeTable)

	t.Log("somebody decides")
	require.NoError(t, local.Cloud().ClearFaults(t.Context(), fault))
	f.retire(id)
	f.sameOutputs(switched, f.single(id))
	f.has(id, []string{tierBridge}, tierPool)
	require.Equal(t, 1, f.backups(id))
	f.uninterrupted(id, since)
}

// While the old topology bakes, a tenant goes back to it as it was: nothing of it
// is made again, and what it had changed to bakes in its stead.
func TestGoingBackWhileTheOldTopologyBakes(t *testing.T) {
	t.Parallel()

	const id = tenant.ID("regretter")

	f := newLifecycle(t, "")
	f.create(id, tierSilo)
	before := f.serves(id, tierSilo)
	had, since := f.ids(id, tierSilo), now()

	f.move(id, tierBridge)
	f.serves(id, tierBridge)
	f.has(id, nil, tierSilo, tierBridge)
	f.move(id, tierSilo)

	rec := f.serves(id, tierSilo)
	require.Equal(t, before.Applied.Generation, rec.Applied.Generation)
	require.Equal(t, tenant.StageBaking, rec.Change.Stage)
	require.Equal(t, tierBridge, rec.Change.Other.Spec.Tier)
	f.sameOutputs(before, rec)
	f.has(id, nil, tierSilo, tierBridge)
	f.retire(id)
	f.single(id)
	f.has(id, []string{tierBridge}, tierSilo)
	require.Equal(t, had, f.ids(id, tierSilo), "it is the same")
	f.uninterrupted(id, since)

	t.Log("its data is still protected, and a deletion keeps a snapshot")

	for _, r := range f.resources(id) {
		if r.Type == cloudsim.TypeInstance {
			require.Equal(t, true, r.Inputs["deletionProtection"])
		}
	}

	f.say(tenant.EventDeleted, id, nil)
	f.gone(id)
	f.has(id, []string{tierSilo})
	f.idle(time.Minute)
}
