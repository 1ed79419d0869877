package charts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// withStubs is a copy of the chart whose alerts and dashboard are small, so that
// golden files show only that they are in it.
func withStubs(t *testing.T) string {
	t.Helper()

	dir := filepath.Join(t.TempDir(), "lessor")
	require.NoError(t, os.CopyFS(dir, os.DirFS(chart)))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "files"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "files", "alerts.yaml"), []byte(`groups:
  - name: lessor
    rules:
      - alert: LessorAbsent
        expr: absent(up)
      - alert: Stub
        expr: up == 0
        annotations:
          summary: '{{ $labels.pod }} is {{ $value | humanize }}'
`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "files", "dashboard.json"), []byte("{\n  \"title\": \"{{pod}}\"\n}\n"), 0o600))

	return dir
}

// TestGolden shows in a review what a change of a template does. Run it with
// -update to write the files anew.
func TestGolden(t *testing.T) {
	t.Parallel()

	stubbed := withStubs(t)

	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got, err := template(t, stubbed, example(name), nil)
			require.NoError(t, err, got)

			file := filepath.Join("testdata", name+".golden")

			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
			}

			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), got, "run go test ./test/charts -run TestGolden -update, and look at the difference")
		})
	}
}

// TestGoldenFilesHaveExamples finds those that were forgotten.
func TestGoldenFilesHaveExamples(t *testing.T) {
	t.Parallel()

	golden, err := filepath.Glob(filepath.Join("testdata", "*.golden"))
	require.NoError(t, err)

	for i, file := range golden {
		golden[i] = strings.TrimSuffix(filepath.Base(file), ".golden")
	}

	require.Equal(t, examples(t), golden)
}

func TestLint(t *testing.T) {
	t.Parallel()

	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			out, err := run(t, nil, "helm", "lint", "--strict", chart, "--values", example(name))
			require.NoError(t, err, out)
		})
	}
}

// conforms holds objects against the schemas of Kubernetes and of the operators.
func conforms(t *testing.T, rendered string) (string, error) {
	t.Helper()

	return run(t, []byte(rendered), "kubeconform", "-strict", "-summary",
		"-schema-location", schemas+"/{{ .ResourceKind }}{{ .KindSuffix }}.json")
}

func TestSchemas(t *testing.T) {
	t.Parallel()

	stubbed := withStubs(t)

	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			rendered, err := template(t, stubbed, example(name), nil)
			require.NoError(t, err, rendered)

			out, err := conforms(t, rendered)
			require.NoError(t, err, out)
			require.Contains(t, out, "Invalid: 0, Errors: 0, Skipped: 0")
		})
	}
}

// TestSchemasRefuse makes sure that the schemas see what a cluster would refuse.
func TestSchemasRefuse(t *testing.T) {
	t.Parallel()

	rendered, err := template(t, withStubs(t), example("everything"), nil)
	require.NoError(t, err, rendered)

	autoscaled, err := template(t, chart, example("hpa"), nil)
	require.NoError(t, err, autoscaled)

	for _, c := range [][2]string{
		{"terminationGracePeriodSeconds: 2160", "terminationGracePeriod: 2160"},
		{"maxReplicaCount: 30", "maxReplicas: 30"},
		{"pollingInterval: 15", `pollingInterval: "15"`},
		{"provider: aws", "provider: amazon"},
		{"podMetricsEndpoints:", "endpoints:"},
		{"alert: Stub", "alarm: Stub"},
		{"unhealthyPodEvictionPolicy:", "evictionPolicy:"},
		{"ipBlock: {cidr:", "block: {cidr:"},
		{"clusterIP: None", "clusterIP: {}"},
		{"averageUtilization: 50", "averageUtilization: fifty"},
		{"endpoints:\n", "endpoint:\n"},
		{"automountServiceAccountToken: false\n\n", "automountServiceAccountToken: never\n\n"},
		{"apiVersion: apps/v1\nkind: Deployment\nmetadata:\n", "apiVersion: apps/v1\nkind: Deployment\nmeta:\n"},
	} {
		t.Run(strings.TrimSpace(c[1]), func(t *testing.T) {
			t.Parallel()

			source := rendered
			if !strings.Contains(source, c[0]) {
				source = autoscaled
			}

			require.Contains(t, source, c[0])

			out, err := conforms(t, strings.Replace(source, c[0], c[1], 1))
			require.Error(t, err, out)
			require.Contains(t, out, "Invalid: 1, Errors: 0", out)
		})
	}
}

// TestAlertsAreLeftOut where they make no sense: a fleet that sleeps is absent
// and well.
func TestAlertsAreLeftOut(t *testing.T) {
	t.Parallel()

	dir := withStubs(t)

	for name, c := range map[string]struct {
		more values
		want []string
	}{
		"none":            {nil, []string{"LessorAbsent", "Stub"}},
		"by name":         {values{}.set("monitoring.rules.without", []string{"Stub"}), []string{"LessorAbsent"}},
		"may sleep":       {values{}.set("scaling.minReplicas", 0), []string{"Stub"}},
		"never sleeps":    {values{}.set("scaling", values{"mode": "fixed", "minReplicas": 0}), []string{"LessorAbsent", "Stub"}},
		"nothing is left": {values{}.set("monitoring.rules.without", []string{"Stub", "LessorAbsent"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			out, err := template(t, dir, example("everything"), c.more)
			require.NoError(t, err, out)

			rules, _ := decode(t, out)["PrometheusRule"].at("spec.groups.0.rules").([]any)
			require.Len(t, rules, len(c.want))

			for i, rule := range rules {
				require.Equal(t, c.want[i], object(rule.(map[string]any)).text(t, "alert")) //nolint:forcetypeassert // it panics and tells
			}
		})
	}
}

// TestFiles checks that alerts and dashboard arrive as they are, although they
// have braces of their own, and that a chart without them is a chart.
func TestFiles(t *testing.T) {
	t.Parallel()

	shown := func(t *testing.T, dir string) objects {
		t.Helper()

		rendered, err := template(t, dir, example("everything"), nil)
		require.NoError(t, err, rendered)

		out, err := conforms(t, rendered)
		require.NoError(t, err, out)

		return decode(t, rendered)
	}

	t.Run("none", func(t *testing.T) {
		t.Parallel()

		dir := withStubs(t)
		require.NoError(t, os.RemoveAll(filepath.Join(dir, "files")))

		all := shown(t, dir)
		require.NotContains(t, all, "PrometheusRule")
		require.NotContains(t, all, "dashboard")
		require.Contains(t, all, "PodMonitor")
	})

	for name, dir := range map[string]string{"stubs": withStubs(t), "ours": chart} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			all := shown(t, dir)

			alerts, err := os.ReadFile(filepath.Join(dir, "files", "alerts.yaml"))
			if err != nil {
				require.NotContains(t, all, "PrometheusRule")
			} else {
				require.Equal(t, fromYAML(t, alerts), all["PrometheusRule"].at("spec"))
				require.Equal(t, "prometheus", all["PrometheusRule"].at("metadata.labels.release"))
			}

			dashboard, err := os.ReadFile(filepath.Join(dir, "files", "dashboard.json"))
			if err != nil {
				require.NotContains(t, all, "dashboard")
			} else {
				data, ok := all["dashboard"].at("data").(map[string]any)
				require.True(t, ok)
				require.Equal(t, map[string]any{"lessor.json": string(dashboard)}, data)
				require.Equal(t, "1", all["dashboard"].at("metadata.labels.grafana_dashboard"))
			}
		})
	}
}
