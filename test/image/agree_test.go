package image_test

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

// TestVersionsAgree compares the two modules from which the image is built.
func TestVersionsAgree(t *testing.T) {
	t.Parallel()

	require.Equal(t, required(t, "go.mod", "github.com/pulumi/pulumi/sdk/v3"),
		required(t, "tools/pulumi/go.mod", "github.com/pulumi/pulumi/pkg/v3"),
		"the CLI in the image is not of the version that the worker was written for")
}

// TestChartFitsTheImage compares what both say about the user and about what can
// be written.
func TestChartFitsTheImage(t *testing.T) {
	t.Parallel()

	values := read(t, in(root, "charts/lessor/values.yaml"))

	for at, want := range map[string]any{
		"$.workDir.path":               workDir,
		"$.securityContext.runAsUser":  uint64(user),
		"$.securityContext.runAsGroup": uint64(user),
		"$.securityContext.fsGroup":    uint64(user),
		"$.admin.port":                 uint64(adminPort),
		"$.pulumi.path":                "",
		"$.pulumi.pluginDir":           "",
	} {
		place, err := yaml.PathString(at)
		require.NoError(t, err)

		var got any
		require.NoError(t, place.Read(strings.NewReader(values), &got))
		require.Equal(t, want, got, at)
	}
}

// TestDockerfileIsAnybodys fails on a base that only some can pull, or that is
// another one tomorrow: bases come from the builder.
func TestDockerfileIsAnybodys(t *testing.T) {
	t.Parallel()

	stages := map[string]bool{"scratch": true, "${BUILDER}": true}

	for line := range strings.Lines(read(t, filepath.Join(root, "Dockerfile"))) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] != "FROM" {
			continue
		}

		require.True(t, stages[fields[1]], "the Dockerfile is built from %s", fields[1])

		if len(fields) > 3 {
			stages[fields[3]] = true
		}
	}

	require.True(t, stages["root"])
}

// TestNothingTrackedIsHidden fails if .dockerignore keeps a file from the build
// that Git knows: Go would then call the worker's version dirty.
func TestNothingTrackedIsHidden(t *testing.T) {
	t.Parallel()

	var patterns []string

	for line := range strings.Lines(read(t, filepath.Join(root, ".dockerignore"))) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, line)
		}
	}

	require.NotEmpty(t, patterns)

	for name := range strings.SplitSeq(must(t, root, nil, "git", "ls-files", "-z"), "\x00") {
		for dir := name; dir != "." && dir != ""; dir = path.Dir(dir) {
			for _, pattern := range patterns {
				deep, anywhere := strings.CutPrefix(pattern, "**/")
				hidden, err := path.Match(pattern, dir)
				require.NoError(t, err)
				require.False(t, hidden || anywhere && (dir == deep || strings.HasSuffix(dir, "/"+deep)), "%s hides %s", pattern, name)
			}
		}
	}
}
