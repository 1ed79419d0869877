package charts_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// value is a leaf of values.yaml.
type value struct {
	section, path, about, fallback string
}

var keyPattern = regexp.MustCompile(`^( *)([A-Za-z-]+):(.*)$`)

// documented reads values.yaml as people do: keys, and the comments before them.
func documented(t *testing.T) []value {
	t.Helper()

	data, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	require.NoError(t, err)

	defaults := object(fromYAML(t, data))

	var (
		found       []value
		section     string
		about, path []string
	)

	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		text := strings.TrimSpace(line)

		switch key := keyPattern.FindStringSubmatch(line); {
		case strings.HasPrefix(text, "##@ "):
			section = strings.TrimPrefix(text, "##@ ")
		case strings.HasPrefix(text, "# -- "):
			about = append([]string(nil), strings.TrimPrefix(text, "# -- "))
		case strings.HasPrefix(text, "# ") && about != nil:
			about = append(about, strings.TrimPrefix(text, "# "))
		case len(key) > 0 && !within(found, path, len(key[1])/2):
			path = append(path[:len(key[1])/2], key[2])

			if about == nil {
				continue
			}

			fallback, err := json.Marshal(defaults.at(strings.Join(path, ".")))
			require.NoError(t, err)

			found = append(found, value{section, strings.Join(path, "."), strings.Join(about, " "), string(fallback)})
			about = nil
		}
	}

	return found
}

// within reports whether a key at a depth belongs to the value found last, such
// as a default that is a map.
func within(found []value, path []string, depth int) bool {
	return len(found) > 0 && depth >= len(path) && found[len(found)-1].path == strings.Join(path, ".")
}

const (
	valuesBegin = "<!-- values:begin -->"
	valuesEnd   = "<!-- values:end -->"
)

// TestREADME keeps the table of the chart's README.md. Run it with -update to
// write it anew from the comments in values.yaml.
func TestREADME(t *testing.T) {
	t.Parallel()

	var table strings.Builder

	section := ""

	for _, v := range documented(t) {
		if v.section != section {
			section = v.section
			fmt.Fprintf(&table, "\n### %s\n\n| value | default | what it is |\n|---|---|---|\n", section)
		}

		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", v.path, v.fallback, strings.ReplaceAll(v.about, "|", `\|`))
	}

	file := filepath.Join(chart, "README.md")
	data, err := os.ReadFile(file)
	require.NoError(t, err)

	before, rest, ok := strings.Cut(string(data), valuesBegin)
	require.True(t, ok)

	_, after, ok := strings.Cut(rest, valuesEnd)
	require.True(t, ok)

	want := before + valuesBegin + "\n" + table.String() + "\n" + valuesEnd + after

	if *update {
		require.NoError(t, os.WriteFile(file, []byte(want), 0o600))
	}

	require.Equal(t, want, string(data), "run go test ./test/charts -run TestREADME -update")

	for _, link := range regexp.MustCompile(`\]\(([^):]+)\)`).FindAllStringSubmatch(before+after, -1) {
		_, err := os.Stat(filepath.Join(chart, link[1]))
		require.NoError(t, err)
	}
}

// leaves lists the paths of what is neither a map nor in a list.
func leaves(node any, path string) []string {
	inner, ok := node.(map[string]any)
	if !ok || len(inner) == 0 {
		return []string{path}
	}

	var all []string

	for _, name := range slices.Sorted(maps.Keys(inner)) {
		all = append(all, leaves(inner[name], strings.TrimPrefix(path+"."+name, "."))...)
	}

	return all
}

func defaults(t *testing.T) object {
	t.Helper()

	data, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	require.NoError(t, err)

	return fromYAML(t, data)
}

// TestEveryValueIsExplained by a comment of its own.
func TestEveryValueIsExplained(t *testing.T) {
	t.Parallel()

	all := documented(t)
	explained := make([]string, 0, len(all))

	for _, v := range all {
		require.NotEmpty(t, v.section, v.path)
		require.NotContains(t, explained, v.path)
		explained = append(explained, v.path)
	}

	for _, leaf := range leaves(map[string]any(defaults(t)), "") {
		// The labels of the dashboard have a default, and are one value.
		leaf = strings.TrimSuffix(leaf, ".grafana_dashboard")
		require.Contains(t, explained, leaf)
	}
}

