package localaws

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"

	"github.com/lessor-dev/lessor/infra/platform"
)

const (
	stackName = "local"
	project   = "lessor-platform"
	// passphrase encrypts the secrets of the platform's own state, which has
	// none, in a directory that is private and short-lived.
	passphrase = "local-mode-only"
	// pluginHome is where the CLI looks for plugins below its home.
	pluginHome = "plugins"
	parallel   = 16
)

// deployPlatform runs infra/platform with the real CLI against the endpoint and
// returns the worker's variables.
func deployPlatform(ctx context.Context, l layout, environ map[string]string) (map[string]string, error) {
	cli, err := installCLI(l)
	if err != nil {
		return nil, err
	}

	home, work, state := filepath.Join(l.platform, "home"), filepath.Join(l.platform, "work"), filepath.Join(l.platform, "state")

	for _, dir := range []string{home, work, state} {
		if err := os.MkdirAll(dir, privateDir); err != nil {
			return nil, fmt.Errorf("making a directory: %w", err)
		}
	}

	if err := os.Symlink(l.plugins, filepath.Join(home, pluginHome)); err != nil {
		return nil, fmt.Errorf("installing the provider plugin: %w", err)
	}

	backend := (&url.URL{Scheme: "file", Path: state}).String()
	variables := map[string]string{
		"PULUMI_BACKEND_URL":                            backend,
		"PULUMI_CONFIG_PASSPHRASE":                      passphrase,
		"PULUMI_CONFIG_PASSPHRASE_FILE":                 "",
		"PULUMI_SKIP_UPDATE_CHECK":                      "true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION":   "true",
		"PULUMI_DIY_BACKEND_NO_LEGACY_WARNING":          "true",
		"PULUMI_DIY_BACKEND_DISABLE_CHECKPOINT_BACKUPS": "true",
	}
	maps.Copy(variables, environ)

	stack, err := auto.NewStackInlineSource(ctx, stackName, project, platform.Program(localPlatform()),
		auto.Pulumi(cli), auto.PulumiHome(home), auto.WorkDir(work), auto.EnvVars(variables),
		auto.Project(workspace.Project{
			Name:    tokens.PackageName(project),
			Runtime: workspace.NewProjectRuntimeInfo("go", nil),
			Backend: &workspace.ProjectBackend{URL: backend},
		}))
	if err != nil {
		return nil, fmt.Errorf("making the platform's stack: %w", err)
	}

	result, err := stack.Up(ctx, optup.Parallel(parallel), optup.SuppressProgress())
	if err != nil {
		return nil, fmt.Errorf("deploying the platform: %w", err)
	}

	return workersVariables(result.Outputs)
}

// localPlatform is small and can be thrown away.
func localPlatform() platform.Config {
	return platform.Config{Name: "lessor", Region: Region, StateBucketPrefix: "lessor-state-local"}
}

// installCLI gives the Automation API the CLI in the layout that it expects.
func installCLI(l layout) (auto.PulumiCommand, error) {
	root := filepath.Join(l.platform, "cli")
	if err := os.MkdirAll(filepath.Join(root, "bin"), privateDir); err != nil {
		return nil, fmt.Errorf("making a directory: %w", err)
	}

	if err := os.Symlink(l.pulumi, filepath.Join(root, "bin", "pulumi")); err != nil {
		return nil, fmt.Errorf("installing the Pulumi CLI: %w", err)
	}

	cli, err := auto.NewPulumiCommand(&auto.PulumiCommandOptions{Root: root})
	if err != nil {
		return nil, fmt.Errorf("checking the Pulumi CLI: %w; run `make tools`", err)
	}

	return cli, nil
}

var errOutputs = errors.New("the platform has no usable output " + platform.OutputEnvironment)

func workersVariables(outputs auto.OutputMap) (map[string]string, error) {
	values, ok := outputs[platform.OutputEnvironment].Value.(map[string]any)
	if !ok || len(values) == 0 {
		return nil, errOutputs
	}

	variables := make(map[string]string, len(values))

	for name, value := range values {
		text, ok := value.(string)
		if !ok || text == "" {
			return nil, fmt.Errorf("%w: %s", errOutputs, name)
		}

		variables[name] = text
	}

	return variables, nil
}
