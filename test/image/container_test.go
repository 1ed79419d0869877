package image_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// testPrograms runs what is in the image as it is run in a pod.
func (b *built) testPrograms(t *testing.T) {
	t.Helper()

	cli := required(t, "tools/pulumi/go.mod", "github.com/pulumi/pulumi/pkg/v3")

	for name, test := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
	}{
		"worker help":    {args: []string{"worker", "help"}, stdout: "The lessor worker"},
		"worker version": {args: []string{"worker", "version"}, stdout: "pulumi sdk " + cli + "\npulumi-aws v" + awsVersion(t)},
		// It gets as far as it can without a configuration.
		"worker check":    {args: []string{"worker", "check"}, code: 1, stderr: "LESSOR_QUEUE_URL"},
		"worker":          {args: []string{"worker"}, code: 1, stderr: "LESSOR_QUEUE_URL"},
		"enqueue version": {args: []string{"enqueue", "version"}, stdout: b.revision[:12]},
		"pulumi version":  {args: []string{"pulumi", "version"}, stdout: strings.TrimPrefix(cli, "v") + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			args := append([]string{"/usr/bin/tini", "--", "/usr/bin/" + test.args[0]}, test.args[1:]...)
			got := b.inside(t, workVolume(t), nil, args...)
			require.Equal(t, test.code, got.code, "%s%s", got.stdout, got.stderr)
			require.Contains(t, got.stdout, test.stdout)
			require.Contains(t, got.stderr, test.stderr)
		})
	}

	// The CLI keeps a state with a lock in it, which names the user.
	t.Run("pulumi stack init", func(t *testing.T) {
		t.Parallel()

		work := workVolume(t)
		write(t, filepath.Join(work, "Pulumi.yaml"), "name: lessor\nruntime: go\n", 0o644)

		got := b.inside(t, work, []string{
			"PULUMI_BACKEND_URL=file://" + workDir, "PULUMI_CONFIG_PASSPHRASE=secret", "PULUMI_HOME=" + workDir + "/home", "PULUMI_SKIP_UPDATE_CHECK=true",
		}, "/usr/bin/tini", "--", "/usr/bin/pulumi", "--non-interactive", "--cwd", workDir, "stack", "init", "acme")
		require.Zero(t, got.code, "%s%s", got.stdout, got.stderr)
		require.FileExists(t, in(work, ".pulumi/stacks/lessor/acme.json"))
	})
}

// testContainer looks around from the inside.
func (b *built) testContainer(t *testing.T) {
	t.Helper()

	plugin := "/usr/lib/lessor/plugins/resource-aws-v" + awsVersion(t) + "/pulumi-resource-aws"

	got := b.inside(t, workVolume(t), nil, "/usr/bin/tini", "--", plugin, "look", "/", "/etc", "/usr/bin", "/usr/lib/lessor/plugins", "/tmp", workDir)
	require.Zero(t, got.code, got.stderr)

	var found struct {
		UID, GID, PID int
		User          string
		Writable      map[string]bool
		Reaped        bool
	}

	require.NoError(t, json.Unmarshal([]byte(got.stdout), &found)) //nolint:musttag // the probe names them like that
	require.Equal(t, []int{user, user}, []int{found.UID, found.GID})
	require.Equal(t, "lessor", found.User)
	require.Equal(t, map[string]bool{
		"/": false, "/etc": false, "/usr/bin": false, "/usr/lib/lessor/plugins": false, "/tmp": true, workDir: true,
	}, found.Writable)
	require.NotEqual(t, 1, found.PID)
	require.True(t, found.Reaped, "tini leaves zombies")
}

// testSameBytes compiles the programs once more, elsewhere.
func (b *built) testSameBytes(t *testing.T) {
	t.Helper()

	elsewhere, out := again(t, b.source), t.TempDir()
	must(t, elsewhere, []string{"TMPDIR=" + t.TempDir()}, "image/compile.sh", out, "worker", "enqueue", "pulumi")

	for _, name := range []string{"worker", "enqueue", "pulumi"} {
		require.Equal(t, hash(t, filepath.Join(out, name)), hash(t, in(b.root, "usr/bin/"+name)), name)
	}
}
