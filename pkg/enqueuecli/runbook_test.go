package enqueuecli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/enqueuecli"
)

// TestCommandsOfTheRunbook lets the command line judge what the runbook has
// people type at night.
func TestCommandsOfTheRunbook(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("../../docs/runbook.md")
	require.NoError(t, err)

	shell := regexp.MustCompile("(?s)```sh\n(.*?)```")
	checked := 0

	for _, block := range shell.FindAllStringSubmatch(string(text), -1) {
		for line := range strings.Lines(block[1]) {
			line, _, _ = strings.Cut(line, "#")
			line, _, _ = strings.Cut(line, "|")

			words := strings.Fields(line)
			if len(words) == 0 || words[0] != "enqueue" {
				continue
			}

			command, rest, err := enqueuecli.Root().Find(words[1:])
			require.NoError(t, err, line)
			require.True(t, command.Runnable(), line)
			require.NoError(t, command.ParseFlags(rest), line)
			require.NoError(t, command.ValidateArgs(command.Flags().Args()), line)

			if flag := command.Flags().Lookup("state"); flag != nil && flag.Changed {
				require.Contains(t, flag.Usage, flag.Value.String(), line)
			}

			checked++
		}
	}

	require.Greater(t, checked, 10)

	// Those in the text are named without arguments.
	for _, found := range regexp.MustCompile("`enqueue ([a-z]+)").FindAllStringSubmatch(string(text), -1) {
		_, _, err := enqueuecli.Root().Find(found[1:])
		require.NoError(t, err, found[0])
	}
}
