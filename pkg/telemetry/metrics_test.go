package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/telemetry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// sample is the value of one series, by its labels in any order.
func sample(t *testing.T, reg *prometheus.Registry, name string, labels map[string]string) (float64, bool) {
	t.Helper()

	families, err := reg.Gather()
	require.NoError(t, err)

	for _, family := range families {
		if family.GetName() != name {
			continue
		}

	series:
		for _, m := range family.GetMetric() {
			for _, pair := range m.GetLabel() {
				if labels[pair.GetName()] != pair.GetValue() {
					continue series
				}
			}

			switch {
			case m.GetCounter() != nil:
				return m.GetCounter().GetValue(), true
			case m.GetGauge() != nil:
				return m.GetGauge().GetValue(), true
			default:
				return float64(m.GetHistogram().GetSampleCount()), true
			}
		}
	}

	return 0, false
}

func TestNewMetrics(t *testing.T) {
	t.Parallel()

	reg := prometheus.NewPedanticRegistry()
	m := telemetry.NewMetrics(reg, []string{"free", "enterprise"})
	m.Watch(func() int { return 3 }, func() time.Duration { return 90 * time.Second })
	m.Built("v1.2.3")

	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)

	families, err := reg.Gather()
	require.NoError(t, err)

	var own []string

	for _, family := range families {
		name, ok := strings.CutPrefix(family.GetName(), "lessor_")
		if !ok {
			require.Regexp(t, "^(go|process)_", family.GetName())

			continue
		}

		own = append(own, name)

		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				require.NotContains(t, []string{"tenant", "tenant_id", "message", "message_id", "owner"}, label.GetName())
			}
		}
	}

	// A metric without a series is not gathered: every one of these starts at
	// zero without anything having happened.
	require.ElementsMatch(t, []string{
		"messages_received_total", "messages_deleted_total", "messages_dead_lettered_total", "messages_released_total",
		"message_queue_duration_seconds", "receive_requests_total", "last_successful_poll_timestamp_seconds",
		"message_receipts_lost_total", "events_accepted_total",
		"lease_acquisitions_total", "lease_renewals_total", "lease_lost_total",
		"operations_total", "operation_duration_seconds", "operation_steps_total", "operation_memory_bytes",
		"operation_phase_seconds_total",
		"operations_in_progress", "longest_running_operation_seconds", "cli_processes_total", "results_published_total",
		"state_repairs_total", "orphans_found_total",
		"sweep_rows_total", "sweep_duration_seconds", "last_successful_sweep_timestamp_seconds", "tenants_waiting",
		"drift_detected_total", "drift_resources_total",
		"queue_counts_total", "state_writes_refused_total", "operation_memory_budget_bytes", "operation_memory_budget_ratio",
		"operation_timeout_seconds", "sweep_interval_seconds",
		"slots", "slots_used", "memory_limit_bytes", "draining", "paused", "build_info",
	}, own)

	for name, labels := range map[string]map[string]string{
		"lessor_messages_received_total":       {"type": "lessor.tenant.created.v1"},
		"lessor_messages_deleted_total":        {"outcome": "handed_over"},
		"lessor_messages_released_total":       {"reason": "backoff"},
		"lessor_operations_total":              {"tier": "enterprise", "outcome": "failed", "kind": "quota"},
		"lessor_operation_steps_total":         {"step": "prepare-delete", "outcome": "failed"},
		"lessor_lease_acquisitions_total":      {"outcome": "takeover"},
		"lessor_queue_counts_total":            {"queue": "dead_letters", "outcome": "error"},
		"lessor_state_writes_refused_total":    {"kind": "lease-lost"},
		"lessor_sweep_rows_total":              {"action": "nudged"},
		"lessor_tenants_waiting":               {"reason": "uncreated"},
		"lessor_events_accepted_total":         {"type": "lessor.tenant.deleted.v1", "changed": "false"},
		"lessor_operation_memory_bytes":        nil,
		"lessor_operation_phase_seconds_total": {"phase": "state_open"},
		"lessor_messages_dead_lettered_total":  {"reason": "not-json"},
	} {
		value, ok := sample(t, reg, name, labels)
		require.True(t, ok, name)
		require.Zero(t, value, name)
	}

	used, _ := sample(t, reg, "lessor_slots_used", nil)
	require.InDelta(t, 3, used, 0)

	longest, _ := sample(t, reg, "lessor_longest_running_operation_seconds", nil)
	require.InDelta(t, 90, longest, 0)
}

