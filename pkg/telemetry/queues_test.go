package telemetry_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/telemetry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestQueues(t *testing.T) {
	t.Parallel()

	reg := prometheus.NewRegistry()
	m := telemetry.NewMetrics(reg, nil)

	shown := func(queue, state string) (float64, bool) {
		return sample(t, reg, "lessor_queue_messages", map[string]string{"queue": queue, "state": state})
	}

	_, ok := shown(telemetry.QueueEvents, "visible")
	require.False(t, ok, "nothing is claimed before the first look")

	m.QueueCounted(telemetry.QueueEvents, 3, 2, 1)
	m.QueueCounted(telemetry.QueueDeadLetters, 4, 0, 0)
	m.BacklogAged(90 * time.Second)

	for state, want := range map[string]float64{"visible": 3, "in_flight": 2, "delayed": 1} {
		got, ok := shown(telemetry.QueueEvents, state)
		require.True(t, ok)
		require.InDelta(t, want, got, 0, state)
	}

	age, _ := sample(t, reg, "lessor_backlog_age_seconds", nil)
	require.InDelta(t, 90, age, 0)

	// A dead-letter queue that cannot be counted must not look empty, and takes
	// nothing from the other one.
	m.QueueUncounted(telemetry.QueueDeadLetters)

	_, ok = shown(telemetry.QueueDeadLetters, "visible")
	require.False(t, ok)
	_, ok = shown(telemetry.QueueEvents, "delayed")
	require.True(t, ok)
	_, ok = sample(t, reg, "lessor_backlog_age_seconds", nil)
	require.True(t, ok)

	failed, _ := sample(t, reg, "lessor_queue_counts_total", map[string]string{"queue": "dead_letters", "outcome": "error"})
	require.InDelta(t, 1, failed, 0)

	m.QueueUncounted(telemetry.QueueEvents)

	_, ok = sample(t, reg, "lessor_backlog_age_seconds", nil)
	require.False(t, ok)

	m.QueueCounted(telemetry.QueueDeadLetters, 4, 0, 0)
	m.BacklogAged(time.Second)
	m.ForgetQueues()

	_, ok = shown(telemetry.QueueDeadLetters, "visible")
	require.False(t, ok)
	_, ok = sample(t, reg, "lessor_backlog_age_seconds", nil)
	require.False(t, ok)
}

func TestMemoryIsAPartOfTheBudget(t *testing.T) {
	t.Parallel()

	reg := prometheus.NewRegistry()
	m := telemetry.NewMetrics(reg, nil)
	m.OperationFinished("free", tenant.Outcome{}, 1, 95)

	observed := func() float64 {
		n, _ := sample(t, reg, "lessor_operation_memory_budget_ratio", nil)

		return n
	}
	require.Zero(t, observed(), "there is no budget")

	m.Limited(telemetry.Limits{
		Slots: 3, Memory: 1000, OperationMemory: 100, OperationTimeout: 2 * time.Hour, SweepInterval: time.Minute,
	})
	m.OperationFinished("free", tenant.Outcome{}, 1, 0)
	require.Zero(t, observed(), "the peak is not known")

	m.OperationFinished("free", tenant.Outcome{}, 1, 95)
	require.InDelta(t, 1, observed(), 0)

	families, err := reg.Gather()
	require.NoError(t, err)

	for _, family := range families {
		if family.GetName() != "lessor_operation_memory_budget_ratio" {
			continue
		}

		for _, bucket := range family.GetMetric()[0].GetHistogram().GetBucket() {
			require.Equal(t, bucket.GetUpperBound() >= 0.95, bucket.GetCumulativeCount() == 1, bucket.GetUpperBound())
		}
	}

	for name, want := range map[string]float64{
		"slots": 3, "memory_limit_bytes": 1000, "operation_memory_budget_bytes": 100, "operation_timeout_seconds": 7200,
		"sweep_interval_seconds": 60,
	} {
		got, ok := sample(t, reg, "lessor_"+name, nil)
		require.True(t, ok, name)
		require.InDelta(t, want, got, 0, name)
	}
}
