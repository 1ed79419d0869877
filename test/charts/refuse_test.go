package charts_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTyposAreRefused: what the schema does not know does nothing, and nobody
// shall believe that it does.
func TestTyposAreRefused(t *testing.T) {
	t.Parallel()

	for path, want := range map[string]string{
		"replicas":                        "additional properties 'replicas' not allowed",
		"scaling.minReplica":              "at '/scaling': additional properties 'minReplica' not allowed",
		"scaling.keda.scaleOnInflight":    "at '/scaling/keda': additional properties 'scaleOnInflight' not allowed",
		"scaling.keda.queueLength":        "at '/scaling/keda': additional properties 'queueLength' not allowed",
		"resources.limits.mem":            "at '/resources/limits': additional properties 'mem' not allowed",
		"affinity.podAffinities":          "additional properties 'podAffinities' not allowed",
		"queue.deadLetterURL":             "at '/queue': additional properties 'deadLetterURL' not allowed",
		"monitoring.podMonitor.enable":    "at '/monitoring/podMonitor': additional properties 'enable' not allowed",
		"securityContext.privileged":      "at '/securityContext': additional properties 'privileged' not allowed",
		"disruption.budget.maxUnavailabe": "at '/disruption/budget': additional properties 'maxUnavailabe' not allowed",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			refused(t, "minimal", values{}.set(path, "1"), want)
		})
	}
}

// TestWrongValuesAreRefused with the name of the value.
func TestWrongValuesAreRefused(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		path  string
		value any
		want  string
	}{
		{"scaling.mode", "auto", "at '/scaling/mode': value must be one of 'keda', 'hpa', 'fixed'"},
		{"scaling.minReplicas", "1", "at '/scaling/minReplicas': got string, want integer"},
		{"scaling.maxReplicas", 0, "at '/scaling/maxReplicas'"},
		{"drain.timeout", "30 min", "at '/drain/timeout': '30 min' does not match pattern"},
		{"drain.timeout", "", "at '/drain/timeout'"},
		{"drain.timeout", 1800, "at '/drain/timeout': got number, want string"},
		{"operations.memory", "768MB", "at '/operations/memory'"},
		{"operations.memory", "1.5Gi", "at '/operations/memory'"},
		{"resources.limits.memory", "", "at '/resources/limits/memory'"},
		{"breaker.tenants", 1, "at '/breaker/tenants'"},
		{"queue.url", "lessor-events", "at '/queue/url'"},
		{"queue.url", "https://example.com/too/long/path", "at '/queue/url'"},
		{"state.buckets", []string{"a_b"}, "at '/state/buckets/0'"},
		{"state.buckets", []string{"lessor-0", "lessor-0"}, "at '/state/buckets': items at 0 and 1 are equal"},
		{"state.buckets", "lessor-0", "at '/state/buckets': got string, want array"},
		{"aws.roleArn", "lessor-worker", "at '/aws/roleArn'"},
		{"aws.identity", "iam", "at '/aws/identity'"},
		{"image.digest", "sha256:abc", "at '/image/digest'"},
		{"securityContext.runAsUser", 0, "at '/securityContext/runAsUser'"},
		{"env", map[string]any{"A": 1}, "at '/env/A': got number, want string"},
		{"env", map[string]any{"A-B": "1"}, "A-B"},
		{"commonLabels", map[string]any{"a": true}, "at '/commonLabels/a': got boolean, want string"},
		{"tolerations", []any{map[string]any{"effects": "NoSchedule"}}, "at '/tolerations/0': additional properties 'effects' not allowed"},
		{"networkPolicy.egressCIDRs", []string{"everywhere"}, "at '/networkPolicy/egressCIDRs/0'"},
	} {
		t.Run(c.path, func(t *testing.T) {
			t.Parallel()
			refused(t, "minimal", values{}.set(c.path, c.value), c.want)
		})
	}
}

// TestValuesThatDoNotFitAreRefused with what to do about it.
func TestValuesThatDoNotFitAreRefused(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		example string
		more    values
		want    string
	}{
		"irsa without a role":      {"minimal", values{}.set("aws.roleArn", ""), "aws.roleArn is not set; set it to the role"},
		"irsa without an account":  {"irsa", values{}.set("serviceAccount.name", ""), "serviceAccount.name is not set"},
		"one queue":                {"minimal", values{}.set("queue.deadLetterUrl", "https://sqs.eu-west-1.amazonaws.com/111122223333/lessor-events"), "queue.deadLetterUrl is the queue of events itself"},
		"two catalogs":             {"minimal", values{}.set("catalog.existingConfigMap", "tiers"), "are both set; keep one"},
		"little memory":            {"minimal", values{}.set("resources.limits.memory", "2047Mi").set("resources.requests.memory", "1Gi"), "resources.limits.memory is 2047Mi; a worker needs at least 2Gi"},
		"more asked than allowed":  {"minimal", values{}.set("resources.requests.memory", "5Gi"), "resources.requests.memory is 5Gi, above resources.limits.memory (4Gi)"},
		"no slot":                  {"minimal", values{}.set("operations.memory", "4Gi"), "no operation fits into the memory"},
		"less than the reserve":    {"minimal", values{}.set("capacity.memoryReserve", "9Gi"), "no operation fits into the memory"},
		"slots beyond the limit":   {"minimal", values{}.set("capacity.memoryLimit", "5Gi"), "capacity.memoryLimit is 5Gi, above resources.limits.memory (4Gi)"},
		"an operation of 11 hours": {"minimal", values{}.set("operations.timeout", "11h"), "operations.timeout is 11h; it must be below 11h"},
		"more at least than most":  {"minimal", values{}.set("scaling.minReplicas", 11), "scaling.minReplicas is 11, above scaling.maxReplicas (10)"},
		"nobody to wake it up":     {"hpa", values{}.set("scaling.minReplicas", 0), "scaling.minReplicas is 0; only scaling.mode keda"},
		"nothing to scale by":      {"hpa", values{}.set("scaling.hpa.memoryUtilization", 0), "scaling.hpa has nothing to scale by"},
		"no authentication":        {"minimal", values{}.set("scaling.keda.authentication.create", false), "scaling.keda.authentication.name is not set"},
		"of the cluster":           {"minimal", values{}.set("scaling.keda.authentication.kind", "ClusterTriggerAuthentication"), "the chart makes none"},
		"workload without a role":  {"pod-identity", values{}.set("scaling.keda.authentication", values{"identityOwner": "workload", "roleArn": ""}), "only with aws.identity irsa"},
		"two roles":                {"irsa", values{}.set("scaling.keda.authentication.roleArn", "arn:aws:iam::111122223333:role/keda"), "remove one of the two"},
		"two monitors":             {"everything", values{}.set("monitoring.serviceMonitor.enabled", true), "everything would be counted twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, c.example, c.more, c.want)
		})
	}

	// Of what is missing, all is said at once.
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()

		for _, name := range []string{
			"image.repository", "aws.region", "aws.roleArn", "queue.url", "queue.deadLetterUrl", "state.buckets", "state.secretsProvider", "catalog.content",
		} {
			refused(t, "../values", nil, "- "+name+" is ")
		}
	})
}

func refused(t *testing.T, name string, more values, want string) {
	t.Helper()

	out, err := template(t, chart, example(name), more)
	require.Error(t, err, "it was rendered")
	require.Contains(t, out, want)
}