func TestTimeSpent(t *testing.T) {
	t.Parallel()

	reg := prometheus.NewRegistry()
	m := telemetry.NewMetrics(reg, nil)

	get := func(p phase.Phase) float64 {
		value, ok := sample(t, reg, "lessor_operation_phase_seconds_total", map[string]string{"phase": string(p)})
		require.True(t, ok, p)

		return value
	}

	for _, p := range phase.All() {
		require.Zero(t, get(p), p)
	}

	m.TimeSpent(phase.Times{phase.Engine: 1500 * time.Millisecond, phase.Commit: 20 * time.Millisecond})
	m.TimeSpent(phase.Times{phase.Engine: 500 * time.Millisecond})

	require.InDelta(t, 2, get(phase.Engine), 1e-9)
	require.InDelta(t, 0.02, get(phase.Commit), 1e-9)
	require.Zero(t, get(phase.Provider))
}

func TestHistogramsAreClassicAndNative(t *testing.T) {
	t.Parallel()

	reg := prometheus.NewRegistry()
	m := telemetry.NewMetrics(reg, []string{"free"})
	m.OperationFinished("free", tenant.Outcome{Duration: time.Minute}, 1, 200<<20)
	m.MessageQueueDuration.Observe(2)

	families, err := reg.Gather()
	require.NoError(t, err)

	seen := 0

	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), "lessor_") || family.GetMetric()[0].GetHistogram() == nil {
			continue
		}

		for _, metric := range family.GetMetric() {
			h := metric.GetHistogram()
			require.NotEmpty(t, h.GetBucket(), family.GetName())
			require.NotNil(t, h.Schema, family.GetName())

			if h.GetSampleCount() > 0 {
				seen++

				require.NotEmpty(t, h.GetPositiveSpan(), family.GetName())
			}
		}
	}

	require.Equal(t, 3, seen)
}

func TestOperationFinished(t *testing.T) {
	t.Parallel()

	reg := prometheus.NewRegistry()
	m := telemetry.NewMetrics(reg, []string{"free"})

	get := func(name string, labels map[string]string) float64 {
		value, ok := sample(t, reg, "lessor_"+name, labels)
		require.True(t, ok, name)

		return value
	}

	failed := func(step string, kind tenant.Kind) tenant.Outcome {
		return tenant.Outcome{Steps: []string{"refresh", "up", "destroy"}, Failure: &tenant.Failure{Kind: kind, Step: step}}
	}

	m.OperationFinished("free", tenant.Outcome{Steps: []string{"up"}, Duration: 3 * time.Second}, 2, 100<<20)
	m.OperationFinished("free", failed("up", tenant.KindQuota), 1, 0)
	m.OperationFinished("gone-tier", failed("", tenant.KindUnknown), 0, 0)

	require.InDelta(t, 1, get("operations_total", map[string]string{"tier": "free", "outcome": "succeeded", "kind": "none"}), 0)
	require.InDelta(t, 1, get("operations_total", map[string]string{"tier": "free", "outcome": "failed", "kind": "quota"}), 0)
	require.InDelta(t, 1, get("operations_total", map[string]string{"tier": "other", "outcome": "failed", "kind": "unknown"}), 0)
	require.InDelta(t, 1, get("operation_duration_seconds", map[string]string{"tier": "free", "outcome": "succeeded"}), 0)
	require.InDelta(t, 1, get("operation_steps_total", map[string]string{"step": "up", "outcome": "succeeded"}), 0)
	require.InDelta(t, 1, get("operation_steps_total", map[string]string{"step": "up", "outcome": "failed"}), 0)
	require.InDelta(t, 1, get("operation_steps_total", map[string]string{"step": "refresh", "outcome": "succeeded"}), 0)
	require.InDelta(t, 0, get("operation_steps_total", map[string]string{"step": "destroy", "outcome": "succeeded"}), 0)
	require.InDelta(t, 3, get("cli_processes_total", nil), 0)
	require.InDelta(t, 1, get("operation_memory_bytes", nil), 0, "an unknown peak is none")

	m.Accepted(tenant.EventCreated, true)
	require.InDelta(t, 1, get("events_accepted_total", map[string]string{"type": "lessor.tenant.created.v1", "changed": "true"}), 0)
}
