package charts_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/catalog"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// TestPodsAreLockedDown holds for what is installed and for what tests it.
func TestPodsAreLockedDown(t *testing.T) {
	t.Parallel()

	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			all := render(t, name, nil)

			for kind, spec := range map[string]string{"Deployment": "spec.template.spec", "Pod": "spec"} {
				pod := all[kind]

				require.Equal(t, true, pod.at(spec+".securityContext.runAsNonRoot"))
				require.InDelta(t, 65532, pod.at(spec+".securityContext.runAsUser"), 0)
				require.Equal(t, "RuntimeDefault", pod.at(spec+".securityContext.seccompProfile.type"))
				require.Equal(t, false, pod.at(spec+".automountServiceAccountToken"))
				require.Equal(t, map[string]any{
					"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
					"capabilities": map[string]any{"drop": []any{"ALL"}},
				}, pod.at(spec+".containers.0.securityContext"))
				require.NotEmpty(t, pod.at(spec+".containers.0.resources.limits.memory"))
				require.Nil(t, pod.at(spec+".containers.1"))
			}
		})
	}
}

// TestPodCanWrite finds a volume under everything that the worker writes.
func TestPodCanWrite(t *testing.T) {
	t.Parallel()

	pod := render(t, "everything", values{}.set("workDir.path", "/scratch"))["Deployment"]

	mounts := map[string]string{}
	writable := []string{}

	list, ok := pod.at(worker + ".volumeMounts").([]any)
	require.True(t, ok)

	for _, item := range list {
		mount, ok := item.(map[string]any)
		require.True(t, ok)

		mounts[object(mount).text(t, "mountPath")] = object(mount).text(t, "name")
		if mount["readOnly"] != true {
			writable = append(writable, object(mount).text(t, "mountPath"))
		}
	}

	require.ElementsMatch(t, []string{"/scratch", "/tmp"}, writable)
	require.Equal(t, "/scratch", pod.environment(t)["LESSOR_WORK_DIR"])
	require.Equal(t, "/scratch", pod.environment(t)["HOME"], "the image's own is no volume any more")

	volumes := map[string]map[string]any{}

	list, ok = pod.at("spec.template.spec.volumes").([]any)
	require.True(t, ok)

	for _, item := range list {
		volume, ok := item.(map[string]any)
		require.True(t, ok)

		volumes[object(volume).text(t, "name")] = volume
	}

	require.ElementsMatch(t, slices.Collect(maps.Values(mounts)), slices.Collect(maps.Keys(volumes)))

	for _, path := range writable {
		require.Contains(t, volumes[mounts[path]], "emptyDir")
	}
}

func TestProbes(t *testing.T) {
	t.Parallel()

	pod := render(t, "minimal", values{}.set("admin.port", 9191))["Deployment"]

	require.InDelta(t, 9191, pod.at(worker+".ports.0.containerPort"), 0)
	require.Equal(t, ":9191", pod.environment(t)["LESSOR_ADMIN_ADDRESS"])

	for probe, path := range map[string]string{"startupProbe": "/healthz", "livenessProbe": "/healthz", "readinessProbe": "/readyz"} {
		require.Equal(t, path, pod.at(worker+"."+probe+".httpGet.path"))
		require.Equal(t, pod.at(worker+".ports.0.name"), pod.at(worker+"."+probe+".httpGet.port"))
	}

	// The worker's own look at AWS ends after ten seconds.
	require.Greater(t, pod.at(worker+".readinessProbe.timeoutSeconds"), 10.0)
}

