package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/blang/semver"
	sdk "github.com/pulumi/pulumi/sdk/v3"
)

// cli is the Pulumi CLI that was found.
type cli struct {
	path    string
	version semver.Version
}

const (
	cliFix = "run `make tools`, or set LESSOR_PULUMI to the path of another"
	// checkBound is how long `pulumi version` may take.
	checkBound = 30 * time.Second
)

var (
	errCLIMissing    = errors.New("the Pulumi CLI is missing")
	errCLIUnfit      = errors.New("the Pulumi CLI does not fit")
	errPluginMissing = errors.New("a provider plugin is missing")
)

// findCLI finds the CLI and checks its version. One older than the SDK may lack
// what the SDK asks of it.
func findCLI(ctx context.Context, configured string) (cli, error) {
	name := configured
	if name == "" {
		name = "pulumi"
	}

	path, err := exec.LookPath(name)
	if err != nil {
		return cli{}, fmt.Errorf("%w: no executable %s: %s", errCLIMissing, name, cliFix)
	}

	if path, err = filepath.Abs(path); err != nil {
		return cli{}, fmt.Errorf("finding the Pulumi CLI: %w", err)
	}

	version, err := askVersion(ctx, path)
	if err != nil {
		return cli{}, err
	}

	needed := sdk.Version
	if version.LT(needed) || version.Major != needed.Major {
		return cli{}, fmt.Errorf("%w: %s is version %s, needed is %s or a newer one of version %d: %s",
			errCLIUnfit, path, version, needed, needed.Major, cliFix)
	}

	return cli{path: path, version: version}, nil
}

func askVersion(ctx context.Context, path string) (semver.Version, error) {
	home, err := os.MkdirTemp("", "lessor-check-")
	if err != nil {
		return semver.Version{}, fmt.Errorf("checking the Pulumi CLI: %w", err)
	}
	defer os.RemoveAll(home)

	ctx, cancel := context.WithTimeout(ctx, checkBound)
	defer cancel()

	cmd := exec.CommandContext(ctx, path, "version")

	cmd.Env = append(filterEnvironment(os.Environ()), "PULUMI_HOME="+home, "PULUMI_SKIP_UPDATE_CHECK=true")

	out, err := cmd.Output()
	if err != nil {
		return semver.Version{}, fmt.Errorf("%w: `%s version` failed (%w): %s", errCLIUnfit, path, err, cliFix)
	}

	said := strings.TrimSpace(string(out))

	version, err := semver.ParseTolerant(said)
	if err != nil {
		// A CLI that was built without its version says nothing, and the SDK
		// would take it for an ancient one.
		return semver.Version{}, fmt.Errorf("%w: `%s version` says %q, which is no version: %s", errCLIUnfit, path, oneLine(said), cliFix)
	}

	return version, nil
}

var providerModule = regexp.MustCompile(`^github\.com/pulumi/pulumi-([a-z0-9-]+)/sdk(/v\d+)?$`)

// builtInPlugins are the providers whose SDKs are part of this executable.
func builtInPlugins() map[string]string {
	plugins := map[string]string{}

	info, ok := debug.ReadBuildInfo()
	if !ok {
		return plugins
	}

	for _, module := range info.Deps {
		if match := providerModule.FindStringSubmatch(module.Path); match != nil {
			plugins[match[1]] = strings.TrimPrefix(module.Version, "v")
		}
	}

	return plugins
}

// findPlugins returns the directory of the plugins, "" if none is needed and
// there is none.
func findPlugins(configured string, plugins map[string]string) (string, error) {
	dir, err := pluginDir(configured)
	if err != nil {
		return "", err
	}

	var problems []error

	for name, version := range plugins {
		path := filepath.Join(dir, fmt.Sprintf("resource-%s-v%s", name, version), "pulumi-resource-"+name)
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			problems = append(problems, fmt.Errorf(
				"%w: %s v%s is not in %s: run `pulumi plugin install resource %s v%s` or `make tools`, or set LESSOR_PLUGIN_DIR",
				errPluginMissing, name, version, dir, name, version))
		}
	}

	if len(problems) > 0 {
		return "", errors.Join(problems...)
	}

	if info, err := os.Stat(dir); err == nil && info.IsDir() {
		return dir, nil
	}

	return "", nil
}

// pluginDir is where the CLI keeps plugins, unless configured.
func pluginDir(configured string) (string, error) {
	dir := configured

	if dir == "" {
		home := os.Getenv("PULUMI_HOME")

		if home == "" {
			user, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("finding the plugins: set LESSOR_PLUGIN_DIR: %w", err)
			}

			home = filepath.Join(user, ".pulumi")
		}

		dir = filepath.Join(home, "plugins")
	}

	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("finding LESSOR_PLUGIN_DIR: %w", err)
	}

	return dir, nil
}
