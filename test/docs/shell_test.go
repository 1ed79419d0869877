package docs_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pages are all documents for people, by their path in the repository.
func pages(t *testing.T) map[string]string {
	t.Helper()

	found := map[string]string{}

	for _, pattern := range []string{"README.md", "docs/*.md", "docs/decisions/*.md", "charts/*/README.md"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)

		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)

			name, err := filepath.Rel(root, path)
			require.NoError(t, err)

			found[name] = string(text)
		}
	}

	require.Contains(t, found, "docs/operations.md")

	return found
}

var (
	block        = regexp.MustCompile("(?s)(?:^|\n) *```(\\w*)\n(.*?\n?) *```")
	continuation = regexp.MustCompile(`\s*\\\n\s*`)
	here         = regexp.MustCompile(`[^\n]*<<JSON\n(?:[^\n]*\n)*?JSON`)
	variable     = regexp.MustCompile(`\$\([^)]*\)|\$\{[^}]*\}|\$\w+`)
)

// anything stands for what a variable has: a tenant, or a token.
const anything = "acme-0123456789abcdef"

// lines of shell in a document. What is printed in a console is none, and
// neither is what follows a here-document.
func lines(text string) []string {
	var all []string

	for _, found := range block.FindAllStringSubmatch(text, -1) {
		language, code := found[1], continuation.ReplaceAllString(found[2], " ")
		if !slices.Contains([]string{"sh", "bash", "console"}, language) {
			continue
		}

		for line := range strings.Lines(here.ReplaceAllString(code, "")) {
			line = strings.TrimSpace(line)

			if language == "console" {
				var command bool
				if line, command = strings.CutPrefix(line, "$ "); !command {
					continue
				}
			}

			all = append(all, line)
		}
	}

	return all
}

// calls of a program in a line of shell, with their words: as a command of its
// own, in a pipe, in a loop or in $().
func calls(line, program string) [][]string {
	begin := regexp.MustCompile(`(?:^|[|;&(]\s*|\b(?:do|then|while)\s+)` + regexp.QuoteMeta(program) + `(?:\s|$)`)

	var found [][]string

	for _, at := range begin.FindAllStringIndex(line, -1) {
		if strings.Count(line[:at[0]], `'`)%2 == 0 {
			found = append(found, words(line[at[1]:]))
		}
	}

	return found
}

// words of a command up to where the shell ends it.
func words(text string) []string {
	var (
		all   []string
		word  strings.Builder
		open  rune
		began bool
	)

	end := func() {
		if began {
			all = append(all, variable.ReplaceAllString(word.String(), anything))
		}

		word.Reset()

		began = false
	}

	for _, r := range text {
		switch {
		case open != 0 && r == open:
			open = 0
		case open != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			open, began = r, true
		case r == ' ' || r == '\t':
			end()
		case strings.ContainsRune("|;&)<>\n", r), r == '#' && !began:
			end()

			return all
		default:
			word.WriteRune(r)

			began = true
		}
	}

	end()

	return all
}

func TestWords(t *testing.T) {
	t.Parallel()

	for line, want := range map[string][][]string{
		"enqueue":                            {nil},
		"enqueue list # all":                 {{"list"}},
		`enqueue hold acme --reason "a b" &`: {{"hold", "acme", "--reason", "a b"}},
		`jq . | while read -r t; do enqueue refresh "$t"; done`: {{"refresh", anything}},
		`x=$(enqueue status ${A#b}) && enqueue list >f`:         {{"status", anything}, {"list"}},
		"enqueues list":      nil,
		"echo enqueue list":  nil,
		`jq 'x | enqueue y'`: nil,
		`enqueue dlq list --output json | jq -r '.messages[].body'`: {{"dlq", "list", "--output", "json"}},
	} {
		require.Equal(t, want, calls(line, "enqueue"), line)
	}
}

func TestLinesOfShell(t *testing.T) {
	t.Parallel()

	text := "a\n```sh\none \\\n  two\ncat <<JSON\n{\nJSON\nthree\n```\n```console\n$ four\nfive\n```\n```yaml\nsix\n```\n  ```sh\n  seven\n  ```\n"
	require.Equal(t, []string{"one two", "", "three", "four", "seven"}, lines(text))
}

// defined collects what a pattern finds in the files that match globs.
func defined(t *testing.T, pattern string, globs ...string) map[string]bool {
	t.Helper()

	names := map[string]bool{}

	for _, glob := range globs {
		paths, err := filepath.Glob(filepath.Join(root, glob))
		require.NoError(t, err)
		require.NotEmpty(t, paths, glob)

		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)

			for _, found := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
				names[found[1]] = true
			}
		}
	}

	require.NotEmpty(t, names, pattern)

	return names
}

// each calls check with every document, in order.
func each(t *testing.T, check func(page, text string)) {
	t.Helper()

	all := pages(t)
	for _, page := range slices.Sorted(maps.Keys(all)) {
		check(page, all[page])
	}
}
