package charts_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/capacity"
)

// slotsOf asks the worker's own code how many slots it will have.
func slotsOf(t require.TestingT, limit, override, reserve, operation string, most int) (int, error) {
	cfg := capacity.Config{MaxSlots: most}

	var total capacity.Bytes

	for text, into := range map[*string]*capacity.Bytes{
		&limit: &total, &override: &cfg.MemoryLimit, &reserve: &cfg.MemoryReserve, &operation: &cfg.OperationMemory,
	} {
		require.NoError(t, into.UnmarshalText([]byte(*text)))
	}

	// The kernel keeps limits in whole pages.
	const page = 4096

	total -= total % page

	if cfg.MemoryLimit > 0 {
		total = cfg.MemoryLimit
	}

	slots, err := capacity.Slots(total, cfg)
	if err != nil {
		return 0, err
	}

	return slots, nil
}

func sized(limit, override, reserve, operation string, most int) values {
	return values{}.
		set("resources.limits.memory", limit).set("resources.requests.memory", "1Gi").
		set("capacity.memoryLimit", override).set("capacity.memoryReserve", reserve).
		set("operations.memory", operation).set("operations.maxSlots", most)
}

// TestQueueLengthIsTheSlotsOfAPod is what makes KEDA ask for as many pods as the
// queue needs: one message is one slot.
func TestQueueLengthIsTheSlotsOfAPod(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		limit, override, reserve, operation string
		most, want                          int
	}{
		{"2Gi", "", "256Mi", "768Mi", 32, 2},
		{"4Gi", "", "256Mi", "768Mi", 32, 5},
		{"8Gi", "", "256Mi", "768Mi", 32, 10},
		{"8192Mi", "", "256Mi", "768Mi", 4, 4},
		{"64Gi", "", "256Mi", "768Mi", 32, 32},
		{"16G", "", "512M", "1G", 32, 15},
		{"2Gi", "", "0", "2Gi", 32, 1},
		{"2147483648", "", "0", "1073741824", 32, 2},
		// A limit that is no whole number of pages is rounded down.
		{"3G", "", "0", "1G", 32, 2},
		{"8Gi", "3Gi", "256Mi", "768Mi", 32, 3},
		// What was configured is taken as it is.
		{"3Gi", "3G", "0", "1G", 32, 3},
		{"1Ti", "", "256Mi", "64Mi", 1024, 1024},
	} {
		t.Run(c.limit+" "+c.override+" "+c.operation, func(t *testing.T) {
			t.Parallel()

			slots, err := slotsOf(t, c.limit, c.override, c.reserve, c.operation, c.most)
			require.NoError(t, err)
			require.Equal(t, c.want, slots)

			all := render(t, "minimal", sized(c.limit, c.override, c.reserve, c.operation, c.most))
			require.Equal(t, strconv.Itoa(slots), all["ScaledObject"].at("spec.triggers.0.metadata.queueLength"))

			// The worker gets the same numbers to compute with.
			env := all["Deployment"].environment(t)
			require.Equal(t, c.operation, env["LESSOR_OPERATION_MEMORY"])
			require.Equal(t, c.reserve, env["LESSOR_MEMORY_RESERVE"])
			require.Equal(t, strconv.Itoa(c.most), env["LESSOR_MAX_SLOTS"])
			require.Equal(t, c.override, env["LESSOR_MEMORY_LIMIT"])
			require.Equal(t, c.limit, all["Deployment"].at(worker+".resources.limits.memory"))
		})
	}
}

// TestQueueLengthIsAlwaysTheSlotsOfAPod does the same for any numbers.
func TestQueueLengthIsAlwaysTheSlotsOfAPod(t *testing.T) {
	t.Parallel()

	tool(t, "helm")

	rapid.Check(t, func(r *rapid.T) {
		unit := rapid.SampledFrom([]string{"", "k", "Ki", "M", "Mi"})
		amount := func(name string, least, most int) string {
			u := unit.Draw(r, name+" unit")
			scale := map[string]int{"": 1 << 20, "k": 1 << 10, "Ki": 1 << 10, "M": 1, "Mi": 1}[u]

			return strconv.Itoa(rapid.IntRange(least*scale, most*scale).Draw(r, name)) + u
		}

		limit := amount("limit", 2200, 90_000)
		reserve := amount("reserve", 1, 3000)
		operation := amount("operation", 1, 3000)
		most := rapid.IntRange(1, 1024).Draw(r, "most")

		out, err := template(t, chart, example("minimal"), sized(limit, "", reserve, operation, most))

		slots, refused := slotsOf(r, limit, "", reserve, operation, most)
		if refused != nil {
			require.Error(r, err)
			require.Contains(r, out, "no operation fits into the memory")

			return
		}

		require.NoError(r, err, out)
		require.Equal(r, strconv.Itoa(slots), decode(t, out)["ScaledObject"].at("spec.triggers.0.metadata.queueLength"))
	})
}

