package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/test/bench/figure"
)

func TestWhereAReportGoes(t *testing.T) {
	t.Parallel()

	kept, missed := figure.AtMost("processes", figure.Counted(1), 1), figure.AtMost("requests", figure.Counted(9), 8)
	late := figure.Typically("ratio", figure.Of(figure.Ratio, 0.9), 0.25)

	cases := []struct {
		name    string
		options options
		goals   []figure.Goal
		inFile  bool
		fails   bool
	}{
		{name: "a whole run", goals: []figure.Goal{kept}, inFile: true},
		{name: "a time that is missed", goals: []figure.Goal{kept, late}, inFile: true},
		{name: "a count that is missed", goals: []figure.Goal{kept, missed}, inFile: true, fails: true},
		{name: "some scenarios", options: options{only: "hot"}, goals: []figure.Goal{kept}},
		{name: "the counts", options: options{short: true}, goals: []figure.Goal{kept}},
		{name: "counts that are missed", options: options{short: true}, goals: []figure.Goal{missed}, fails: true},
	}

	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			c.options.out = filepath.Join(t.TempDir(), "performance.md")
			report := figure.Report{Command: commandLine(c.options), Goals: c.goals}

			var (
				stdout bytes.Buffer
				said   []string
			)

			err := finish(c.options, report, &stdout, func(format string, _ ...any) { said = append(said, format) })
			if c.fails {
				require.ErrorIs(t, err, errMissed)
			} else {
				require.NoError(t, err)
			}

			text := stdout.String()

			if c.inFile {
				require.Empty(t, text)

				file, err := os.ReadFile(c.options.out)
				require.NoError(t, err)

				text = string(file)
			} else {
				require.NoFileExists(t, c.options.out)
			}

			require.Contains(t, text, "Made by `"+report.Command+"`")
			require.NotEmpty(t, report.Command)
			require.Equal(t, c.inFile || c.fails, len(said) > 0, said)
		})
	}
}
