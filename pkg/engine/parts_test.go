package engine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

type sizes struct {
	InstanceClass string          `json:"instanceClass"`
	MultiAZ       bool            `json:"multiAz"`
	Storage       int             `json:"storage"`
	Tags          map[string]int  `json:"tags"`
	Deep          struct{ A int } `json:"deep"`
	hidden        string
	Untagged      string
}

func TestDecode(t *testing.T) {
	t.Parallel()

	cases := []struct{ name, parameters, message string }{
		{name: "over the defaults", parameters: `{"storage": 30, "multiAz": null}`},
		{
			name: "a typo", parameters: `{"instanceClas": "x"}`,
			message: "parameters.instanceClas: unknown parameter; did you mean instanceClass?",
		},
		{
			name: "nothing like it", parameters: `{"zzzzzzzzzz": 1}`,
			message: "parameters.zzzzzzzzzz: unknown parameter; known are deep, instanceClass, multiAz, storage, tags",
		},
		{name: "a wrong type", parameters: `{"multiAz": "yes"}`, message: "parameters.multiAz: must be a boolean, not string"},
		{name: "a fraction", parameters: `{"storage": 1.5}`, message: "parameters.storage: must be a whole number that fits int, not n"},
		{name: "a wrong element", parameters: `{"tags": {"a": ""}}`, message: "parameters.tags: must be a whole number that fits int"},
		{name: "an unknown field inside", parameters: `{"deep": {"b": 1}}`, message: `parameters.deep: unknown field "b"`},
		{name: "an unexported field", parameters: `{"hidden": "x"}`, message: "parameters.hidden: unknown parameter"},
		{name: "several", parameters: `{"multiAz": 1, "storage": "x"}`, message: "must be a boolean, not number\nparameters.storage"},
	}

	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			var parameters tenant.Parameters
			require.NoError(t, json.Unmarshal([]byte(test.parameters), &parameters))

			into := sizes{InstanceClass: "db.t4g.micro", MultiAZ: true, Storage: 20, hidden: "x"}
			err := engine.Decode(parameters, &into)

			if test.message != "" {
				require.ErrorContains(t, err, test.message)

				var parameter *engine.ParameterError
				require.ErrorAs(t, err, &parameter)

				return
			}

			require.NoError(t, err)
			require.Equal(t, sizes{InstanceClass: "db.t4g.micro", MultiAZ: true, Storage: 30, hidden: "x"}, into)
		})
	}

	require.ErrorContains(t, engine.Decode(nil, sizes{}), "pointer to a struct")
	require.ErrorContains(t, engine.Decode(tenant.Parameters{"a": nil}, &struct{}{}), "this program has none")
}

func TestNamesOfATopology(t *testing.T) {
	t.Parallel()

	topology := engine.Topology{Generation: 2, Tenant: "acme"}
	require.Equal(t, "t2-db", topology.Name("db"))
	require.Equal(t, "acme-t2-db", topology.PhysicalName("db", 63))

	topology.Tenant = "An_Id-that.is.much.longer.than.most"
	require.Equal(t, "an-id-that-b47be447-t2-database", topology.PhysicalName("database", 32))
}

func TestConfigNamesEveryProblem(t *testing.T) {
	t.Parallel()

	require.NoError(t, validConfig("x").Validate())

	err := engine.Config{
		OperationTimeout: 11 * time.Hour, InterruptGrace: -time.Second, Project: "a/b", SecretsProvider: "passphrase",
	}.Validate()
	for _, name := range []string{
		"LESSOR_OPERATION_TIMEOUT is 11h0m0s", "LESSOR_INTERRUPT_GRACE is -1s", "LESSOR_PARALLEL is 0", `LESSOR_PROJECT is "a/b"`,
		"LESSOR_SECRETS_PROVIDER",
	} {
		require.ErrorContains(t, err, name)
	}
}

