package enqueuecli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

const (
	outputText = "text"
	outputJSON = "json"

	columnPadding = 2
)

func (a *app) wantsJSON() bool { return a.flags.output.value == outputJSON }

// printJSON writes one indented document to standard output.
func (a *app) printJSON(v any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")

	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("writing to standard output: %w", err)
	}

	return nil
}

// printLine writes one document on one line to standard output.
func (a *app) printLine(v any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false)

	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("writing to standard output: %w", err)
	}

	return nil
}

// printf writes data for people to standard output.
func (a *app) printf(format string, args ...any) error {
	if _, err := fmt.Fprintf(a.stdout, format, args...); err != nil {
		return fmt.Errorf("writing to standard output: %w", err)
	}

	return nil
}

// table writes aligned columns to standard output.
func (a *app) table(fill func(w io.Writer)) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, columnPadding, ' ', 0)
	fill(w)

	if err := w.Flush(); err != nil {
		return fmt.Errorf("writing to standard output: %w", err)
	}

	return nil
}

func either(condition bool, yes, no string) string {
	if condition {
		return yes
	}

	return no
}
