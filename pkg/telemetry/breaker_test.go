package telemetry_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/telemetry"
)

func TestBreakerChanged(t *testing.T) {
	t.Parallel()

	reg := prometheus.NewPedanticRegistry()
	m := telemetry.NewMetrics(reg, []string{"silo"})
	labels := map[string]string{"region": "eu-west-1", "tier": "silo"}

	for _, step := range []struct{ state, opened int }{{2, 1}, {1, 1}, {2, 2}, {1, 2}, {0, 2}} {
		m.BreakerChanged("eu-west-1", "silo", step.state)

		state, ok := sample(t, reg, "lessor_breaker_state", labels)
		require.True(t, ok)
		require.InDelta(t, step.state, state, 0)

		opened, ok := sample(t, reg, "lessor_breaker_opened_total", labels)
		require.True(t, ok)
		require.InDelta(t, step.opened, opened, 0)
	}

	// Rows may name tiers that left the catalog.
	m.BreakerChanged("eu-west-1", "gone-tier", 2)

	_, ok := sample(t, reg, "lessor_breaker_state", map[string]string{"region": "eu-west-1", "tier": "other"})
	require.True(t, ok)
}