// TestGraceCoversTheDrain: the kubelet must not kill what the worker still lets
// finish.
func TestGraceCoversTheDrain(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		drain, grace, margin string
		want                 time.Duration
	}{
		{"30m", "5m", "60s", 36 * time.Minute},
		{"1h30m", "90s", "5s", 91*time.Minute + 35*time.Second},
		{"2h0m0s", "1m30s", "1m", 122*time.Minute + 30*time.Second},
		{"0s", "1s", "0s", time.Second},
		{"10h", "100m", "3600s", 12*time.Hour + 40*time.Minute},
	} {
		t.Run(c.drain+" "+c.grace, func(t *testing.T) {
			t.Parallel()

			pod := render(t, "minimal", values{}.set("drain.timeout", c.drain).set("drain.margin", c.margin).
				set("operations.interruptGrace", c.grace))["Deployment"]

			require.InDelta(t, c.want.Seconds(), pod.at("spec.template.spec.terminationGracePeriodSeconds"), 0)
			require.Equal(t, c.drain, pod.environment(t)["LESSOR_DRAIN_TIMEOUT"])
			require.Equal(t, c.grace, pod.environment(t)["LESSOR_INTERRUPT_GRACE"])

			drain, err := time.ParseDuration(c.drain)
			require.NoError(t, err)
			require.LessOrEqual(t, drain, c.want)
		})
	}
}

// anything is a program that takes all parameters. Ours would link Pulumi.
type anything struct{}

func (anything) Check(tenant.Parameters) error { return nil }

// TestCatalog makes sure that workers restart with a new catalog, and that what
// they read is what was given.
func TestCatalog(t *testing.T) {
	t.Parallel()

	all := render(t, "minimal", nil)
	content := all["ConfigMap"].at("data").(map[string]any)["catalog.yaml"].(string) //nolint:forcetypeassert // it panics and tells

	_, err := catalog.Parse([]byte(content), map[string]catalog.Checker{"pool": anything{}, "shared": anything{}}, nil)
	require.NoError(t, err)

	const checksum = "checksum/catalog"

	before, ok := all["Deployment"].at("spec.template.metadata.annotations").(map[string]any)
	require.True(t, ok)
	require.Len(t, before[checksum], 64)

	changed := render(t, "minimal", values{}.set("catalog.content", content+"# changed\n"))
	after, ok := changed["Deployment"].at("spec.template.metadata.annotations").(map[string]any)
	require.True(t, ok)
	require.NotEqual(t, before[checksum], after[checksum])

	require.Equal(t, "/etc/lessor/catalog.yaml", all["Deployment"].environment(t)["LESSOR_CATALOG"])

	foreign := render(t, "irsa", values{}.set("catalog.key", "tiers.yaml"))
	require.NotContains(t, foreign, "ConfigMap")
	require.Equal(t, "/etc/lessor/tiers.yaml", foreign["Deployment"].environment(t)["LESSOR_CATALOG"])
	require.Equal(t, "tiers", foreign["Deployment"].at("spec.template.spec.volumes.2.configMap.name"))
}

// TestSelectorsFindThePods: a selector that selects nothing is no error anywhere.
func TestSelectorsFindThePods(t *testing.T) {
	t.Parallel()

	for name, more := range map[string]values{
		"everything": nil,
		"hpa":        values{}.set("networkPolicy.enabled", true).set("nameOverride", "fleet"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			all := render(t, name, more)
			labels, ok := all["Deployment"].at("spec.template.metadata.labels").(map[string]any)
			require.True(t, ok)

			checked, ok := all["Pod"].at("metadata.labels").(map[string]any)
			require.True(t, ok)

			for kind, path := range map[string]string{
				"Deployment":          "spec.selector.matchLabels",
				"NetworkPolicy":       "spec.podSelector.matchLabels",
				"PodDisruptionBudget": "spec.selector.matchLabels",
				"PodMonitor":          "spec.selector.matchLabels",
				"Service":             "spec.selector",
				"ServiceMonitor":      "spec.selector.matchLabels",
			} {
				if name == "hpa" && kind == "PodMonitor" || name == "everything" && kind == "ServiceMonitor" {
					continue
				}

				selector, ok := all[kind].at(path).(map[string]any)
				require.True(t, ok, kind)
				require.NotEmpty(t, selector)
				require.Subset(t, labels, selector, kind)
				require.NotSubset(t, checked, selector, "the pod of helm test is none of the workers")
			}
		})
	}

	spread := render(t, "minimal", nil)["Deployment"]
	require.Equal(t, spread.at("spec.selector"), spread.at("spec.template.spec.topologySpreadConstraints.0.labelSelector"))

	watched := render(t, "hpa", nil)
	require.Subset(t, watched["Service"].at("metadata.labels"), watched["ServiceMonitor"].at("spec.selector.matchLabels"))
	require.Equal(t, watched["Service"].at("spec.ports.0.name"), watched["ServiceMonitor"].at("spec.endpoints.0.port"))
}

