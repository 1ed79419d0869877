package e2e_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Two tenants go through all changes from tier to tier at the same time. Before,
// during and after each, the cloud has what the tiers promise, and there is no
// moment in which the tenant's outputs lead to nothing.
func TestEveryTierChange(t *testing.T) {
	t.Parallel()

	lives := map[tenant.ID][]string{
		"climber": {tierPool, tierBridge, tierSilo, tierPool},
		"diver":   {tierPool, tierSilo, tierBridge, tierPool},
	}

	f := newLifecycle(t, "")
	since := map[tenant.ID]time.Time{}

	for id, tiers := range lives {
		f.create(id, tiers[0])
	}

	for id, tiers := range lives {
		f.serves(id, tiers[0])

		since[id] = now()
	}

	for i := range lives["climber"][1:] {
		before := map[tenant.ID]tenant.Record{}

		for id, tiers := range lives {
			before[id] = f.serves(id, tiers[i])
			f.has(id, tiers[:i], tiers[i])
			f.move(id, tiers[i+1])
		}

		for id, tiers := range lives {
			rec := f.serves(id, tiers[i+1])
			f.has(id, tiers[:i], tiers[i], tiers[i+1])
			require.Equal(t, tenant.StageBaking, rec.Change.Stage)
			require.Equal(t, before[id].Applied.Generation, rec.Change.Other.Generation)
			require.Equal(t, before[id].Applied.Generation+1, rec.Applied.Generation)
			require.NotEqual(t, before[id].Outputs, rec.Outputs)
			f.retire(id)
		}

		for id, tiers := range lives {
			rec := f.single(id)
			f.has(id, tiers[:i+1], tiers[i+1])
			require.Equal(t, tiers[i+1], rec.Applied.Spec.Tier)
			f.uninterrupted(id, since[id])
		}
	}

	for id := range lives {
		require.Equal(t, 1, f.backups(id), "what left the bridge had one table")
		f.say(tenant.EventDeleted, id, nil)
	}

	for id, tiers := range lives {
		rec := f.gone(id)
		require.False(t, rec.Stack.Created)
		f.has(id, tiers)
		require.Empty(t, f.locks(rec.Stack))
	}
}
