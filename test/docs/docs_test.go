// Package docs_test checks what the documents claim and a machine can see.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// TestNamedTestsExist makes sure that a promise in docs/safety.md is not kept by
// a test that was renamed.
func TestNamedTestsExist(t *testing.T) {
	t.Parallel()

	defined := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+|Fuzz\w+)\(`)

	tree := os.DirFS(root)

	require.NoError(t, fs.WalkDir(tree, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}

		source, err := fs.ReadFile(tree, path)
		for _, found := range function.FindAllSubmatch(source, -1) {
			defined[string(found[1])] = true
		}

		return err
	}))

	text := read(t, "docs/safety.md")
	named := regexp.MustCompile("`(Test\\w+|Fuzz\\w+)").FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, named)

	for _, name := range named {
		require.True(t, defined[name[1]], "docs/safety.md names %s, which is nowhere", name[1])
	}
}

// TestLinksLeadSomewhere follows the relative links of all documents.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()

	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	link := regexp.MustCompile(`\]\(([^)#\s:]+)(?:#[^)]*)?\)`)

	documents, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)

	decisions, err := filepath.Glob(filepath.Join(root, "docs", "decisions", "*.md"))
	require.NoError(t, err)

	for _, path := range append(append(documents, decisions...), filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)

		// What is code, such as a regular expression, is no link.
		prose := code.ReplaceAllString(string(text), "")
		for _, found := range link.FindAllStringSubmatch(prose, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(path), found[1]))
			require.NoError(t, err, "%s links to %s", path, found[1])
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)

	return string(text)
}
