package charts_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sethvargo/go-envconfig"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/config"
)

// TestEveryVariableIsReachable: the example that sets everything sets every
// variable of a worker, and the worker takes them all.
func TestEveryVariableIsReachable(t *testing.T) {
	t.Parallel()

	env := render(t, "everything", nil)["Deployment"].environment(t)

	for _, name := range config.Names() {
		require.Contains(t, env, name, "give it a value of its own in values.yaml")
	}

	for name := range env {
		if strings.HasPrefix(name, "LESSOR_") {
			require.Contains(t, config.Names(), name, "no worker reads it")
		}
	}
}

// TestWorkersAcceptTheEnvironment of every example.
func TestWorkersAcceptTheEnvironment(t *testing.T) {
	t.Parallel()

	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			all := render(t, name, nil)
			env := all["Deployment"].environment(t)

			cfg, err := config.LoadWorker(t.Context(), envconfig.MapLookuper(env))
			require.NoError(t, err)
			require.Equal(t, env["LESSOR_TABLE"], cfg.Registry.Table)

			// The pod of helm test sees the same, and takes no work.
			require.Equal(t, []any{"check"}, all["Pod"].at("spec.containers.0.args"))
			require.Equal(t, all["Deployment"].at(worker+".env"), all["Pod"].at("spec.containers.0.env"))
		})
	}
}

// TestDefaultsAreTheWorkers: a value that nobody set means what the README says
// of the variable.
func TestDefaultsAreTheWorkers(t *testing.T) {
	t.Parallel()

	env := render(t, "minimal", nil)["Deployment"].environment(t)

	rows := regexp.MustCompile("(?m)^\\| `(LESSOR_[A-Z_]+)` \\| `([^`]+)` \\|").FindAllStringSubmatch(config.MarkdownTable(), -1)
	require.Greater(t, len(rows), 15)

	for _, row := range rows {
		// What has a default in words, such as "`pulumi` on PATH", is not set.
		require.Equal(t, row[2], env[row[1]], row[1])
	}
}

func TestMoreEnvironment(t *testing.T) {
	t.Parallel()

	env := render(t, "minimal", values{}.set("env", map[string]string{
		"HTTPS_PROXY": "http://egress.example.com", "LESSOR_OF_TOMORROW": "007",
	}))["Deployment"].environment(t)
	require.Equal(t, "http://egress.example.com", env["HTTPS_PROXY"])
	require.Equal(t, "007", env["LESSOR_OF_TOMORROW"])

	for _, name := range append(config.Names(), "AWS_REGION", "AWS_ENDPOINT_URL", "SSL_CERT_FILE") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			out, err := template(t, chart, example("minimal"), values{}.set("env", map[string]string{name: "x"}))
			require.Error(t, err)
			require.Contains(t, out, "env."+name+" is set by a value of its own")
		})
	}
}
