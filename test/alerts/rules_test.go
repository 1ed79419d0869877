package alerts_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"
)

const runbookURL = "https://github.com/lessor-dev/lessor/blob/main/" + runbookFile

func TestAlertsSayWhatPeopleNeed(t *testing.T) {
	t.Parallel()

	name := regexp.MustCompile(`^Lessor[A-Z][A-Za-z]+$`)
	seen := map[string]bool{}

	for _, r := range rules(t) {
		require.Regexp(t, name, r.Alert)
		require.False(t, seen[r.Alert], "%s is there twice", r.Alert)
		seen[r.Alert] = true

		require.NotNil(t, r.For, "%s: for", r.Alert)
		require.Regexp(t, `^\d+[mh]$`, *r.For, r.Alert)
		require.Len(t, r.Labels, 1, r.Alert)
		require.Contains(t, []string{"critical", "warning", "info"}, r.Labels["severity"], r.Alert)

		require.Len(t, r.Annotations, 3, r.Alert)
		require.Regexp(t, `^[A-Z].{10,79}[^.]$`, r.Annotations["summary"], r.Alert)
		require.Regexp(t, `\.$`, r.Annotations["description"], r.Alert)
		require.Equal(t, runbookURL+"#"+strings.ToLower(r.Alert), r.Annotations["runbook_url"], r.Alert)
	}
}

// sections are those of the runbook, by their titles.
func sections(t *testing.T) map[string]string {
	t.Helper()

	found := map[string]string{}

	for _, part := range strings.Split(string(read(t, runbookFile)), "\n## ")[1:] {
		title, text, _ := strings.Cut(part, "\n")
		require.NotContains(t, found, title)
		found[title] = text
	}

	return found
}

// The anchor of a section is its title in small letters, which is what
// runbook_url ends in.
func TestEveryAlertHasARunbook(t *testing.T) {
	t.Parallel()

	runbook := sections(t)
	alerts := map[string]bool{}

	for _, r := range rules(t) {
		alerts[r.Alert] = true

		text := runbook[r.Alert]
		require.NotEmpty(t, text, "%s has no section in %s", r.Alert, runbookFile)

		at := 0

		for _, part := range []string{"**Meaning.**", "**Impact.**", "**First look.**", "**Fix.**", "**Escalate**"} {
			next := strings.Index(text, part)
			require.Positive(t, next, "%s: %s", r.Alert, part)
			require.Greater(t, next, at, "%s: %s is out of order", r.Alert, part)
			at = next
		}

		_, look, _ := strings.Cut(text, "**First look.**")
		look, _, _ = strings.Cut(look, "**Fix.**")
		require.Contains(t, look, "```sh\n", "%s: the first look has no command", r.Alert)
	}

	for title := range runbook {
		require.True(t, alerts[title] || !strings.HasPrefix(title, "Lessor"), "there is no alert %s", title)
	}
}

func TestEveryAlertIsTested(t *testing.T) {
	t.Parallel()

	var file struct {
		Tests []struct {
			Name  string `yaml:"name"`
			Cases []struct {
				Alert    string `yaml:"alertname"`
				Expected []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		} `yaml:"tests"`
	}

	require.NoError(t, yaml.Unmarshal(read(t, casesFile), &file))

	fires, silent := map[string]bool{}, map[string]bool{}

	for _, test := range file.Tests {
		for _, c := range test.Cases {
			require.Equal(t, test.Name, c.Alert)

			if len(c.Expected) > 0 {
				fires[c.Alert] = true
			} else {
				silent[c.Alert] = true
			}
		}
	}

	for _, r := range rules(t) {
		require.True(t, fires[r.Alert], "no case lets %s fire", r.Alert)
		require.True(t, silent[r.Alert], "no case keeps %s silent", r.Alert)
	}
}

func TestPromtool(t *testing.T) {
	t.Parallel()

	tool, err := filepath.Abs(filepath.Join(root, ".bin", "promtool"))
	require.NoError(t, err)

	if _, err := os.Stat(tool); err != nil {
		if tool, err = exec.LookPath("promtool"); err != nil {
			t.Skip("there is no promtool in .bin and on PATH: run `make promtool`")
		}
	}

	for _, arguments := range [][]string{
		{"check", "rules", filepath.Join(root, alertsFile)},
		{"test", "rules", filepath.Join(root, casesFile)},
	} {
		out, err := exec.CommandContext(t.Context(), tool, arguments...).CombinedOutput()
		require.NoError(t, err, "promtool %v\n%s", arguments, out)
	}
}

// What the runbook looks for in logs must be what workers write.
func TestLogLinesOfTheRunbook(t *testing.T) {
	t.Parallel()

	var source strings.Builder

	tree := os.DirFS(filepath.Join(root, "pkg"))

	require.NoError(t, fs.WalkDir(tree, ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}

		text, err := fs.ReadFile(tree, path)
		source.Write(text)

		return err
	}))

	lines := regexp.MustCompile(`\.msg == "([^"]+)"`).FindAllStringSubmatch(string(read(t, runbookFile)), -1)
	require.NotEmpty(t, lines)

	for _, line := range lines {
		require.Contains(t, source.String(), `"`+line[1]+`"`)
	}
}
