package figure

import (
	"fmt"
	"io"
	"strings"
)

// Report is everything that one run found out.
type Report struct {
	// Command made it, on Machine, for Revision of the code.
	Command, Machine, Revision string
	// Took is how long that was, Date the day.
	Took, Date string
	Goals      []Goal
	Sections   []Section
}

// Goal is a promise in figures.
type Goal struct {
	// What is measured, and the Limit that it shall not exceed, in words.
	What, Limit string
	// Got is the figure, Met whether it is within the limit.
	Got Sample
	Met bool
	// Counted reports that the figure does not depend on the machine, so that
	// a missed goal is a fault of the code.
	Counted bool
	// Why explains a goal that cannot be reached.
	Why string
}

// AtMost makes a goal that the worst value may not exceed. It is for counts.
func AtMost(what string, got Sample, limit float64) Goal {
	return Goal{
		What: what, Limit: "≤ " + got.Unit.Format(limit), Got: got, Counted: true,
		Met: len(got.Values) > 0 && got.Worst() <= limit,
	}
}

// Typically makes a goal that the median may not exceed. It is for times.
func Typically(what string, got Sample, limit float64) Goal {
	return Goal{
		What: what, Limit: "≤ " + got.Unit.Format(limit), Got: got,
		Met: len(got.Values) > 0 && got.Median() <= limit,
	}
}

// Section is one comparison.
type Section struct {
	Title string
	// Text says what was compared, and how.
	Text   string
	Tables []Table
	Goals  []Goal
}

// Table has a heading for the first column and one for each further.
type Table struct {
	Columns []string
	Rows    [][]string
	// Note stands below the table.
	Note string
}

// Row adds a row: strings as they are, and whatever tells itself.
func (t *Table) Row(cells ...any) {
	row := make([]string, 0, len(cells))
	for _, cell := range cells {
		row = append(row, fmt.Sprint(cell))
	}

	t.Rows = append(t.Rows, row)
}

// Missed are the goals on counts that were not reached.
func (r Report) Missed() []Goal {
	var missed []Goal

	for _, g := range r.Goals {
		if g.Counted && !g.Met {
			missed = append(missed, g)
		}
	}

	return missed
}

// WriteTo writes the report as Markdown.
func (r Report) WriteTo(w io.Writer) (int64, error) {
	var b strings.Builder

	fmt.Fprintf(&b, "# Performance\n\nMade by `%s` on %s, in %s; nobody typed a figure. Revision %s, on %s.\n\n",
		r.Command, r.Date, r.Took, r.Revision, r.Machine)
	b.WriteString("Figures are medians, with the lowest and the highest value in brackets where they differ. Compare figures of one\n" +
		"table with each other, not with those of another machine: everything, the stand-in for AWS too, ran on the one above.\n\n")
	b.WriteString("## Goals\n\n")
	writeGoals(&b, r.Goals)

	for _, s := range r.Sections {
		s.write(&b)
	}

	n, err := io.WriteString(w, b.String())
	if err != nil {
		return int64(n), fmt.Errorf("writing the report: %w", err)
	}

	return int64(n), nil
}

func writeGoals(b *strings.Builder, goals []Goal) {
	t := Table{Columns: []string{"what", "goal", "measured", ""}}

	for _, g := range goals {
		t.Row(g.What, g.Limit, g.Got, g.verdict())
	}

	t.write(b)

	for _, g := range goals {
		if !g.Met && g.Why != "" {
			fmt.Fprintf(b, "**%s**: %s\n\n", g.What, g.Why)
		}
	}
}

func (g Goal) verdict() string {
	if g.Met {
		return "reached"
	}

	return "**falls short**"
}

func (s Section) write(b *strings.Builder) {
	fmt.Fprintf(b, "## %s\n\n%s\n\n", s.Title, strings.TrimSpace(s.Text))

	for _, t := range s.Tables {
		t.write(b)
	}
}

func (t *Table) write(b *strings.Builder) {
	line := func(cells []string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }

	line(t.Columns)
	line(append([]string{"---"}, strings.Split(strings.Repeat("--: ", len(t.Columns)-1), " ")[:len(t.Columns)-1]...))

	for _, row := range t.Rows {
		line(row)
	}

	b.WriteString("\n")

	if t.Note != "" {
		fmt.Fprintf(b, "%s\n\n", strings.TrimSpace(t.Note))
	}
}
