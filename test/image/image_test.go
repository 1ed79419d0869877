package image_test

import (
	"debug/elf"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// built is an image that was unpacked.
type built struct {
	// source is the repository that it was built from.
	source, revision string
	// root has exactly the files of the image, and running is a copy to run.
	root, running string
	config        imageConfig
	created       string
	layers        int
	env           []string
}

type imageConfig struct {
	User         string
	Env          []string
	Entrypoint   []string
	Cmd          []string
	Volumes      map[string]struct{}
	ExposedPorts map[string]struct{}
	WorkingDir   string
	Labels       map[string]string
	Healthcheck  *json.RawMessage
}

// certificates stand in for those of Debian.
const certificates = "the certificate authorities\n"

// builder makes the image that the other is built from. As there is no registry,
// it is an empty Debian, into which the programs of this machine are mounted.
func builder(t *testing.T, storage []string) (name string, flags []string) {
	t.Helper()

	name = "localhost/builder"
	container := strings.TrimSpace(must(t, root, storage, "buildah", "from", "scratch"))
	dir := strings.TrimSpace(must(t, root, storage, "buildah", "mount", container))

	for _, sub := range []string{"usr", "root", "proc", "dev", "sys", "cache", "etc/alternatives"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, sub), 0o755))
	}

	require.NoError(t, os.MkdirAll(filepath.Join(dir, "tmp"), 0o777))

	for _, link := range []string{"bin", "sbin", "lib", "lib64"} {
		require.NoError(t, os.Symlink("usr/"+link, filepath.Join(dir, link)))
	}

	write(t, in(dir, "etc/passwd"), "root:x:0:0:root:/root:/bin/bash\n", 0o644)
	write(t, in(dir, "etc/group"), "root:x:0:\n", 0o644)
	write(t, in(dir, "etc/ssl/certs/ca-certificates.crt"), certificates, 0o644)

	goroot := runtime.GOROOT() //nolint:staticcheck // the tests are run where they were built
	require.NotEmpty(t, goroot)

	must(t, root, storage, "buildah", "config", "--env", "PATH="+goroot+"/bin:/usr/bin:/usr/sbin",
		"--env", "GOCACHE=/cache/build", "--env", "GOMODCACHE=/cache/mod", container)
	must(t, root, storage, "buildah", "commit", "--quiet", "--rm", container, name)

	flags = []string{"--pull-never", "--volume=/usr:/usr:ro", "--volume=/etc/alternatives:/etc/alternatives:ro"}
	if !strings.HasPrefix(goroot, "/usr/") {
		flags = append(flags, "--volume="+goroot+":"+goroot+":ro")
	}

	for name, place := range map[string]string{"GOCACHE": "/cache/build", "GOMODCACHE": "/cache/mod"} {
		flags = append(flags, "--volume="+strings.TrimSpace(must(t, root, nil, "go", "env", name))+":"+place)
	}

	return name, flags
}

// build runs `make image` in a clone and unpacks what it makes.
func build(t *testing.T) *built {
	t.Helper()

	place := t.TempDir()
	write(t, filepath.Join(place, "storage.conf"), fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n",
		filepath.Join(place, "graph"), filepath.Join(place, "run")), 0o600)

	storage := []string{"CONTAINERS_STORAGE_CONF=" + filepath.Join(place, "storage.conf"), "BUILDAH_ISOLATION=chroot"}
	name, flags := builder(t, storage)

	plugin := tarball(t, map[string]string{"pulumi-resource-aws": read(t, probe(t)), "LICENSE": "the licence of the plugin"})
	url := serve(t, map[string][]byte{strings.ReplaceAll(release(awsVersion(t)), "amd64", runtime.GOARCH): plugin})

	b := &built{source: clone(t)}
	b.revision = strings.TrimSpace(must(t, b.source, nil, "git", "rev-parse", "HEAD"))

	must(t, b.source, append(slices.Clone(storage), "IMAGE=localhost/lessor-test", "BUILDER="+name, "PLUGIN_SHA256="+sum(plugin), "PLUGIN_URL="+url,
		"GOPROXY=off", "VERSION=1.2.3", "OLD_PLUGINS=", "DIRTY=", "BUILD_FLAGS="+strings.Join(flags, " ")), "make", "image")

	for _, dir := range []*string{&b.root, &b.running} {
		container := strings.TrimSpace(must(t, root, storage, "buildah", "from", "--pull-never", "localhost/lessor-test"))
		*dir = strings.TrimSpace(must(t, root, storage, "buildah", "mount", container))
	}

	var inspected struct {
		OCIv1 struct {
			Created string
			Config  imageConfig
			RootFS  struct {
				DiffIDs []string `json:"diff_ids"`
			}
		}
	}

	require.NoError(t, json.Unmarshal([]byte(must(t, root, storage, "buildah", "inspect", "--type=image", "localhost/lessor-test")), &inspected)) //nolint:musttag // buildah names them like that
	b.config, b.created, b.layers = inspected.OCIv1.Config, inspected.OCIv1.Created, len(inspected.OCIv1.RootFS.DiffIDs)
	b.env = b.config.Env

	return b
}

// container runs a program in the image as Kubernetes does by the chart: as its
// user, without rights, with a root that cannot be written, and with volumes for
// the work and for scratch files. The arguments are those of a program as
// process 1.
const container = `
root=$1 work=$2
shift 2
mkdir -p "$root/proc" "$root/dev"
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc none "$root/proc"
mount --rbind /dev "$root/dev"
mount --bind "$work" "$root/var/lib/lessor"
mount -t tmpfs -o mode=1777 none "$root/tmp"
mount -o remount,bind,ro "$root"
exec setpriv --no-new-privs chroot --userspec=65532:65532 "$root" "$@"
`

