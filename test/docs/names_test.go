package docs_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVariablesExist: a variable that a document names is one of a worker's, which
// README.md lists and a test of pkg/config keeps.
func TestVariablesExist(t *testing.T) {
	t.Parallel()

	known := defined(t, "(?m)^\\| `(LESSOR_[A-Z_]+)` \\|", "README.md")

	each(t, func(page, text string) {
		for _, found := range regexp.MustCompile(`\b(LESSOR_[A-Z_]*[A-Z])\b`).FindAllStringSubmatch(text, -1) {
			require.True(t, known[found[1]], "%s names %s, which nothing reads", page, found[1])
		}
	})
}

// TestMetricsExist: a metric that a document names is one of a worker's.
func TestMetricsExist(t *testing.T) {
	t.Parallel()

	known := defined(t, `(?:counters?|gauges?|histograms?)\("([a-z_]+)"|Name: "[a-z_]+"`, "pkg/telemetry/*.go")
	for name := range defined(t, `Name:\s+"([a-z_]+)"`, "pkg/telemetry/*.go") {
		known[name] = true
	}

	delete(known, "")

	series := regexp.MustCompile(`\blessor_([a-z_]+[a-z])\b`)
	suffix := regexp.MustCompile(`_(bucket|sum|count)$`)
	used := 0

	each(t, func(page, text string) {
		for _, found := range series.FindAllStringSubmatch(text, -1) {
			require.True(t, known[found[1]] || known[suffix.ReplaceAllString(found[1], "")], "%s names %s", page, found[0])

			used++
		}
	})

	require.Greater(t, used, 10)
}

// TestAlertsExist: an alert that a document names goes off somewhere.
func TestAlertsExist(t *testing.T) {
	t.Parallel()

	known := defined(t, `alert: (Lessor\w+)`, "charts/lessor/files/alerts.yaml")

	each(t, func(page, text string) {
		for _, found := range regexp.MustCompile(`\b(Lessor[A-Z]\w+)\b`).FindAllString(text, -1) {
			require.True(t, known[found], "%s names %s", page, found)
		}
	})
}

// TestAnchorsExist: a link into a document leads to a heading of it.
func TestAnchorsExist(t *testing.T) {
	t.Parallel()

	all := pages(t)
	heading := regexp.MustCompile(`(?m)^#+ (.*)$`)
	link := regexp.MustCompile(`\]\(([\w./-]*\.md)?#([^)\s]+)\)`)
	used := 0

	for page, text := range all {
		for _, found := range link.FindAllStringSubmatch(block.ReplaceAllString(text, ""), -1) {
			target := page
			if found[1] != "" {
				target = join(page, found[1])
			}

			titles := heading.FindAllStringSubmatch(block.ReplaceAllString(all[target], ""), -1)
			require.True(t, slices.ContainsFunc(titles, func(title []string) bool { return anchor(title[1]) == found[2] }),
				"%s links to %s#%s", page, target, found[2])

			used++
		}
	}

	require.Greater(t, used, 20)
}

// join follows a relative link.
func join(page, link string) string { return path.Join(path.Dir(page), link) }

// anchor is what GitHub makes of a heading: lower case, no punctuation, hyphens
// for spaces.
func anchor(title string) string {
	title = strings.ToLower(strings.TrimSpace(title))
	title = regexp.MustCompile(`[^\w\s-]`).ReplaceAllString(title, "")

	return strings.ReplaceAll(title, " ", "-")
}