func TestWhatMustBeInstalled(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	script := func(name, body string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700))

		return path
	}
	good := script("good", "echo v3.274.1")
	plugin := map[string]string{"aws": "6.83.4"}

	cases := []struct {
		name     string
		pulumi   string
		plugins  map[string]string
		messages []string
	}{
		{name: "missing", pulumi: filepath.Join(dir, "none"), messages: []string{"CLI is missing", "LESSOR_PULUMI", "make tools"}},
		{
			name: "too old", pulumi: script("old", "echo v3.100.0"),
			messages: []string{"is version 3.100.0, needed is 3.274.1 or a newer", "LESSOR_PULUMI", "make tools"},
		},
		{name: "of the next major version", pulumi: script("new", "echo v4.0.0"), messages: []string{"is version 4.0.0"}},
		{name: "without a version", pulumi: script("blank", "echo"), messages: []string{"is no version", "make tools"}},
		{name: "broken", pulumi: script("broken", "exit 3"), messages: []string{"exit status 3", "make tools"}},
		{
			name: "plugin missing", pulumi: good, plugins: plugin,
			messages: []string{"aws v6.83.4 is not in", "pulumi plugin install resource aws v6.83.4", "make tools", "LESSOR_PLUGIN_DIR"},
		},
	}

	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			cfg := validConfig(t.TempDir())
			cfg.Pulumi = test.pulumi

			_, err := engine.NewRunner(t.Context(), cfg, engine.WithPlugins(test.plugins))
			for _, message := range test.messages {
				require.ErrorContains(t, err, message)
			}
		})
	}

	t.Run("all there", func(t *testing.T) {
		t.Parallel()

		cfg := validConfig(t.TempDir())
		cfg.Pulumi = good
		cfg.PluginDir = filepath.Join(cfg.WorkDir, "plugins")
		home := filepath.Join(cfg.PluginDir, "resource-aws-v6.83.4")
		require.NoError(t, os.MkdirAll(home, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(home, "pulumi-resource-aws"), nil, 0o600))

		runner, err := engine.NewRunner(t.Context(), cfg, engine.WithPlugins(plugin), engine.WithBuiltInPlugins())
		require.NoError(t, err)
		require.NoError(t, runner.Close())
	})
}

