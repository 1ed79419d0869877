package enqueuecli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/enqueuecli"
)

const docsPage = "../../docs/enqueue.md"

const docsIntro = `# enqueue: reference

This page is the text of ` + "`enqueue help`" + `. A test writes it
(` + "`go test ./pkg/enqueuecli -run TestDocs -update`" + `) and checks that it is up to date.

`

func TestDocs(t *testing.T) {
	t.Parallel()

	var page strings.Builder

	page.WriteString(docsIntro)

	root := enqueuecli.Root()
	section(&page, root)
	fmt.Fprintf(&page, "Flags of every command:\n\n```text\n%s```\n\n", root.PersistentFlags().FlagUsages())

	var walk func(parent *cobra.Command)

	walk = func(parent *cobra.Command) {
		for _, cmd := range parent.Commands() {
			if cmd.Name() != "help" {
				section(&page, cmd)
				walk(cmd)
			}
		}
	}

	walk(root)
	golden(t, docsPage, strings.TrimRight(page.String(), "\n")+"\n")
}

func section(page *strings.Builder, cmd *cobra.Command) {
	topic := cmd.Long != "" && !cmd.Runnable()
	if topic {
		fmt.Fprintf(page, "## %s\n\n```text\n%s\n```\n\n", cmd.Short, cmd.Long)

		return
	}

	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}

	fmt.Fprintf(page, "## %s\n\n%s\n\n", cmd.CommandPath(), text)
	fmt.Fprintf(page, "```sh\n%s\n```\n\n", strings.ReplaceAll(strings.TrimPrefix(cmd.Example, "  "), "\n  ", "\n"))

	if cmd.HasParent() {
		fmt.Fprintf(page, "```text\n%s\n", cmd.UseLine())

		if flags := cmd.LocalNonPersistentFlags().FlagUsages(); flags != "" {
			fmt.Fprintf(page, "\n%s", flags)
		}

		page.WriteString("```\n\n")
	}
}

// Every command has an example and a sentence, and every flag is explained.
func TestHelpIsComplete(t *testing.T) {
	t.Parallel()

	commands := 0

	var walk func(cmd *cobra.Command)

	walk = func(cmd *cobra.Command) {
		commands++

		require.NotEmpty(t, cmd.Short, cmd.CommandPath())

		if cmd.Runnable() {
			require.Contains(t, cmd.Example, "enqueue", cmd.CommandPath())
		}

		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}

	walk(enqueuecli.Root())
	require.Greater(t, commands, 20)
}
