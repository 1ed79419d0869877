package platform_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/platform"
	"github.com/lessor-dev/lessor/internal/localaws"
	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

const project = "lessor-platform"

// life is a platform on the real CLI, with local mode as its cloud.
type life struct {
	t     *testing.T
	env   *localaws.Env
	stack auto.Stack
}

func newLife(t *testing.T, cfg platform.Config) *life {
	t.Helper()

	if testing.Short() {
		t.Skip("it needs the real CLI")
	}

	bin, err := filepath.Abs(filepath.Join("..", "..", ".bin"))
	require.NoError(t, err)

	env, err := localaws.Start(t.Context(), localaws.Options{BinDir: bin, Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, env.Stop()) })

	dir := t.TempDir()
	home, work, state, cli := filepath.Join(dir, "home"), filepath.Join(dir, "work"), filepath.Join(dir, "state"), filepath.Join(dir, "cli")

	for _, path := range []string{home, work, state, filepath.Join(cli, "bin")} {
		require.NoError(t, os.MkdirAll(path, 0o700))
	}

	require.NoError(t, os.Symlink(filepath.Join(bin, "plugins"), filepath.Join(home, "plugins")))
	require.NoError(t, os.Symlink(filepath.Join(bin, "pulumi"), filepath.Join(cli, "bin", "pulumi")))

	command, err := auto.NewPulumiCommand(&auto.PulumiCommandOptions{Root: cli})
	require.NoError(t, err)

	backend := "file://" + state
	variables := map[string]string{
		"PULUMI_BACKEND_URL": backend, "PULUMI_CONFIG_PASSPHRASE": "test", "PULUMI_SKIP_UPDATE_CHECK": "true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
	}

	for _, variable := range env.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		variables[name] = value
	}

	stack, err := auto.NewStackInlineSource(t.Context(), "prod", project, platform.Program(cfg),
		auto.Pulumi(command), auto.PulumiHome(home), auto.WorkDir(work), auto.EnvVars(variables),
		auto.Project(workspace.Project{
			Name: tokens.PackageName(project), Runtime: workspace.NewProjectRuntimeInfo("go", nil),
			Backend: &workspace.ProjectBackend{URL: backend},
		}))
	require.NoError(t, err)

	return &life{t: t, env: env, stack: stack}
}

// unguarded is what `pulumi config set protect false` leads to.
func (l *life) unguarded(cfg platform.Config) {
	cfg.Protect = false
	l.stack.Workspace().SetProgram(platform.Program(cfg))
}

func (l *life) up() (changes map[string]int, outputs auto.OutputMap) {
	l.t.Helper()

	result, err := l.stack.Up(l.t.Context(), optup.SuppressProgress(), optup.Parallel(8))
	require.NoError(l.t, err)
	require.NotNil(l.t, result.Summary.ResourceChanges)

	return maps.Clone(*result.Summary.ResourceChanges), result.Outputs
}

func (l *life) destroy() error {
	var out bytes.Buffer

	_, err := l.stack.Destroy(l.t.Context(), optdestroy.ProgressStreams(&out), optdestroy.SuppressProgress())

	return err
}

// mutations counts what was made, changed or deleted in the cloud.
func (l *life) mutations() int {
	l.t.Helper()

	entries, err := l.env.Cloud().Log(l.t.Context(), 0)
	require.NoError(l.t, err)

	return len(entries)
}

func (l *life) count(typ, prefix string) int {
	l.t.Helper()

	found, err := l.env.Cloud().List(l.t.Context(), cloudsim.Filter{Type: typ})
	require.NoError(l.t, err)

	n := 0

	for _, r := range found {
		if strings.HasPrefix(r.ID, prefix) || strings.HasPrefix(r.Text("name"), prefix) {
			n++
		}
	}

	return n
}

