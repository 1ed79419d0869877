// Package image_test checks the Dockerfile and its scripts, and the image that
// they make.
package image_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the root of the repository.
const root = "../.."

// The user and the directory that the image, the chart and the tests agree on.
const (
	user      = 65532
	workDir   = "/var/lib/lessor"
	adminPort = 9090
)

// outcome is what a script or a program left.
type outcome struct {
	code           int
	stdout, stderr string
}

// run runs a command with more environment.
func run(t *testing.T, dir string, env []string, name string, args ...string) outcome {
	t.Helper()

	var stdout, stderr bytes.Buffer

	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr

	cmd.Env = append(os.Environ(), env...)

	err := cmd.Run()

	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}

	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// must is run for what has to succeed.
func must(t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()

	got := run(t, dir, env, name, args...)
	require.Zero(t, got.code, "%s %v\n%s%s", name, args, got.stdout, got.stderr)

	return got.stdout
}

// needs skips a test on a machine that lacks something.
func needs(t *testing.T, asRoot bool, programs ...string) {
	t.Helper()

	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}

	if asRoot && os.Geteuid() != 0 {
		t.Skip("only root may chroot and mount")
	}
}

// clone makes a repository of one commit with the files of this one, whether
// they are committed here or not.
func clone(t *testing.T) string {
	t.Helper()

	dir := t.TempDir()

	for name := range strings.SplitSeq(must(t, root, nil, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"), "\x00") {
		copyFile(t, filepath.Join(root, name), filepath.Join(dir, name))
	}

	commit(t, dir)

	return dir
}

// again makes another clone, of the same commit.
func again(t *testing.T, first string) string {
	t.Helper()

	second := filepath.Join(t.TempDir(), "another", "place")
	must(t, first, nil, "git", "clone", "--quiet", "--no-hardlinks", first, second)

	return second
}

// commit makes a repository of what is in a directory.
func commit(t *testing.T, dir string) {
	t.Helper()

	env := []string{
		"GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_DATE=@1700000000 +0000", "GIT_COMMITTER_DATE=@1700000000 +0000",
		"GIT_AUTHOR_NAME=test", "GIT_AUTHOR_EMAIL=test@localhost", "GIT_COMMITTER_NAME=test", "GIT_COMMITTER_EMAIL=test@localhost",
	}

	must(t, dir, env, "git", "init", "--quiet", "--initial-branch=main")
	must(t, dir, env, "git", "add", "--all")
	must(t, dir, env, "git", "commit", "--quiet", "--message=Test")
}

// copyFile leaves out what is gone, which a change may have deleted.
func copyFile(t *testing.T, from, to string) {
	t.Helper()

	source, err := os.Open(from)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}

	require.NoError(t, err)

	defer source.Close()

	info, err := source.Stat()
	require.NoError(t, err)

	if info.IsDir() {
		return
	}

	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))

	target, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, info.Mode().Perm())
	require.NoError(t, err)

	_, err = io.Copy(target, source)
	require.NoError(t, errors.Join(err, target.Close()))
}

// in is the place of a file, whose name has slashes, in a directory.
func in(dir, name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }

func read(t *testing.T, path string) string {
	t.Helper()

	text, err := os.ReadFile(path)
	require.NoError(t, err)

	return string(text)
}

func write(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()

	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), mode))
}

// required is the version of a module in a go.mod.
func required(t *testing.T, file, module string) string {
	t.Helper()

	for line := range strings.Lines(read(t, filepath.Join(root, file))) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == module {
			return fields[1]
		}
	}

	require.Fail(t, "not required", "%s in %s", module, file)

	return ""
}

func awsVersion(t *testing.T) string {
	t.Helper()

	return strings.TrimPrefix(required(t, "go.mod", "github.com/pulumi/pulumi-aws/sdk/v6"), "v")
}

// probe is a program without a libc that stands in for others; see
// testdata/probe.
func probe(t *testing.T) string {
	t.Helper()

	path := filepath.Join(t.TempDir(), "probe")
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "go", "build", "-trimpath", "-buildvcs=false", "-o", path, "./testdata/probe")

	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")

	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)

	return path
}
