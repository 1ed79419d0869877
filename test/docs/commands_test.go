package docs_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/sethvargo/go-envconfig"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/enqueuecli"
)

// TestCommandsOfEnqueueAreUnderstood runs every command that a document shows
// with the real command line, which gets as far as the queue or the table: there
// is nobody at the endpoint. A flag, a command or an argument that is wrong ends
// before that, with a code of its own.
func TestCommandsOfEnqueueAreUnderstood(t *testing.T) {
	const usage, validation = 2, 3

	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x",
		"AWS_MAX_ATTEMPTS": "1", "AWS_EC2_METADATA_DISABLED": "true", "AWS_CONFIG_FILE": os.DevNull, "AWS_PROFILE": "",
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull,
	} {
		t.Setenv(name, value)
	}

	variables := envconfig.MapLookuper(map[string]string{
		"LESSOR_QUEUE_URL": "http://127.0.0.1:1/1/events", "LESSOR_DEAD_LETTER_QUEUE_URL": "http://127.0.0.1:1/1/dead",
	})
	seen := map[string]bool{}
	all := pages(t)

	// Files that commands name are none of ours.
	t.Chdir(t.TempDir())

	for page, text := range all {
		for _, line := range lines(text) {
			for _, args := range calls(line, "enqueue") {
				key := strings.Join(args, " ")
				if len(args) == 0 || seen[key] {
					continue
				}

				seen[key] = true

				// Which events a file has, the document does not say.
				wrong := []int{usage, validation}
				if args[0] == "send" {
					wrong = []int{usage}
				}

				var out bytes.Buffer

				code := enqueuecli.Main(t.Context(), args, strings.NewReader("6JZ3Q2M5TW7Y4XKD6VQH2C5N3A\n"), &out, &out, variables)
				require.NotContains(t, wrong, code, "%s: enqueue %s: %s", page, key, out.String())
			}
		}
	}

	require.Greater(t, len(seen), 50)
}

func TestCommandsOfWorkerAreUnderstood(t *testing.T) {
	t.Parallel()

	known := defined(t, `(?m)^  worker (\w+) `, "pkg/worker/main.go")

	each(t, func(page, text string) {
		for _, line := range lines(text) {
			for _, args := range calls(line, "worker") {
				require.LessOrEqual(t, len(args), 1, "%s: %s", page, line)

				for _, command := range args {
					require.True(t, known[command], "%s: worker has no %s", page, command)
				}
			}
		}
	})
}

// TestConfigurationOfThePlatform knows what `pulumi config set` and
// `pulumi stack output` may name.
func TestConfigurationOfThePlatform(t *testing.T) {
	t.Parallel()

	keys := defined(t, `"(\w+)": +&cfg|values\.Get\("(?:\w+)"\)`, "infra/platform/cmd/platform/main.go")
	for key := range defined(t, `(?:Get\(|^\t\t)"(\w+)"`, "infra/platform/cmd/platform/main.go") {
		keys[key] = true
	}

	outputs := defined(t, `Output\w+ += "(\w+)"`, "infra/platform/outputs.go")
	used := 0

	each(t, func(page, text string) {
		for _, line := range lines(text) {
			for _, args := range calls(line, "pulumi") {
				args = slices.DeleteFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") })

				switch {
				case len(args) > 2 && args[0] == "config" && args[1] == "set":
					key, _, _ := strings.Cut(args[2], "[")
					require.True(t, keys[strings.TrimPrefix(key, "aws:")], "%s: the platform has no %s", page, key)

					used++
				case len(args) > 2 && args[0] == "stack" && args[1] == "output":
					require.True(t, outputs[args[2]], "%s: the platform has no output %s", page, args[2])

					used++
				}
			}
		}
	})

	require.Greater(t, used, 15)
}

// TestValuesOfTheChart looks every --set for our chart up in values.yaml.
func TestValuesOfTheChart(t *testing.T) {
	t.Parallel()

	var values map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "charts/lessor/values.yaml")), &values))

	flag := regexp.MustCompile(`--set(?:-file|-string)?[ =]([\w.]+)=`)
	used := 0

	check := func(page, text string) {
		for _, found := range flag.FindAllStringSubmatch(text, -1) {
			var value any = values

			for part := range strings.SplitSeq(found[1], ".") {
				section, ok := value.(map[string]any)
				require.True(t, ok, "%s: the chart has no value %s", page, found[1])
				require.Contains(t, section, part, "%s: %s", page, found[1])

				value = section[part]
			}

			used++
		}
	}

	each(t, func(page, text string) {
		for _, line := range lines(text) {
			if strings.Contains(line, "charts/lessor") {
				check(page, line)
			}
		}

		for _, inline := range regexp.MustCompile("`(--set [^`]*)`").FindAllStringSubmatch(text, -1) {
			check(page, inline[1])
		}
	})

	require.Greater(t, used, 5)
}

// TestPoliciesAreJSON parses what here-documents write.
func TestPoliciesAreJSON(t *testing.T) {
	t.Parallel()

	documents := regexp.MustCompile(`(?s)<<JSON\n(.*?)\nJSON\n`).FindAllStringSubmatch(read(t, "docs/install-eks.md"), -1)
	require.Len(t, documents, 2)

	for _, document := range documents {
		var policy struct {
			Version   string           `json:"Version"`
			Statement []map[string]any `json:"Statement"`
		}

		require.NoError(t, json.Unmarshal([]byte(document[1]), &policy))
		require.Equal(t, "2012-10-17", policy.Version)
		require.NotEmpty(t, policy.Statement)
	}
}

func TestTargetsOfMakeExist(t *testing.T) {
	t.Parallel()

	targets := defined(t, `(?m)^([a-z][a-z0-9-]*):`, "Makefile")

	each(t, func(page, text string) {
		for _, found := range regexp.MustCompile("`make ([a-z0-9-]+)|(?m)^\\$ make ([a-z0-9-]+)").FindAllStringSubmatch(text, -1) {
			target := found[1] + found[2]
			require.True(t, targets[target], "%s: make has no %s", page, target)
		}
	})
}

// TestFilesExist: what a document names as a file of the repository is there. A
// path is relative to the repository, or to a folder that a command changes to.
func TestFilesExist(t *testing.T) {
	t.Parallel()

	path := regexp.MustCompile(`(?:^|[\s"'=(` + "`" + `])((?:\.\./)*(?:charts|infra|docs|pkg|cmd|internal|tools|test)/[\w./-]*\w)`)
	used := 0

	each(t, func(page, text string) {
		for _, found := range path.FindAllStringSubmatch(text, -1) {
			name := strings.TrimLeft(found[1], "./")
			if strings.Contains(name, "...") {
				continue
			}

			_, err := os.Stat(filepath.Join(root, name))
			require.NoError(t, err, page)

			used++
		}
	})

	require.Greater(t, used, 20)
}
