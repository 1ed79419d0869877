package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/lessor-dev/lessor/test/bench/bed"
	"github.com/lessor-dev/lessor/test/bench/figure"
)

// options are the command line.
type options struct {
	only, out, binDir string
	short             bool
}

// scenario is one comparison.
type scenario struct {
	name, title string
	// measure does it in full; check only counts, and is nil where there is
	// nothing to count.
	measure, check func(context.Context, *lab) (figure.Section, error)
}

// lab is what a scenario works with.
type lab struct {
	*bed.Bed

	// say tells the reader on the terminal how far it is.
	say func(format string, args ...any)
}

// scenarios are all, in the order of the report.
func scenarios() []scenario {
	return []scenario{
		{name: "operation", title: "one operation, beside the plain Automation API", measure: measureOperations, check: checkOperations},
		{name: "growth", title: "what others leave behind", measure: measureGrowth, check: checkGrowth},
		{name: "events", title: "events that need no operation", measure: measureEvents, check: checkEvents},
		{name: "coalesce", title: "many changes of one tenant", measure: measureCoalesce, check: checkCoalesce},
		{name: "resume", title: "a worker dies", measure: measureResume},
		{name: "signup", title: "from the sign-up to the tenant", measure: measureSignup},
		{name: "throughput", title: "tenants per minute, and where the time goes", measure: measureThroughput},
		{name: "memory", title: "memory of workers and operations, and what slots promise", measure: measureMemory, check: checkMemory},
		{name: "hot", title: "time and allocations of the hot paths", measure: measureHot},
	}
}

var (
	errMissed  = errors.New("a count is worse than promised")
	errUnknown = errors.New("no such scenario")
	errNothing = errors.New("nothing to do: none of these scenarios counts anything")
)

func run(ctx context.Context, o options, stdout, stderr io.Writer) error {
	chosen, err := choose(scenarios(), o)
	if err != nil {
		return err
	}

	began := time.Now()
	say := func(format string, args ...any) {
		fmt.Fprintf(stderr, "%7s  "+format+"\n", append([]any{time.Since(began).Round(time.Second)}, args...)...)
	}

	report := figure.Report{
		Command: commandLine(o), Machine: machine(), Revision: revision(ctx), Date: began.Format(time.DateOnly),
	}

	for _, s := range chosen {
		section, err := runOne(ctx, o, s, say)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}

		report.Sections = append(report.Sections, section)
		report.Goals = append(report.Goals, section.Goals...)
	}

	report.Took = time.Since(began).Round(time.Second).String()

	return finish(o, report, stdout, say)
}

// runOne runs a scenario on a stand-in of its own, so that none sees what an
// other left behind.
func runOne(ctx context.Context, o options, s scenario, say func(string, ...any)) (section figure.Section, err error) {
	say("%s: %s", s.name, s.title)

	b, err := bed.Open(ctx, o.binDir, io.Discard)
	if err != nil {
		return figure.Section{}, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()

	l := &lab{Bed: b, say: func(format string, args ...any) { say("  "+format, args...) }}

	do := s.measure
	if o.short {
		do = s.check
	}

	return do(ctx, l)
}

func choose(all []scenario, o options) ([]scenario, error) {
	var chosen []scenario

	wanted := map[string]bool{}

	for name := range strings.SplitSeq(o.only, ",") {
		if name != "" {
			wanted[name] = true
		}
	}

	for _, s := range all {
		if (o.only == "" || wanted[s.name]) && (!o.short || s.check != nil) {
			chosen = append(chosen, s)
		}

		delete(wanted, s.name)
	}

	for name := range wanted {
		return nil, fmt.Errorf("%w: %q; `bench --help` lists them", errUnknown, name)
	}

	if len(chosen) == 0 {
		return nil, errNothing
	}

	return chosen, nil
}

// finish writes a whole run to the file, and every other to the terminal.
func finish(o options, report figure.Report, stdout io.Writer, say func(string, ...any)) error {
	const readable = 0o644

	var text bytes.Buffer
	if _, err := report.WriteTo(&text); err != nil {
		return err
	}

	if o.only == "" && !o.short {
		if err := os.WriteFile(o.out, text.Bytes(), readable); err != nil {
			return fmt.Errorf("writing the report: %w", err)
		}

		say("wrote %s", o.out)
	} else if _, err := text.WriteTo(stdout); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}

	missed := report.Missed()
	for _, g := range missed {
		say("%s: %s, and not %s", g.What, g.Got, g.Limit)
	}

	if len(missed) > 0 {
		return errMissed
	}

	return nil
}

func commandLine(o options) string {
	switch {
	case o.short:
		return "make bench-short"
	case o.only != "":
		return ".bin/bench --only " + o.only
	}

	return "make bench"
}

// machine says what the figures come from.
func machine() string {
	const gibibyte = 1 << 20

	model := "unknown processor"

	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, _ := strings.Cut(line, ":"); strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)

				break
			}
		}
	}

	memory := 0

	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		// The first line is the one that counts, in KiB.
		_, _ = fmt.Sscanf(string(text), "MemTotal: %d kB", &memory)
	}

	return fmt.Sprintf("%d processors (%s), %d GiB, %s %s/%s",
		runtime.NumCPU(), model, (memory+gibibyte/2)/gibibyte, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// revision is the commit that was measured, marked where files differ from it.
func revision(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12").Output()
	if err != nil {
		return "unknown"
	}

	return strings.TrimSpace(string(out))
}
