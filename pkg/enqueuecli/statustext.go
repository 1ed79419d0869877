package enqueuecli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// printStatus writes a tenant for people.
func (a *app) printStatus(s status) error { return a.table(a.statusLines(s)) }

// statusLines are one line per thing that is known of a tenant.
func (a *app) statusLines(s status) func(w io.Writer) {
	paint := a.painter(a.stdout)

	return func(w io.Writer) {
		line := func(name, format string, args ...any) {
			_, _ = fmt.Fprintf(w, "%s\t%s\n", name, printable(fmt.Sprintf(format, args...)))
		}

		line("tenant", "%s", s.Tenant)
		// Colours are no printable text, so this line is written by itself.
		_, _ = fmt.Fprintf(w, "state\t%s\n", paint.state(s.State))
		line("phase", "%s", s.Phase)

		if s.Tier != "" {
			line("tier", "%s", s.Tier)
			line("region", "%s", s.Region)
		}

		if s.Release != "" {
			line("release", "%s", s.Release)
		}

		values(line, "parameter", s.Parameters)
		line("sequence", "desired %d, applied %d, failed %d", s.Sequence.Desired, s.Sequence.Applied, s.Sequence.Failed)
		workLines(line, s, a.now())
		changeLines(line, s, a.now())
		pendingLines(line, s.Pending)

		if p := s.Applied; p != nil {
			what := nonEmpty(string(p.Phase), p.Tier, p.Region, label("program", p.Program), label("build", p.Build))
			line("applied", "%s", strings.Join(what, ", "))
		}

		if s.Stack != nil {
			line("stack", "%s/%s in %s", s.Stack.Project, s.Stack.Name, s.Stack.Shard)
		}

		values(line, "output", s.Outputs)
		lastLines(line, s.Last)
		historyLines(line, s.History)
	}
}

type lineWriter func(name, format string, args ...any)

func workLines(line lineWriter, s status, now time.Time) {
	if s.Lease != nil {
		line("lease", "%s, fence %d%s", s.Lease.Owner, s.Lease.Fence, until(s.Lease.Until))
	}

	if o := s.Operation; o != nil {
		line("operation", "%s: %s %d/%d resources, %s", o.ID, o.Step, o.Done, o.Planned, elapsed(now.Sub(o.StartedAt)))
	}

	if s.Hold != "" {
		line("hold", "%s", s.Hold)
	}

	if s.Fleet != nil {
		line("fleet", "paused: %s", s.Fleet.Reason)
	}

	if s.DueAt != nil {
		line("due", "%s", strings.TrimPrefix(endsAt("at", *s.DueAt, now), ", "))
	}

	if s.NotBefore != nil && s.NotBefore.After(now) && s.State != stateAwaitingCutover {
		line("not before", "%s, in %s, after %d failed attempts", s.NotBefore.Format(time.RFC3339),
			elapsed(s.NotBefore.Sub(now)), s.Attempts)
	}
}

func lastLines(line lineWriter, last *outcome) {
	if last == nil {
		return
	}

	took := elapsed(time.Duration(last.Seconds * float64(time.Second)))
	line("last", "%s: sequence %d, %s, %s, at %s", last.OperationID, last.Sequence, strings.Join(last.Steps, " "), took,
		last.StartedAt.Format(time.RFC3339))

	if last.Resources != nil {
		line("resources", "%s", strings.Join(nonEmpty(strconv.Itoa(*last.Resources), changes(last.Changes)), ", "))
	}

	typeLines(line, last)

	for _, d := range last.Report {
		line("report", "%s", difference(d))
	}

	for _, r := range last.Repairs {
		line("repair", "%s: %s", r.Action, r.Detail)
	}

	for _, arn := range last.Orphans {
		line("orphan", "%s", arn)
	}

	if f := last.Failure; f != nil {
		line("failure", "%s", f.Error())

		if f.Step != "" {
			line("step", "%s", f.Step)
		}

		if f.Hint != "" {
			line("hint", "%s", f.Hint)
		}
	}
}

// typeLines list what there is most of first.
func typeLines(line lineWriter, last *outcome) {
	names := slices.SortedFunc(maps.Keys(last.Types), func(a, b string) int {
		return cmp.Or(cmp.Compare(last.Types[b], last.Types[a]), cmp.Compare(a, b))
	})

	for _, name := range names {
		// The last operation may have ended before it could count.
		line("type", "%d %s%s", last.Types[name], name, either(last.Resources == nil, ", as last known", ""))
	}
}

// historyLines are the last operations, the newest first.
func historyLines(line lineWriter, history []past) {
	for _, p := range history {
		what := strings.Join(p.Steps, " ")
		if what == "" {
			what = "refused"
		}

		how := "done"
		if p.Kind != "" {
			how = string(p.Kind) + ": " + p.Message
		}

		line("history", "%s, %s, %s: %s", p.StartedAt.Format(time.RFC3339), what,
			elapsed(time.Duration(p.Seconds*float64(time.Second))), how)
	}
}

// printReport writes what a preview or a refresh found.
func (a *app) printReport(report []tenant.Difference) error {
	if len(report) == 0 {
		return a.printf("no difference\n")
	}

	for _, d := range report {
		if err := a.printf("  %s\n", printable(difference(d))); err != nil {
			return err
		}
	}

	return nil
}

func difference(d tenant.Difference) string {
	var parts []string

	for _, part := range []struct {
		label string
		names []string
	}{{"", d.Properties}, {"missing ", d.Missing}, {"extra ", d.Extra}} {
		if len(part.names) > 0 {
			parts = append(parts, part.label+strings.Join(part.names, ", "))
		}
	}

	text := fmt.Sprintf("%s %s %s", d.Action, d.Type, d.Name)
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, "; ") + ")"
	}

	return text
}

func values[M ~map[string]json.RawMessage](line lineWriter, name string, all M) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		line(name, "%s = %s", key, plain(all[key]))
	}
}

// plain is a string without its quotes, and other values as JSON.
func plain(value json.RawMessage) string {
	var text string
	if err := json.Unmarshal(value, &text); err == nil {
		return text
	}

	return string(value)
}

func changes(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, what := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", what, counts[what]))
	}

	return strings.Join(parts, ", ")
}

func until(t *time.Time) string {
	if t == nil {
		return ""
	}

	return ", until " + t.Format(time.RFC3339)
}

func label(name, value string) string {
	if value == "" {
		return ""
	}

	return name + " " + value
}

func nonEmpty(all ...string) []string {
	return slices.DeleteFunc(all, func(s string) bool { return s == "" })
}

// printable keeps text from the row or from a message from moving the cursor
// of somebody's terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}

		return ' '
	}, s)
}

// printableLines is printable for text of many lines.
func printableLines(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}

	return strings.Join(lines, "\n")
}
