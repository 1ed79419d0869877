// Package charts_test renders the Helm chart with helm itself and looks at what
// comes out. `make charts` builds the tools that it needs.
package charts_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

const (
	root      = "../.."
	chart     = root + "/charts/lessor"
	schemas   = root + "/charts/schemas"
	release   = "lessor"
	namespace = "fleet"
)

var update = flag.Bool("update", false, "write golden files and the chart's README.md anew") //nolint:gochecknoglobals // a flag

// tool finds a tool that `make charts` builds. A short run does without.
func tool(t *testing.T, name string) string {
	t.Helper()

	path, err := filepath.Abs(filepath.Join(root, ".bin", name))
	require.NoError(t, err)

	if _, err := os.Stat(path); err != nil {
		if testing.Short() {
			t.Skipf("no .bin/%s; make charts builds it", name)
		}

		require.NoError(t, err, "make charts builds it")
	}

	return path
}

// run runs a tool and returns what it says, on both channels if it fails.
func run(t *testing.T, stdin []byte, name string, args ...string) (string, error) {
	t.Helper()

	var stdout, stderr bytes.Buffer

	cmd := exec.CommandContext(t.Context(), tool(t, name), args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &stdout, &stderr
	// Neither what the user of this machine has set nor a cluster may count.
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}

	if err := cmd.Run(); err != nil {
		return stdout.String() + stderr.String(), err
	}

	return stdout.String(), nil
}

// values are values of the chart.
type values map[string]any

// set returns values with one more, at a path with dots.
func (v values) set(path string, value any) values {
	result := maps.Clone(v)
	if result == nil {
		result = values{}
	}

	name, rest, nested := strings.Cut(path, ".")
	if !nested {
		result[name] = value

		return result
	}

	inner, _ := result[name].(values)
	result[name] = inner.set(rest, value)

	return result
}

// example is a file with values in the chart's ci directory.
func example(name string) string { return filepath.Join(chart, "ci", name+".yaml") }

// examples are the names of all of them.
func examples(t *testing.T) []string {
	t.Helper()

	files, err := filepath.Glob(example("*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)

	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".yaml")
	}

	return files
}

// template renders the chart in dir with an example and more values.
func template(t *testing.T, dir, example string, more values) (string, error) {
	t.Helper()

	args := []string{"template", release, dir, "--namespace", namespace, "--values", example}

	if more != nil {
		file := filepath.Join(t.TempDir(), "more.yaml")
		data, err := json.Marshal(more)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, data, 0o600))

		args = append(args, "--values", file)
	}

	return run(t, nil, "helm", args...)
}

// object is a rendered object.
type object map[string]any

// objects are those of a rendering by kind.
type objects map[string]object

// render renders the chart with an example and more values.
func render(t *testing.T, name string, more values) objects {
	t.Helper()

	out, err := template(t, chart, example(name), more)
	require.NoError(t, err, out)

	return decode(t, out)
}

var separator = regexp.MustCompile(`(?m)^---\n`)

func decode(t *testing.T, rendered string) objects {
	t.Helper()

	all := objects{}

	for _, document := range separator.Split(rendered, -1) {
		if strings.TrimSpace(document) == "" {
			continue
		}

		o := object(fromYAML(t, []byte(document)))
		kind := o.text(t, "kind")

		if kind == "ConfigMap" && strings.HasSuffix(o.text(t, "metadata.name"), "-dashboard") {
			kind = "dashboard"
		}

		require.NotContains(t, all, kind)
		all[kind] = o
	}

	return all
}

// fromYAML decodes as Kubernetes does: through JSON. Twice the same key is an
// error.
func fromYAML(t *testing.T, data []byte) map[string]any {
	t.Helper()

	asJSON, err := yaml.YAMLToJSON(data)
	require.NoError(t, err, string(data))

	var result map[string]any
	require.NoError(t, json.Unmarshal(asJSON, &result))

	return result
}

// at finds what is at a path with dots; a number is an index.
func (o object) at(path string) any {
	var node any = map[string]any(o)

	for name := range strings.SplitSeq(path, ".") {
		switch inner := node.(type) {
		case map[string]any:
			node = inner[name]
		case []any:
			index := int(name[0] - '0')
			if index >= len(inner) {
				return nil
			}

			node = inner[index]
		default:
			return nil
		}
	}

	return node
}

func (o object) text(t *testing.T, path string) string {
	t.Helper()

	text, ok := o.at(path).(string)
	require.True(t, ok, "%s is %v", path, o.at(path))

	return text
}

const worker = "spec.template.spec.containers.0"

// environment is that of the worker.
func (o object) environment(t *testing.T) map[string]string {
	t.Helper()

	list, ok := o.at(worker + ".env").([]any)
	require.True(t, ok)

	all := map[string]string{}

	for _, item := range list {
		variable, ok := item.(map[string]any)
		require.True(t, ok)

		name, value := object(variable).text(t, "name"), object(variable).text(t, "value")
		require.NotContains(t, all, name)
		all[name] = value
	}

	return all
}
