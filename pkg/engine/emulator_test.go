package engine_test

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/emulator"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

var errNoTool = errors.New("a tool is missing: run `make tools`")

// tool is the path of a binary that `make tools` builds.
func tool(name string) (string, error) {
	path, err := filepath.Abs(filepath.Join("..", "..", ".bin", name))
	if err != nil {
		return "", fmt.Errorf("finding a tool: %w", err)
	}

	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%w: %s", errNoTool, path)
	}

	return path, nil
}

// startEmulator runs the emulator for all tests of the package and points the
// environment to it.
func startEmulator() (func(), error) {
	binary, err := tool("kumo")
	if err != nil {
		return nil, err
	}

	dir, err := os.MkdirTemp("", "engine-test-")
	if err != nil {
		return nil, fmt.Errorf("making a directory: %w", err)
	}

	running, err := emulator.Start(context.Background(), emulator.Options{Binary: binary, Dir: dir})
	if err != nil {
		return nil, err
	}

	stop := func() {
		http.DefaultClient.CloseIdleConnections()
		running.Stop()

		_ = os.RemoveAll(dir)
	}

	if err := os.Setenv("AWS_ENDPOINT_URL", running.URL()); err != nil {
		return stop, fmt.Errorf("pointing to the emulator: %w", err)
	}

	return stop, nil
}

// call sends a request to the emulator.
func call(t *testing.T, method, path, target, body string) string {
	t.Helper()

	request, err := http.NewRequestWithContext(t.Context(), method, os.Getenv("AWS_ENDPOINT_URL")+path, strings.NewReader(body))
	require.NoError(t, err)

	if target != "" {
		request.Header.Set("X-Amz-Target", target)
		request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	}

	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)

	defer response.Body.Close()

	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Less(t, response.StatusCode, http.StatusBadRequest, string(answer))

	return string(answer)
}

// newKey makes a KMS key and returns it as a secrets provider.
func newKey(t *testing.T) string {
	t.Helper()

	var created map[string]map[string]any

	require.NoError(t, json.Unmarshal([]byte(call(t, http.MethodPost, "/", "TrentService.CreateKey", "{}")), &created))

	id, ok := created["KeyMetadata"]["KeyId"].(string)
	require.True(t, ok)

	return "awskms://" + id + "?region=us-east-1"
}

// bed is a runner with a bucket of its own.
type bed struct {
	*engine.Runner

	bucket string
	// starts is a file with a line for every start of the CLI.
	starts string
	dir    string
}

// newBed makes a runner on the real CLI, wrapped in a script that logs every
// start of it.
func newBed(t *testing.T, opts ...engine.Option) *bed {
	t.Helper()

	if testing.Short() {
		t.Skip("it needs the real CLI")
	}

	pulumi, err := tool("pulumi")
	require.NoError(t, err)

	dir := t.TempDir()
	b := &bed{
		bucket: "state-" + strings.ToLower(rand.Text()),
		starts: filepath.Join(dir, "starts"),
		dir:    dir,
	}
	wrapper := filepath.Join(dir, "pulumi")
	require.NoError(t, os.WriteFile(wrapper, fmt.Appendf(nil, "#!/bin/sh\necho \"$@\" >>%s\nexec %s \"$@\"\n", b.starts, pulumi), 0o700))

	call(t, http.MethodPut, "/"+b.bucket, "", "")

	cfg := validConfig(dir)
	cfg.Pulumi, cfg.SecretsProvider = wrapper, newKey(t)
	b.Runner = newRunner(t, cfg, opts...)

	return b
}

func validConfig(dir string) engine.Config {
	return engine.Config{
		PluginDir: filepath.Join(dir, "no-plugins"), WorkDir: filepath.Join(dir, "work"), Project: "lessor",
		SecretsProvider: "awskms://alias/none", OperationTimeout: time.Hour, InterruptGrace: 20 * time.Second, Parallel: 4,
	}
}

func newRunner(t *testing.T, cfg engine.Config, opts ...engine.Option) *engine.Runner {
	t.Helper()

	self, err := os.Executable()
	require.NoError(t, err)

	opts = append([]engine.Option{engine.WithCommand(self, "operation"), engine.WithPlugins(nil)}, opts...)

	runner, err := engine.NewRunner(t.Context(), cfg, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, runner.Close()) })

	return runner
}

// operations returns what the CLI was started for since the last call.
func (b *bed) operations(t *testing.T) []string {
	t.Helper()

	log, err := os.ReadFile(b.starts)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(b.starts, nil, 0o600))

	var commands []string

	for line := range strings.Lines(string(log)) {
		words := strings.Fields(strings.TrimPrefix(line, "--non-interactive"))
		if words[0] == "stack" {
			commands = append(commands, words[0]+" "+words[1])
		} else {
			commands = append(commands, words[0])
		}
	}

	return commands
}

// pulumi runs the plain CLI on the bucket, as people do.
func (b *bed) pulumi(t *testing.T, args ...string) (string, error) {
	t.Helper()

	binary, err := tool("pulumi")
	require.NoError(t, err)

	project := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(project, "Pulumi.yaml"), []byte("name: lessor\nruntime: go\n"), 0o600))

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	cmd := exec.CommandContext(ctx, binary, append([]string{"--non-interactive"}, args...)...)
	cmd.Dir = project
	cmd.Env = append(os.Environ(), "PULUMI_ACCESS_TOKEN=", "PULUMI_HOME="+project, "PULUMI_SKIP_UPDATE_CHECK=true",
		"PULUMI_BACKEND_URL="+engine.BackendURL(tenant.Stack{Shard: b.bucket}, ""))
	out, err := cmd.CombinedOutput()

	return string(out), err
}

// keys are those of the bed's bucket.
func (b *bed) keys(t *testing.T) []string {
	t.Helper()

	var listed struct {
		Contents []struct {
			Key string `xml:"Key"`
		} `xml:"Contents"`
	}

	require.NoError(t, xml.Unmarshal([]byte(call(t, http.MethodGet, "/"+b.bucket+"?list-type=2", "", "")), &listed))

	keys := make([]string, 0, len(listed.Contents))
	for _, object := range listed.Contents {
		keys = append(keys, object.Key)
	}

	return keys
}