// inside runs a program in a container with a work directory.
func (b *built) inside(t *testing.T, work string, env []string, args ...string) outcome {
	t.Helper()

	// Nothing of this machine's environment but where to find the programs.
	return run(t, root, nil, "env", slices.Concat(
		[]string{"-i", "unshare", "--mount", "--pid", "--fork", "--kill-child", "env", "-i"}, []string{"PATH=" + os.Getenv("PATH")}, b.env, env,
		[]string{"PATH=" + os.Getenv("PATH")}, []string{"bash", "-euc", container, "bash", b.running, work}, args)...)
}

// workVolume is an empty directory of the image's user.
func workVolume(t *testing.T) string {
	t.Helper()

	dir := t.TempDir()
	require.NoError(t, os.Chown(dir, user, user))

	return dir
}

func TestImage(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("compiles everything")
	}

	needs(t, true, "buildah", "unshare", "setpriv", "tini-static", "make", "git", "curl", "bash")

	b := build(t)

	for name, part := range map[string]func(t *testing.T){
		"files": b.testFiles, "configuration": b.testConfig, "programs": b.testPrograms, "container": b.testContainer, "same bytes": b.testSameBytes,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part(t)
		})
	}
}

// testFiles wants every file to be expected.
func (b *built) testFiles(t *testing.T) {
	t.Helper()

	plugin := "usr/lib/lessor/plugins/resource-aws-v" + awsVersion(t)
	want := []string{
		"drwxr-xr-x 0 etc", "-rw-r--r-- 0 etc/group", "-rw-r--r-- 0 etc/passwd", "drwxr-xr-x 0 etc/ssl", "drwxr-xr-x 0 etc/ssl/certs",
		"-rw-r--r-- 0 etc/ssl/certs/ca-certificates.crt", "dtrwxrwxrwx 0 tmp", "drwxr-xr-x 0 usr", "drwxr-xr-x 0 usr/bin",
		"-rwxr-xr-x 0 usr/bin/enqueue", "-rwxr-xr-x 0 usr/bin/pulumi", "-rwxr-xr-x 0 usr/bin/tini", "-rwxr-xr-x 0 usr/bin/worker",
		"drwxr-xr-x 0 usr/lib", "drwxr-xr-x 0 usr/lib/lessor", "drwxr-xr-x 0 usr/lib/lessor/plugins", "drwxr-xr-x 0 " + plugin,
		"-rw-r--r-- 0 " + plugin + "/LICENSE", "-rwxr-xr-x 0 " + plugin + "/pulumi-resource-aws", "drwxr-xr-x 0 usr/share",
		"drwxr-xr-x 0 usr/share/doc", "drwxr-xr-x 0 usr/share/doc/lessor", "-rw-r--r-- 0 usr/share/doc/lessor/LICENSE",
		"drwxr-xr-x 0 var", "drwxr-xr-x 0 var/lib", "drwxr-x--- 65532 var/lib/lessor",
	}

	var have []string

	require.NoError(t, filepath.WalkDir(b.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == b.root {
			return err
		}

		name, err := filepath.Rel(b.root, path)
		require.NoError(t, err)

		info, err := entry.Info()
		require.NoError(t, err)

		stat, ok := info.Sys().(*syscall.Stat_t)
		require.True(t, ok)
		require.Equal(t, stat.Uid, stat.Gid, name)
		require.Equal(t, int64(epoch), info.ModTime().Unix(), name)

		have = append(have, fmt.Sprintf("%s %d %s", info.Mode(), stat.Uid, name))

		if info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			program, err := elf.Open(path)
			require.NoError(t, err, name)

			defer program.Close()

			require.False(t, slices.ContainsFunc(program.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }),
				"%s needs a libc", name)
		}

		return nil
	}))

	require.ElementsMatch(t, want, have)
	require.Equal(t, certificates, read(t, in(b.root, "etc/ssl/certs/ca-certificates.crt")))
	require.Equal(t, read(t, filepath.Join(root, "LICENSE")), read(t, in(b.root, "usr/share/doc/lessor/LICENSE")))
}

func (b *built) testConfig(t *testing.T) {
	t.Helper()

	require.Equal(t, imageConfig{
		User: fmt.Sprintf("%d:%d", user, user),
		Env: []string{
			"PATH=/usr/bin", "HOME=" + workDir, "LESSOR_PULUMI=/usr/bin/pulumi", "LESSOR_PLUGIN_DIR=/usr/lib/lessor/plugins", "LESSOR_WORK_DIR=" + workDir,
		},
		Entrypoint:   []string{"/usr/bin/tini", "--", "/usr/bin/worker"},
		Volumes:      map[string]struct{}{workDir: {}, "/tmp": {}},
		ExposedPorts: map[string]struct{}{strconv.Itoa(adminPort) + "/tcp": {}},
		WorkingDir:   workDir,
		Labels: map[string]string{
			"io.buildah.version":                     b.config.Labels["io.buildah.version"],
			"org.opencontainers.image.title":         "lessor",
			"org.opencontainers.image.description":   "Workers that give every tenant its own Pulumi stack",
			"org.opencontainers.image.source":        "https://github.com/lessor-dev/lessor",
			"org.opencontainers.image.documentation": "https://github.com/lessor-dev/lessor/blob/main/docs/image.md",
			"org.opencontainers.image.licenses":      "Apache-2.0",
			"org.opencontainers.image.version":       "1.2.3",
			"org.opencontainers.image.revision":      b.revision,
			"org.opencontainers.image.created":       "2023-11-14T22:13:20Z",
		},
	}, b.config)
	require.Equal(t, "2023-11-14T22:13:20Z", b.created)
	require.Equal(t, 1, b.layers)
}
