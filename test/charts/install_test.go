package charts_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// notes are what helm says after an installation.
func notes(t *testing.T, name string, args ...string) string {
	t.Helper()

	out, err := run(t, nil, "helm", append([]string{
		"install", release, chart, "--namespace", namespace, "--dry-run=client", "--values", example(name),
	}, args...)...)
	require.NoError(t, err, out)

	_, text, ok := strings.Cut(out, "NOTES:\n")
	require.True(t, ok)

	return text
}

func TestNotes(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		example string
		args    []string
		said    []string
		unsaid  []string
	}{
		"keda": {
			example: "minimal",
			said: []string{
				"A pod has 5 slots", "given 2160 seconds to drain",
				"helm test lessor --namespace fleet",
				"kubectl --namespace fleet port-forward deployment/lessor 9090",
				"AWS_REGION=eu-west-1 LESSOR_QUEUE_URL=https://sqs.eu-west-1.amazonaws.com/111122223333/lessor-events LESSOR_TABLE=lessor-tenants",
				"enqueue provision acme",
				"kubectl --namespace fleet get scaledobject lessor",
			},
			unsaid: []string{"pod-identity-association", "describe hpa", "sleeps"},
		},
		"pod identity": {
			example: "pod-identity",
			said: []string{
				"create-pod-identity-association", "--namespace fleet --service-account lessor",
				"--role-arn arn:aws:iam::111122223333:role/lessor-worker",
			},
		},
		"sleeping": {example: "keda-zero", said: []string{"A pod has 10 slots", `wakes up at "0 * * * *" (Etc/UTC)`}},
		"sleeping for ever": {
			example: "keda-zero", args: []string{"--set", "scaling.keda.wake.enabled=false"},
			said: []string{"nothing wakes it for what is due by the clock"}, unsaid: []string{"wakes up at"},
		},
		"hpa":   {example: "hpa", said: []string{"describe hpa lessor"}, unsaid: []string{"scaledobject"}},
		"fixed": {example: "fixed", unsaid: []string{"scaledobject", "describe hpa"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			text := notes(t, c.example, c.args...)

			for _, line := range c.said {
				require.Contains(t, text, line)
			}

			for _, line := range c.unsaid {
				require.NotContains(t, text, line)
			}
		})
	}
}

// TestPackage installs what a registry would hold, and not only what is in the
// repository.
func TestPackage(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()

	out, err := run(t, nil, "helm", "package", chart, "--destination", dir)
	require.NoError(t, err, out)

	packages, err := filepath.Glob(filepath.Join(dir, "lessor-*.tgz"))
	require.NoError(t, err)
	require.Len(t, packages, 1)

	packed, err := template(t, packages[0], example("everything"), nil)
	require.NoError(t, err, packed)

	unpacked, err := template(t, chart, example("everything"), nil)
	require.NoError(t, err)
	require.Equal(t, unpacked, packed)
}
