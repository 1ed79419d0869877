package image_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// hash is the SHA-256 of a file.
func hash(t *testing.T, path string) string {
	t.Helper()

	content, err := os.ReadFile(path)
	require.NoError(t, err)

	digest := sha256.Sum256(content)

	return hex.EncodeToString(digest[:])
}

// TestSameBytesElsewhere compiles a program in two places: with another
// directory, TMPDIR and environment, and the second time from nothing. It takes
// enqueue; the worker takes minutes from nothing, and TestImage compares it.
func TestSameBytesElsewhere(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("compiles the standard library")
	}

	needs(t, false, "bash", "git", "awk", "realpath")

	first := clone(t)
	second := again(t, first)
	outs := t.TempDir()

	must(t, first, []string{"TMPDIR=" + t.TempDir()}, "image/compile.sh", filepath.Join(outs, "1"), "enqueue")
	must(t, second, []string{
		"TMPDIR=" + t.TempDir(), "GOCACHE=" + t.TempDir(), "GOFLAGS=-race", "CGO_ENABLED=1", "GOAMD64=v2", "USER=somebody", "HOME=" + t.TempDir(),
		"GOMODCACHE=" + strings.TrimSpace(must(t, root, nil, "go", "env", "GOMODCACHE")),
	}, "image/compile.sh", filepath.Join(outs, "2"), "enqueue")

	one, two := in(outs, "1/enqueue"), in(outs, "2/enqueue")
	require.Equal(t, hash(t, one), hash(t, two))
	require.NotContains(t, read(t, one), first, "the place where it was built is in the program")

	revision := strings.TrimSpace(must(t, first, nil, "git", "rev-parse", "HEAD"))
	settings := must(t, root, nil, "go", "version", "-m", one)
	require.Contains(t, settings, "vcs.revision="+revision)
	require.Contains(t, settings, "vcs.modified=false")
}