// unprotect takes Pulumi's own guard away, not that of AWS.
func (l *life) unprotect(ctx context.Context) {
	l.t.Helper()

	exported, err := l.stack.Export(ctx)
	require.NoError(l.t, err)

	var deployment apitype.DeploymentV3
	require.NoError(l.t, json.Unmarshal(exported.Deployment, &deployment))

	for i := range deployment.Resources {
		deployment.Resources[i].Protect = false
	}

	exported.Deployment, err = json.Marshal(deployment)
	require.NoError(l.t, err)
	require.NoError(l.t, l.stack.Import(ctx, exported))
}

// TestPlatformLife takes a platform for production through its life.
func TestPlatformLife(t *testing.T) {
	t.Parallel()

	cfg := full()
	cfg.Name, cfg.Region, cfg.StateBucketPrefix, cfg.StateBuckets = "prod", localaws.Region, "", 3
	l := newLife(t, cfg)

	t.Log("up")

	changes, outputs := l.up()
	require.Equal(t, 3, l.count(cloudsim.TypeBucket, "prod-state-"+cloudsim.Account))
	require.Equal(t, 3, l.count(cloudsim.TypeBucketPolicy, "prod-state-"))
	require.Equal(t, 2, l.count(cloudsim.TypeQueue, "prod-"))
	require.Equal(t, 2, l.count(cloudsim.TypeAlarm, "prod-"))
	require.Equal(t, 2, l.count(cloudsim.TypeRole, "prod-"))
	require.Equal(t, 2, l.count(cloudsim.TypeAlias, "alias/prod-"))
	require.Equal(t, 1, l.count(cloudsim.TypePolicy, "prod-producers"))
	require.Equal(t, 1, l.count(cloudsim.TypeTable, "prod-tenants"))

	require.Equal(t, "arn:aws:iam::"+cloudsim.Account+":role/prod-worker", outputs[platform.OutputWorkerRoleARN].Value)
	values, ok := outputs[platform.OutputChartValues].Value.(map[string]any)
	require.True(t, ok)
	require.Equal(t, map[string]any{
		"region": localaws.Region, "identity": "irsa", "roleArn": "arn:aws:iam::" + cloudsim.Account + ":role/prod-worker",
	}, values["aws"])

	t.Log("no change")

	made := l.mutations()
	again, _ := l.up()
	require.Equal(t, made, l.mutations())

	total := 0
	for _, n := range changes {
		total += n
	}

	require.Equal(t, map[string]int{"same": total}, again)

	t.Log("a destroy is refused, by Pulumi first and by AWS then")

	require.ErrorContains(t, l.destroy(), "protect")
	require.Equal(t, made, l.mutations(), "nothing at all is taken away")

	l.unprotect(t.Context())
	require.ErrorContains(t, l.destroy(), "deletion")
	require.Equal(t, 1, l.count(cloudsim.TypeTable, "prod-tenants"))

	t.Log("without protection everything goes")

	l.unguarded(cfg)
	l.up()
	require.NoError(t, l.destroy())

	left, err := l.env.Cloud().List(t.Context(), cloudsim.Filter{})
	require.NoError(t, err)

	for _, r := range left {
		// DynamoDB itself keeps one for 35 days.
		if r.Type == cloudsim.TypeBackup {
			continue
		}

		require.NotContains(t, r.ID+r.Text("name"), "prod-", "%s is left", r.Type)
	}
}

// TestGuardIsTakenAway is the end of a platform as docs/install-eks.md has it.
func TestGuardIsTakenAway(t *testing.T) {
	t.Parallel()

	cfg := platform.Config{Name: "brief", Region: localaws.Region, Protect: true}
	l := newLife(t, cfg)
	l.up()
	require.ErrorContains(t, l.destroy(), "protect")

	l.unguarded(cfg)
	changes, _ := l.up()
	require.Zero(t, changes["create"]+changes["replace"]+changes["delete"], "%v", changes)
	require.NoError(t, l.destroy())
	require.Zero(t, l.count(cloudsim.TypeTable, "brief-")+l.count(cloudsim.TypeBucket, "brief-")+l.count(cloudsim.TypeQueue, "brief-"))
}
