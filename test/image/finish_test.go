package image_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// epoch is the time of everything in an image that a test makes.
const epoch = 1700000000

// assembled is a root as the Dockerfile makes it before image/finish.sh, with
// probes that say the versions they are told to.
func assembled(t *testing.T, probe string, said map[string]string) string {
	t.Helper()

	dir := filepath.Join(t.TempDir(), "rootfs")
	require.NoError(t, os.MkdirAll(dir, 0o755))

	// Directories of tests are for their owner alone.
	for parent := dir; parent != os.TempDir() && parent != "/"; parent = filepath.Dir(parent) {
		require.NoError(t, os.Chmod(parent, 0o755))
	}

	for name, text := range said {
		write(t, in(dir, "etc/probe/"+name), text, 0o644)
		copyFile(t, probe, in(dir, "usr/bin/"+name))
	}

	copyFile(t, probe, in(dir, "usr/lib/lessor/plugins/resource-aws-v"+awsVersion(t)+"/pulumi-resource-aws"))
	require.NoError(t, os.MkdirAll(in(dir, "usr/share/doc/lessor"), 0o755))
	write(t, in(dir, "tmp/left/behind"), "", 0o600)

	return dir
}

// TestFinishRefuses changes one thing at a time in what would become an image.
func TestFinishRefuses(t *testing.T) {
	t.Parallel()
	needs(t, true, "bash", "chroot", "timeout")

	version := required(t, "go.mod", "github.com/pulumi/pulumi/sdk/v3")
	worker := "worker v1\npulumi sdk " + version + "\npulumi-aws v" + awsVersion(t) + "\n"
	probe := probe(t)

	for name, test := range map[string]struct {
		change   func(t *testing.T, dir string)
		revision string
		stderr   string
	}{
		"nothing": {},
		// As the CLI says it that we build.
		"a CLI without a v": {change: func(t *testing.T, dir string) {
			t.Helper()
			write(t, in(dir, "etc/probe/pulumi"), strings.TrimPrefix(version, "v")+"\n", 0o644)
		}},
		"another CLI": {
			change: func(t *testing.T, dir string) {
				t.Helper()
				write(t, in(dir, "etc/probe/pulumi"), "v3.1.0\n", 0o644)
			},
			stderr: "the Pulumi CLI is v3.1.0, tools/pulumi/go.mod says " + version,
		},
		"a worker for another plugin": {
			change: func(t *testing.T, dir string) {
				t.Helper()
				write(t, in(dir, "etc/probe/worker"), "worker v1\npulumi sdk "+version+"\npulumi-aws v6.0.0\n", 0o644)
			},
			stderr: "the worker was built with other versions",
		},
		"no enqueue": {
			change: func(t *testing.T, dir string) {
				t.Helper()
				require.NoError(t, os.Remove(in(dir, "usr/bin/enqueue")))
			},
			stderr: "enqueue does not run in the image",
		},
		"the plugin of another version": {
			change: func(t *testing.T, dir string) {
				t.Helper()

				plugins := in(dir, "usr/lib/lessor/plugins")
				require.NoError(t, os.Rename(filepath.Join(plugins, "resource-aws-v"+awsVersion(t)), filepath.Join(plugins, "resource-aws-v6.0.0")))
			},
			stderr: "plugin resource-aws-v" + awsVersion(t) + " is not in the image",
		},
		"a plugin that needs a libc": {
			change: func(t *testing.T, dir string) {
				t.Helper()
				copyFile(t, "/bin/true", in(dir, "usr/lib/lessor/plugins/resource-aws-v6.0.0/pulumi-resource-aws"))
			},
			stderr: "it must be linked statically",
		},
		"of another commit": {revision: "0123abcd", stderr: "the worker was built from commit nowhere, the image shall be of 0123abcd"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			dir := assembled(t, probe, map[string]string{"pulumi": version + "\n", "worker": worker, "enqueue": "enqueue v1\n"})
			if test.change != nil {
				test.change(t, dir)
			}

			got := run(t, root, []string{"REVISION=" + test.revision, "SOURCE_DATE_EPOCH=" + strconv.Itoa(epoch)}, "image/finish.sh", dir)
			require.Equal(t, test.stderr != "", got.code != 0, got.stderr)
			require.Contains(t, got.stderr, test.stderr)

			if test.stderr != "" {
				return
			}

			require.NoDirExists(t, in(dir, "tmp/left"), "what programs wrote while they were tried is in the image")
			require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
				if err != nil {
					return err
				}

				info, err := entry.Info()
				if err == nil {
					require.True(t, info.ModTime().Equal(time.Unix(epoch, 0)), "%s is of %s", path, info.ModTime())
				}

				return err
			}))
		})
	}
}
