package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tarball is a release of the plugin.
func tarball(t *testing.T, files map[string]string) []byte {
	t.Helper()

	var packed bytes.Buffer

	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)

	for name, text := range files {
		require.NoError(t, archive.WriteHeader(&tar.Header{Name: name, Mode: 0o700, Uid: 1234, Size: int64(len(text))}))
		_, err := archive.Write([]byte(text))
		require.NoError(t, err)
	}

	require.NoError(t, archive.Close())
	require.NoError(t, zipped.Close())

	return packed.Bytes()
}

func sum(packed []byte) string {
	digest := sha256.Sum256(packed)

	return hex.EncodeToString(digest[:])
}

// release is the path of a version below PLUGIN_URL.
func release(version string) string {
	return "/v" + version + "/pulumi-resource-aws-v" + version + "-linux-amd64.tar.gz"
}

// serve is a place that has releases.
func serve(t *testing.T, releases map[string][]byte) string {
	t.Helper()

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		packed, ok := releases[r.URL.Path]
		if !ok {
			http.NotFound(w, r)

			return
		}

		_, _ = w.Write(packed)
	}))
	t.Cleanup(server.Close)

	return server.URL
}

func TestPluginIsFetched(t *testing.T) {
	t.Parallel()
	needs(t, false, "bash", "curl", "tar", "sha256sum")

	version := awsVersion(t)
	good := tarball(t, map[string]string{"pulumi-resource-aws": "the plugin", "LICENSE": "the licence"})
	old := tarball(t, map[string]string{"pulumi-resource-aws": "the old plugin"})
	url := serve(t, map[string][]byte{
		release(version): good, release("6.1.0"): old, release("6.2.0"): tarball(t, map[string]string{"README.md": "nothing"}),
	})

	for name, test := range map[string]struct {
		sum, old string
		want     []string
		stderr   string
	}{
		"the version of go.mod": {sum: sum(good), want: []string{version}},
		"an older one as well":  {sum: sum(good), old: "6.1.0=" + sum(old), want: []string{version, "6.1.0"}},
		"no checksum":           {stderr: `is "": it must be a SHA-256`},
		"short checksum":        {sum: sum(good)[:40], stderr: "it must be a SHA-256"},
		"other checksum":        {sum: sum(old), stderr: "has the SHA-256 " + sum(good) + ", not " + sum(old)},
		"older, other checksum": {sum: sum(good), old: "6.1.0=" + sum(good), want: []string{version}, stderr: "has the SHA-256 " + sum(old)},
		"older, not there":      {sum: sum(good), old: "6.9.9=" + sum(good), want: []string{version}, stderr: "cannot be fetched: set PLUGIN_URL"},
		"older, no checksum":    {sum: sum(good), old: "6.1.0", want: []string{version}, stderr: "it must be VERSION=SHA256"},
		"older, no plugin in it": {
			sum: sum(good), old: "6.2.0=" + sum(tarball(t, map[string]string{"README.md": "nothing"})), stderr: "has no pulumi-resource-aws in it",
			want: []string{version},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			out := filepath.Join(t.TempDir(), "plugins")
			got := run(t, root, []string{"PLUGIN_URL=" + url, "PLUGIN_SHA256=" + test.sum, "OLD_PLUGINS=" + test.old, "TARGETARCH=amd64"},
				"image/plugin.sh", out)

			require.Equal(t, test.stderr != "", got.code != 0, got.stderr)
			require.Contains(t, got.stderr, test.stderr)

			for _, want := range test.want {
				path := filepath.Join(out, "resource-aws-v"+want, "pulumi-resource-aws")
				require.Contains(t, read(t, path), "plugin")

				info, err := os.Stat(path)
				require.NoError(t, err)
				require.Equal(t, os.FileMode(0o755), info.Mode().Perm(), "others must be able to run it")
			}

			// What was refused is not even unpacked.
			if strings.Contains(test.stderr, "SHA-256") {
				kept, err := filepath.Glob(filepath.Join(out, "*"))
				require.NoError(t, err)
				require.Len(t, kept, len(test.want))
			}
		})
	}
}
