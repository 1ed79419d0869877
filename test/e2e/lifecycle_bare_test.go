package e2e_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

const bareCatalog = `version: 1
tiers:
  pooled:
    program: pool
    parameters: {sharedEndpoint: pool.example.com}
`

// Who has data is deleted, or leaves a tier, although neither tier nor program are
// there any more.
func TestTiersThatAreNoMore(t *testing.T) {
	t.Parallel()

	f := newLifecycle(t, "")
	tiers := map[tenant.ID]string{"bereft-bridge": tierBridge, "bereft-silo": tierSilo, "bereft-mover": tierBridge}

	for id, tier := range tiers {
		f.create(id, tier)
	}

	for id, tier := range tiers {
		require.True(t, f.serves(id, tier).Applied.Blueprint.Protect)
		f.has(id, nil, tier)
	}

	f.move("bereft-mover", tierPool)
	f.serves("bereft-mover", tierPool)

	path := filepath.Join(t.TempDir(), "bare.yaml")
	require.NoError(t, os.WriteFile(path, []byte(bareCatalog), 0o600))
	f.stop(f.workers[0])

	f.env = append(f.env, "LESSOR_CATALOG="+path, bareVariable+"=1")
	f.start()

	f.say(tenant.EventDeleted, "bereft-bridge", nil)
	f.say(tenant.EventDeleted, "bereft-silo", nil)
	f.retire("bereft-mover")

	require.False(t, f.gone("bereft-bridge").Stack.Created)
	require.False(t, f.gone("bereft-silo").Stack.Created)
	require.Equal(t, tierPool, f.single("bereft-mover").Applied.Spec.Tier)

	for id, tier := range tiers {
		f.has(id, []string{tier})
	}

	require.Contains(t, string(f.workers[1].log.bytes()), "is not built into this worker")
	require.Equal(t, 1, f.backups("bereft-bridge"))
	require.Equal(t, 1, f.backups("bereft-mover"))
	f.idle(time.Minute)
}