// schemaOf reads the schema.
func schemaOf(t *testing.T) object {
	t.Helper()

	data, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	require.NoError(t, err)

	var schema object
	require.NoError(t, json.Unmarshal(data, &schema))

	return schema
}

// TestSchemaIsClosed: no object takes what nobody knows, and the schema knows
// exactly what values.yaml has.
func TestSchemaIsClosed(t *testing.T) {
	t.Parallel()

	schema := schemaOf(t)

	// Helm gives it to every chart that is part of another one.
	properties, ok := schema["properties"].(map[string]any)
	require.True(t, ok)
	delete(properties, "global")

	var walk func(path string, node any)

	walk = func(path string, node any) {
		switch node := node.(type) {
		case map[string]any:
			if node["type"] == "object" {
				switch open := node["additionalProperties"].(type) {
				case bool:
					require.False(t, open, path)
				case map[string]any:
					require.NotEmpty(t, open, path)
				default:
					require.Fail(t, "an open object", path)
				}
			}

			for name, inner := range node {
				walk(path+"/"+name, inner)
			}
		case []any:
			for _, inner := range node {
				walk(path, inner)
			}
		}
	}
	walk("", map[string]any(schema))

	var compare func(path string, node, defaults any)

	compare = func(path string, node, defaults any) {
		known, ok := node.(map[string]any)["properties"].(map[string]any)
		inner, isMap := defaults.(map[string]any)

		// An empty default is a map of whatever the schema says.
		if !ok || !isMap || len(inner) == 0 {
			return
		}

		require.ElementsMatch(t, slices.Collect(maps.Keys(known)), slices.Collect(maps.Keys(inner)), path)

		for name := range known {
			compare(path+"."+name, known[name], inner[name])
		}
	}
	compare("", map[string]any(schema), map[string]any(defaults(t)))
}

