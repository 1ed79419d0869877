package image_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tools makes a directory for PATH with nothing but some programs, and with a
// buildah that prints what it is told.
func tools(t *testing.T, buildah bool) string {
	t.Helper()

	dir := t.TempDir()

	for _, name := range []string{"env", "bash", "git", "awk", "date", "dirname"} {
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
	}

	if buildah {
		write(t, filepath.Join(dir, "buildah"), "#!/usr/bin/env bash\nprintf '%s\\n' \"$@\"\n", 0o755)
	}

	return dir
}

// project is a small repository with image/build.sh.
func project(t *testing.T) string {
	t.Helper()

	dir := t.TempDir()
	copyFile(t, in(root, "image/build.sh"), in(dir, "image/build.sh"))
	copyFile(t, filepath.Join(root, "go.mod"), filepath.Join(dir, "go.mod"))
	commit(t, dir)

	return dir
}

func TestBuildSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	needs(t, false, "bash", "git", "awk")

	const (
		builder = "BUILDER=example/go@sha256:0123"
		plugin  = "PLUGIN_SHA256=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	)

	for name, test := range map[string]struct {
		env     []string
		dirty   bool
		without bool // without buildah
		stderr  []string
	}{
		"all there":        {env: []string{builder, plugin}},
		"local builder":    {env: []string{"BUILDER=localhost/go", plugin}},
		"dirty on purpose": {env: []string{builder, plugin, "DIRTY=1"}, dirty: true},
		"nothing at all":   {without: true, stderr: []string{"BUILDER is not set", `PLUGIN_SHA256 is ""`, "neither buildah nor docker"}},
		"builder by tag":   {env: []string{"BUILDER=example/go:1.26", plugin}, stderr: []string{"add its digest"}},
		"bad checksum":     {env: []string{builder, plugin + "0"}, stderr: []string{"set it to the SHA-256 of the tarball of pulumi-aws v" + awsVersion(t)}},
		"dirty":            {env: []string{builder, plugin}, dirty: true, stderr: []string{"not committed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dir := project(t)
			if test.dirty {
				write(t, filepath.Join(dir, "new"), "", 0o600)
			}

			env := append([]string{"PATH=" + tools(t, !test.without), "BUILDER=", "PLUGIN_SHA256=", "DIRTY="}, test.env...)
			got := run(t, dir, env, in(dir, "image/build.sh"))

			require.Equal(t, len(test.stderr), strings.Count(got.stderr, "error: "), got.stderr)

			for _, want := range test.stderr {
				require.Contains(t, got.stderr, want)
			}

			if len(test.stderr) > 0 {
				require.Equal(t, 2, got.code)

				return
			}

			require.Zero(t, got.code, got.stderr)

			commit := strings.TrimSpace(must(t, dir, nil, "git", "rev-parse", "HEAD"))
			for _, want := range []string{
				"REVISION=" + commit, "SOURCE_DATE_EPOCH=1700000000", "CREATED=2023-11-14T22:13:20Z", "--timestamp\n1700000000", "--tag\nlessor\n.",
				test.env[0], plugin,
			} {
				require.Contains(t, got.stdout, want)
			}
		})
	}
}
