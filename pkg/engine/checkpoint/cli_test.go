package checkpoint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
)

// cli is the plain CLI on a backend in a directory.
type cli struct{ pulumi, dir string }

func newCLI(t *testing.T) cli {
	t.Helper()

	if testing.Short() {
		t.Skip("it needs the real CLI")
	}

	pulumi, err := filepath.Abs(filepath.Join("..", "..", "..", ".bin", "pulumi"))
	require.NoError(t, err)

	if _, err := os.Stat(pulumi); err != nil {
		t.Skip("the CLI is not built")
	}

	c := cli{pulumi: pulumi, dir: t.TempDir()}
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "Pulumi.yaml"), []byte("name: p\nruntime: go\n"), 0o600))

	return c
}

// put writes a checkpoint as that of a stack of the project p.
func (c cli) put(t *testing.T, stack string, data []byte) {
	t.Helper()

	dir := filepath.Join(c.dir, ".pulumi", "stacks", "p")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, stack+".json"), data, 0o600))
}

func (c cli) get(t *testing.T, stack string) []byte {
	t.Helper()

	data, err := os.ReadFile(filepath.Join(c.dir, ".pulumi", "stacks", "p", stack+".json"))
	require.NoError(t, err)

	return data
}

func (c cli) run(t *testing.T, args ...string) (string, error) {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), c.pulumi, append([]string{"--non-interactive"}, args...)...)
	cmd.Dir = c.dir
	cmd.Env = append(os.Environ(), "PULUMI_HOME="+filepath.Join(c.dir, "home"), "PULUMI_BACKEND_URL=file://"+c.dir,
		"PULUMI_CONFIG_PASSPHRASE=test", "PULUMI_SKIP_UPDATE_CHECK=true", "PULUMI_ACCESS_TOKEN=")
	out, err := cmd.CombinedOutput()

	return string(out), err
}

func TestTheCLIReadsABlank(t *testing.T) {
	t.Parallel()

	c := newCLI(t)
	c.put(t, "blank", checkpoint.Blank("p", "blank"))

	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"stack", "ls"}, "blank"},
		{[]string{"stack", "select", "blank"}, ""},
		{[]string{"stack", "export", "--stack", "blank"}, `"version": 3`},
		{[]string{"stack", "--stack", "blank"}, "No resources currently in this stack"},
		{[]string{"stack", "rm", "--yes", "blank"}, "Stack 'blank' has been removed!"},
	} {
		out, err := c.run(t, tt.args...)
		require.NoError(t, err, "%v: %s", tt.args, out)
		require.Contains(t, out, tt.want)
	}

	require.NoFileExists(t, filepath.Join(c.dir, ".pulumi", "stacks", "p", "blank.json"))
}

func TestReadWhatThisCLIWrites(t *testing.T) {
	t.Parallel()

	c := newCLI(t)

	out, err := c.run(t, "stack", "init", "s", "--secrets-provider", "passphrase")
	require.NoError(t, err, out)

	fresh, err := checkpoint.Read(c.get(t, "s"))
	require.NoError(t, err)
	require.Equal(t, "organization/p/s", fresh.Stack)
	require.Equal(t, "passphrase", fresh.SecretsProvider)
	require.True(t, fresh.Empty())

	c.put(t, "s", encode(t, sound()))

	exported := filepath.Join(c.dir, "exported")
	out, err = c.run(t, "stack", "export", "--stack", "s", "--file", exported)
	require.NoError(t, err, out)

	out, err = c.run(t, "stack", "import", "--stack", "s", "--file", exported)
	require.NoError(t, err, out)

	imported, err := checkpoint.Read(c.get(t, "s"))
	require.NoError(t, err)

	require.Equal(t, sound(), imported.Resources)
}

// TestTheCLIAgrees shows every checkpoint of TestVerify to the CLI: it refuses
// the same ones.
func TestTheCLIAgrees(t *testing.T) {
	t.Parallel()

	c := newCLI(t)

	for _, tt := range integrityCases() {
		c.put(t, "s", encode(t, tt.change(sound())))

		out, err := c.run(t, "stack", "--stack", "s")
		if tt.want == "" || tt.stricter {
			require.NoError(t, err, "%s: %s", tt.name, out)
		} else {
			require.Error(t, err, "%s: %s", tt.name, out)
			require.Regexp(t, "snapshot integrity failure|missing required|non-empty ID", out, tt.name)
		}
	}
}