func TestWorkersShareAWorkDirectory(t *testing.T) {
	t.Parallel()

	first := newFake(t, `echo "$PULUMI_HOME" >$DIR/home; ls -d "$PULUMI_HOME"/plugins >>$DIR/plugins; true`)
	cfg := validConfig(first.dir)
	cfg.Pulumi = first.script
	cfg.PluginDir = first.dir

	second := newRunner(t, cfg, engine.WithPlainState())
	require.Nil(t, second.Run(t.Context(), 0, first.operation(plan.StepDestroy), engine.Watch{}).Failure)
	require.Contains(t, first.file(t, "home"), "/w1/slot-0/home")
	require.Contains(t, first.file(t, "plugins"), "/plugins")

	// What an earlier worker left in a slot does not disturb.
	left := filepath.Join(first.dir, "work", "w0", "slot-0", "work", "Pulumi.acme.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(left), 0o700))
	require.NoError(t, os.WriteFile(left, []byte("nonsense: ["), 0o600))
	require.Nil(t, first.Run(t.Context(), 0, first.operation(plan.StepDestroy), engine.Watch{}).Failure)
	require.Contains(t, first.file(t, "home"), "/w0/slot-0/home")
	require.NoDirExists(t, filepath.Join(first.dir, "work", "w0", "slot-0"))
}

func TestBackendURL(t *testing.T) {
	t.Parallel()

	stack := tenant.Stack{Shard: "bucket"}
	environment := map[string]string{}
	getenv := func(name string) string { return environment[name] }

	require.Equal(t, "s3://bucket", engine.BackendURLIn(stack, "", getenv))

	environment["AWS_REGION"] = "eu-west-1"

	require.Equal(t, "s3://bucket?region=eu-west-1", engine.BackendURLIn(stack, "", getenv))
	require.Equal(t, "s3://bucket?region=us-east-2", engine.BackendURLIn(stack, "us-east-2", getenv))

	environment["AWS_ENDPOINT_URL"] = "http://127.0.0.1:1"

	require.Equal(t, "s3://bucket?disable_https=true&endpoint=http%3A%2F%2F127.0.0.1%3A1&region=eu-west-1"+
		"&response_checksum_validation=when_required&use_path_style=true", engine.BackendURLIn(stack, "", getenv))
}

func TestSecretsAreMasked(t *testing.T) {
	t.Parallel()

	const signature = "4dabf18193072939515e22adb298388d"

	raw := `{"plain": 1, "secret": {"` + signature + `": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "boo"},
		"deep": [{"a": {"` + signature + `": "something of the future", "plaintext": "boo"}}],
		"resource": {"` + signature + `": "5cf8f73096256a8f31e491e813e4eb8e", "urn": "urn:x", "id": "boo"},
		"asset": {"` + signature + `": "c44067f5952c0a294b673a41bacd8c17", "text": "boo"}}`

	var outputs map[string]any
	require.NoError(t, json.Unmarshal([]byte(raw), &outputs))

	exported, err := engine.Exportable(outputs)
	require.NoError(t, err)

	got, err := json.Marshal(exported)
	require.NoError(t, err)
	require.JSONEq(t, `{"plain": 1, "secret": "[secret]", "deep": [{"a": "[secret]"}], "resource": "urn:x",
		"asset": "[asset]"}`, string(got))
}

const urnPrefix = "urn:pulumi:acme::lessor::test:index:Group$"

// metadata is a step of the engine on a resource of the cloud.
func metadata(op apitype.OpType, resourceType, name string, old, is map[string]any) apitype.StepEventMetadata {
	m := apitype.StepEventMetadata{Op: op, URN: urnPrefix + resourceType + "::" + name, Type: resourceType}
	if old != nil {
		m.Old = &apitype.StepEventStateMetadata{Custom: true, Outputs: old}
	}

	if is != nil {
		m.New = &apitype.StepEventStateMetadata{Custom: true, Outputs: is}
	}

	return m
}

func before(m apitype.StepEventMetadata) events.EngineEvent {
	return events.EngineEvent{EngineEvent: apitype.EngineEvent{ResourcePreEvent: &apitype.ResourcePreEvent{Metadata: m}}}
}

func after(m apitype.StepEventMetadata) events.EngineEvent {
	return events.EngineEvent{EngineEvent: apitype.EngineEvent{ResOutputsEvent: &apitype.ResOutputsEvent{Metadata: m}}}
}

func TestWhatEventsTell(t *testing.T) {
	t.Parallel()

	const vpc = "aws:ec2/vpc:Vpc"

	state := map[string]any{"a": 1, "b": []any{2}}
	changed := map[string]any{"a": 1, "b": []any{3}, "c": 4}
	seen := []events.EngineEvent{
		before(metadata(apitype.OpCreate, "pulumi:providers:aws", "aws", nil, state)),
		after(metadata(apitype.OpCreate, "pulumi:providers:aws", "aws", nil, state)),
		before(metadata(apitype.OpSame, vpc, "same", state, state)),
		after(metadata(apitype.OpSame, vpc, "same", state, state)),
		before(metadata(apitype.OpCreateReplacement, vpc, "replaced", state, state)),
		after(metadata(apitype.OpCreateReplacement, vpc, "replaced", state, state)),
		before(metadata(apitype.OpDeleteReplaced, vpc, "replaced", state, nil)),
		after(metadata(apitype.OpDeleteReplaced, vpc, "replaced", state, nil)),
		before(metadata(apitype.OpUpdate, vpc, "changed", state, changed)),
		after(metadata(apitype.OpUpdate, vpc, "changed", state, changed)),
		before(metadata(apitype.OpDelete, vpc, "gone", state, nil)),
		after(metadata(apitype.OpDelete, vpc, "gone", state, nil)),
		{EngineEvent: apitype.EngineEvent{DiagnosticEvent: &apitype.DiagnosticEvent{Severity: "warning", Message: "careful"}}},
		{EngineEvent: apitype.EngineEvent{DiagnosticEvent: &apitype.DiagnosticEvent{
			Severity: "error", Message: "bad", URN: urnPrefix + vpc + "::changed",
		}}},
		{EngineEvent: apitype.EngineEvent{ErrorEvent: &apitype.ErrorEvent{Error: "worse"}}},
		{EngineEvent: apitype.EngineEvent{SummaryEvent: &apitype.SummaryEvent{ResourceChanges: map[apitype.OpType]int{"update": 1}}}},
		{Error: os.ErrClosed},
	}

	for name, closed := range map[string]bool{"the stream is closed": true, "the stream is left open": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got := engine.Collect(plan.StepUp, 3, seen, closed)
			require.Equal(t, 3, got.Present)
			require.Equal(t, map[string]int{vpc: 3}, got.Types)
			require.Equal(t, map[string]int{"update": 1}, got.Changes)
			require.Equal(t, []string{vpc + " changed: bad", ": worse"}, got.Errors)
			require.Empty(t, got.Differences)
			require.Equal(t, engine.Progress{Step: plan.StepUp, Done: 1, Planned: 3, Resource: vpc + " same"}, got.Progress[0])
			require.Equal(t, engine.Progress{Step: plan.StepUp, Done: 4, Planned: 4, Resource: vpc + " gone"}, got.Progress[4])
		})
	}

	refreshed := engine.Collect(plan.StepRefresh, 0, seen, true)
	require.Equal(t, []tenant.Difference{
		{Type: vpc, Name: "gone", Action: "delete", Drift: true},
		{Type: vpc, Name: "changed", Action: "update", Properties: []string{"b"}, Extra: []string{"c"}, Drift: true},
	}, refreshed.Differences)
}