// TestSchemaKnowsKubernetes: what the chart hands on to Kubernetes is judged by
// the same definitions.
func TestSchemaKnowsKubernetes(t *testing.T) {
	t.Parallel()

	theirs := map[string]any{}

	files, err := filepath.Glob(filepath.Join(schemas, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)

	for _, file := range files {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Less(t, info.Size(), int64(500_000))

		data, err := os.ReadFile(file)
		require.NoError(t, err)

		var schema struct {
			Definitions map[string]any `json:"definitions"`
		}
		require.NoError(t, json.Unmarshal(data, &schema))
		maps.Copy(theirs, schema.Definitions)
	}

	ours, ok := schemaOf(t)["definitions"].(map[string]any)
	require.True(t, ok)

	copied := 0

	for name, definition := range ours {
		if strings.HasPrefix(name, "io.k8s.") {
			require.Equal(t, theirs[name], definition, name)

			copied++
		}
	}

	require.Positive(t, copied)
}

// examplesOf are values for the definitions of the schema, each unlike every
// default.
func examplesOf() map[string]any {
	return map[string]any{
		"annotations":    values{"example.com/changed": "yes"},
		"cidr":           "192.0.2.0/24",
		"count":          77,
		"countOrPercent": "33%",
		"duration":       "7m",
		"key":            "other.yaml",
		"labels":         values{"example.com/changed": "yes"},
		"memory":         "9Gi",
		"memoryOrNone":   "3Gi",
		"name":           "other",
		"path":           "/other",
		"percent":        44,
		"positive":       78,
		"quantity":       "3",
		"queueUrl":       "https://sqs.eu-west-1.amazonaws.com/111122223333/other",
		"roleArn":        "arn:aws:iam::111122223333:role/other",
		"seconds":        60,
		"url":            "https://other.example.com",
		"userId":         1234,
	}
}

// ownExamples are for values whose schema is their own.
func ownExamples() map[string]any {
	return map[string]any{
		"affinity":                 values{}.set("nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution", []any{}),
		"aws.region":               "us-east-1",
		"breaker.tenants":          9,
		"capacity.memoryReserve":   "1Gi",
		"catalog.content":          "version: 1\n",
		"disruption.doNotDisrupt":  "30m",
		"env":                      values{"CHANGED": "yes"},
		"envFrom":                  []any{values{}.set("configMapRef.name", "other")},
		"fullnameOverride":         "other",
		"image.digest":             "sha256:" + strings.Repeat("ab", 32),
		"image.pullSecrets":        []string{"other"},
		"image.repository":         "images.example.com/other",
		"image.tag":                "other",
		"nameOverride":             "other",
		"monitoring.rules.without": []string{"Stub"},
		"networkPolicy.egressCIDRs": []string{
			"192.0.2.0/24",
		},
		"networkPolicy.extraEgress": []any{values{"ports": []any{values{"port": 8443}}}},
		"networkPolicy.ingressFrom": []any{values{}.set("podSelector.matchLabels.app", "other")},
		"operations.memory":         "1Gi",
		"registry.table":            "other",
		"resources.requests.memory": "2Gi",
		"results.target":            "arn:aws:sns:eu-west-1:111122223333:other",
		"scaling.hpa.metrics": []any{
			values{"type": "Resource"}.set("resource.name", "cpu").set("resource.target.type", "Utilization"),
		},
		"scaling.keda.wake.end":      "31 1 * * *",
		"scaling.keda.wake.start":    "30 1 * * *",
		"scaling.keda.wake.timezone": "Europe/Berlin",
		"scaling.minReplicas":        3,
		"state.buckets":              []string{"other-0"},
		"state.project":              "other",
		"state.secretsProvider":      "awskms://alias/other",
		"tenants.regions":            []string{"us-west-2"},
		"tolerations":                []any{values{"key": "other"}},
		"topologySpread":             []any{values{"topologyKey": "other", "maxSkew": 2, "whenUnsatisfiable": "DoNotSchedule"}},
		"workDir.path":               "/other",
		"workDir.sizeLimit":          "7Gi",
	}
}

// companions are what else must be set for a value to matter.
func companions() map[string]values {
	return map[string]values{
		"scaling.keda.authentication.create": values{}.set("scaling.keda.authentication.name", "other"),
		"scaling.keda.authentication.kind":   values{}.set("scaling.keda.authentication", values{"create": false, "name": "other"}),
		"monitoring.serviceMonitor.enabled":  values{}.set("monitoring.podMonitor.enabled", false),
		"scaling.hpa.memoryUtilization":      values{}.set("scaling.hpa.cpuUtilization", 50),
		"monitoring.dashboard.labels":        values{}.set("monitoring.dashboard.enabled", true),
	}
}

// changed finds another value for a leaf, as its schema allows.
func changed(t *testing.T, path string, schema object, current any) any {
	t.Helper()

	if own, ok := ownExamples()[path]; ok {
		return own
	}

	node := object(schema.at("properties." + strings.ReplaceAll(path, ".", ".properties.")).(map[string]any)) //nolint:forcetypeassert // it panics and tells

	if reference, ok := node["$ref"].(string); ok {
		example, ok := examplesOf()[strings.TrimPrefix(reference, "#/definitions/")]
		require.True(t, ok, "%s needs an example for %s", path, reference)

		return example
	}

	if options, ok := node["enum"].([]any); ok {
		for _, option := range options {
			if option != current {
				return option
			}
		}
	}

	switch current := current.(type) {
	case bool:
		return !current
	case float64:
		return current + 1
	}

	require.Fail(t, "no example of another value", path)

	return nil
}

// TestEveryValueDoesSomething changes each value in values.yaml and looks for a
// difference in what is rendered, under one example or another.
func TestEveryValueDoesSomething(t *testing.T) {
	t.Parallel()

	dir, schema, all := withStubs(t), schemaOf(t), defaults(t)
	// Most show in the first.
	order := append([]string{"everything", "keda-zero", "hpa", "minimal"}, examples(t)...)
	plain := map[string]string{}

	for _, name := range order {
		out, err := template(t, dir, example(name), nil)
		require.NoError(t, err, out)

		plain[name] = out
	}

	for _, path := range leaves(map[string]any(all), "") {
		path = strings.TrimSuffix(path, ".grafana_dashboard")

		t.Run(path, func(t *testing.T) {
			t.Parallel()

			with, other := companions()[path], changed(t, path, schema, all.at(path))

			for _, name := range order {
				before, err := plain[name], error(nil)
				if with != nil {
					before, err = template(t, dir, example(name), with)
				}

				after, changed := template(t, dir, example(name), with.set(path, other))
				if err == nil && changed == nil && before != after {
					return
				}
			}

			require.Fail(t, "it changes nothing", "%s: %v", path, other)
		})
	}
}