func TestRights(t *testing.T) {
	t.Parallel()

	const role = "arn:aws:iam::111122223333:role/lessor-worker"

	annotation := func(all objects) any {
		annotations, _ := all["ServiceAccount"].at("metadata.annotations").(map[string]any)

		return annotations["eks.amazonaws.com/role-arn"]
	}

	t.Run("irsa", func(t *testing.T) {
		t.Parallel()

		all := render(t, "minimal", nil)
		require.Equal(t, role, annotation(all))
		require.Equal(t, all["ServiceAccount"].at("metadata.name"), all["Deployment"].at("spec.template.spec.serviceAccountName"))

		all = render(t, "irsa", nil)
		require.NotContains(t, all, "ServiceAccount")
		require.Equal(t, "lessor-worker", all["Deployment"].at("spec.template.spec.serviceAccountName"))
		require.Equal(t, "workload", all["TriggerAuthentication"].at("spec.podIdentity.identityOwner"))
	})

	t.Run("pod identity", func(t *testing.T) {
		t.Parallel()

		all := render(t, "pod-identity", nil)
		require.Nil(t, annotation(all), "with both, the annotation would win")

		annotated := render(t, "pod-identity", values{}.set("serviceAccount.annotations.of", "mine"))
		require.Equal(t, map[string]any{"of": "mine"}, annotated["ServiceAccount"].at("metadata.annotations"))
		require.Equal(t, "arn:aws:iam::111122223333:role/keda-queues", all["TriggerAuthentication"].at("spec.podIdentity.roleArn"))
		require.Equal(t, "169.254.170.23/32", all["NetworkPolicy"].at("spec.egress.2.to.0.ipBlock.cidr"))
	})

	t.Run("none", func(t *testing.T) {
		t.Parallel()

		all := render(t, "fixed", nil)
		require.Nil(t, annotation(all))
		require.Equal(t, "http://localaws.default.svc:4566", all["Deployment"].environment(t)["AWS_ENDPOINT_URL"])

		watched := render(t, "fixed", values{}.set("scaling.mode", "keda"))["ScaledObject"]
		require.Equal(t, "http://localaws.default.svc:4566", watched.at("spec.triggers.0.metadata.awsEndpoint"))
	})
}

func TestDisruption(t *testing.T) {
	t.Parallel()

	annotations := func(all objects) map[string]any {
		found, _ := all["Deployment"].at("spec.template.metadata.annotations").(map[string]any)

		return found
	}

	all := render(t, "minimal", nil)
	require.Equal(t, "false", annotations(all)["cluster-autoscaler.kubernetes.io/safe-to-evict"])
	require.Equal(t, "true", annotations(all)["karpenter.sh/do-not-disrupt"])
	require.InDelta(t, 1, all["PodDisruptionBudget"].at("spec.maxUnavailable"), 0)

	all = render(t, "fixed", nil)
	require.Equal(t, "true", annotations(all)["cluster-autoscaler.kubernetes.io/safe-to-evict"])
	require.NotContains(t, annotations(all), "karpenter.sh/do-not-disrupt")
	require.NotContains(t, all, "PodDisruptionBudget")
}

// TestNamesFit: DNS takes 63 characters, and a name that is cut off must not
// become the name of something else.
func TestNamesFit(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("n", 62) + "-x"
	all := render(t, "everything", values{}.set("fullnameOverride", long))
	names := map[string]string{}

	for kind, o := range all {
		name := o.text(t, "metadata.name")
		require.LessOrEqual(t, len(name), 63, kind)
		require.NotEqual(t, "-", name[len(name)-1:])

		names[kind] = name
	}

	require.NotEqual(t, names["ConfigMap"], names["dashboard"])
	require.Equal(t, namespace, all["Deployment"].at("metadata.namespace"))
}
