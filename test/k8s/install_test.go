//go:build linux

package k8s_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// withoutOperator leaves out the types of the Prometheus operator, which this
// server does not have.
const withoutOperator = `monitoring: {podMonitor: {enabled: false}, serviceMonitor: {enabled: false}, rules: {enabled: false}}
`

// TestServerTakesTheChart installs the chart with every example of values.
func TestServerTakesTheChart(t *testing.T) { //nolint:paralleltest // one control plane at a time is enough for a small machine
	guard(t)

	c := startServer(t)
	without := filepath.Join(t.TempDir(), "without.yaml")
	require.NoError(t, os.WriteFile(without, []byte(withoutOperator), 0o600))

	examples, err := filepath.Glob(filepath.Join(chart, "ci", "*.yaml"))
	require.NoError(t, err)
	require.NotEmpty(t, examples)

	for _, example := range examples { //nolint:paralleltest // helm takes turns
		name := strings.TrimSuffix(filepath.Base(example), ".yaml")

		t.Run(name, func(t *testing.T) {
			c.install(t, name, example, without)

			var deployments struct{ Items []any }

			c.api.get(t, "/apis/apps/v1/namespaces/"+name+"/deployments", &deployments)
			require.Len(t, deployments.Items, 1)
		})
	}
}