func TestScalesByTheQueue(t *testing.T) {
	t.Parallel()

	all := render(t, "minimal", nil)
	scaled := all["ScaledObject"]

	require.Nil(t, all["Deployment"].at("spec.replicas"), "the number of pods is KEDA's, and an upgrade must not reset it")
	require.Equal(t, all["Deployment"].at("metadata.name"), scaled.at("spec.scaleTargetRef.name"))
	require.Equal(t, all["TriggerAuthentication"].at("metadata.name"), scaled.at("spec.triggers.0.authenticationRef.name"))
	require.Equal(t, "aws", all["TriggerAuthentication"].at("spec.podIdentity.provider"))
	require.Equal(t, all["Deployment"].environment(t)["LESSOR_QUEUE_URL"], scaled.at("spec.triggers.0.metadata.queueURL"))
	require.Equal(t, "true", scaled.at("spec.triggers.0.metadata.scaleOnInFlight"))
	require.InDelta(t, 1, scaled.at("spec.minReplicaCount"), 0)
	require.Nil(t, scaled.at("spec.triggers.1"), "one pod is always there to look at the clock")
	require.NotContains(t, all, "HorizontalPodAutoscaler", "KEDA makes its own")

	down, ok := scaled.at("spec.advanced.horizontalPodAutoscalerConfig.behavior.scaleDown").(map[string]any)
	require.True(t, ok)
	require.InDelta(t, 900, down["stabilizationWindowSeconds"], 0)
	require.Equal(t, []any{map[string]any{"type": "Pods", "value": 1.0, "periodSeconds": 300.0}}, down["policies"],
		"one pod at a time, which may have half an hour of work to finish")
}

func TestAuthenticationOfKEDA(t *testing.T) {
	t.Parallel()

	const key = "scaling.keda.authentication"

	own := render(t, "minimal", values{}.set(key+".name", "queues"))
	require.Equal(t, "queues", own["TriggerAuthentication"].at("metadata.name"))
	require.Equal(t, "queues", own["ScaledObject"].at("spec.triggers.0.authenticationRef.name"))

	foreign := render(t, "minimal", values{}.set(key, values{"create": false, "kind": "ClusterTriggerAuthentication", "name": "queues"}))
	require.NotContains(t, foreign, "TriggerAuthentication")
	require.Equal(t, map[string]any{"kind": "ClusterTriggerAuthentication", "name": "queues"},
		foreign["ScaledObject"].at("spec.triggers.0.authenticationRef"))
}

// TestSleepingFleetWakesUp: what is due by the clock is seen by workers only, so
// a fleet that may sleep needs a clock.
func TestSleepingFleetWakesUp(t *testing.T) {
	t.Parallel()

	scaled := render(t, "keda-zero", nil)["ScaledObject"]
	require.InDelta(t, 0, scaled.at("spec.minReplicaCount"), 0)
	require.Equal(t, "cron", scaled.at("spec.triggers.1.type"))
	require.Equal(t, "1", scaled.at("spec.triggers.1.metadata.desiredReplicas"))

	scaled = render(t, "keda-zero", values{}.set("scaling.keda.wake.enabled", false))["ScaledObject"]
	require.Nil(t, scaled.at("spec.triggers.1"))
}

func TestScalesWithoutKEDA(t *testing.T) {
	t.Parallel()

	t.Run("hpa", func(t *testing.T) {
		t.Parallel()

		all := render(t, "hpa", nil)
		scaler := all["HorizontalPodAutoscaler"]

		require.NotContains(t, all, "ScaledObject")
		require.NotContains(t, all, "TriggerAuthentication")
		require.Nil(t, all["Deployment"].at("spec.replicas"))
		require.Equal(t, all["Deployment"].at("metadata.name"), scaler.at("spec.scaleTargetRef.name"))
		require.Equal(t, "memory", scaler.at("spec.metrics.0.resource.name"))
		require.InDelta(t, 900, scaler.at("spec.behavior.scaleDown.stabilizationWindowSeconds"), 0)
	})

	t.Run("own metrics", func(t *testing.T) {
		t.Parallel()

		metric := map[string]any{
			"type": "External",
			"external": map[string]any{
				"metric": map[string]any{"name": "backlog"}, "target": map[string]any{"type": "AverageValue", "averageValue": "5"},
			},
		}
		rendered, err := template(t, chart, example("hpa"), values{}.set("scaling.hpa.metrics", []any{metric}))
		require.NoError(t, err, rendered)
		require.Equal(t, []any{metric}, decode(t, rendered)["HorizontalPodAutoscaler"].at("spec.metrics"))

		out, err := conforms(t, rendered)
		require.NoError(t, err, out)
	})

	t.Run("fixed", func(t *testing.T) {
		t.Parallel()

		all := render(t, "fixed", nil)

		require.NotContains(t, all, "ScaledObject")
		require.NotContains(t, all, "HorizontalPodAutoscaler")
		require.InDelta(t, 3, all["Deployment"].at("spec.replicas"), 0)
	})
}
