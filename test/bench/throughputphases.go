package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
	"github.com/lessor-dev/lessor/test/bench/figure"
)

// condition is how operations were run.
type condition int

const (
	aloneThere condition = iota
	underLoad
	delayed
)

func (c condition) String() string {
	return [...]string{
		"one at a time",
		fmt.Sprintf("%d × %d slots busy", loadedWorkers, slotsOfWorker),
		"one at a time, with " + regionDelay.String(),
	}[c]
}

// alike names operations that are compared.
type alike struct {
	program   string
	action    action
	condition condition
}

// timeSpent is where the time of operations went: the milliseconds of the phases
// of each.
type timeSpent map[alike][]map[string]float64

// add takes lines in the order in which operations ended. The first of a tenant is its creation,
// the second its change.
func (s timeSpent) add(program string, c condition, lines []bed.Line) {
	seen := map[string]int{}

	for _, line := range lines {
		of := alike{program: program, action: create, condition: c}

		seen[line.Tenant]++
		if seen[line.Tenant] > 1 {
			of.action = update
		}

		s[of] = append(s[of], line.Phases)
	}
}

// of is a phase of operations: how long it took, and its share of all their time.
func (s timeSpent) of(of alike, p phase.Phase) (took figure.Sample, share float64) {
	took = figure.Sample{Unit: figure.Seconds}

	var part, whole float64

	for _, phases := range s[of] {
		const thousand = 1000

		took.Add(phases[string(p)] / thousand)
		part += phases[string(p)]

		for _, ms := range phases {
			whole += ms
		}
	}

	if whole > 0 {
		share = part / whole
	}

	return took, share
}

// largest is the phase that takes the most time.
func (s timeSpent) largest(of alike) (largest phase.Phase, share float64) {
	for _, p := range phase.All() {
		if _, of := s.of(of, p); of > share {
			largest, share = p, of
		}
	}

	return largest, share
}

func (s timeSpent) table(program string) figure.Table {
	t := figure.Table{Columns: []string{"where the time goes, " + program}}

	var all []alike

	for _, a := range []action{create, update} {
		for c := aloneThere; c <= delayed; c++ {
			all = append(all, alike{program: program, action: a, condition: c})
			t.Columns = append(t.Columns, fmt.Sprintf("%s: %s", a, c))
		}
	}

	for _, p := range phase.All() {
		row := append(make([]any, 0, 1+len(all)), "`"+string(p)+"`")

		for _, of := range all {
			took, share := s.of(of, p)
			row = append(row, fmt.Sprintf("%s, %s", took.Unit.Format(took.Median()), figure.Percent.Format(share)))
		}

		t.Row(row...)
	}

	t.Note = "Medians, and the share of the whole; docs/operations.md says what the phases are. " + s.verdict(all)

	return t
}

// verdict names the phase that is the largest, in how many of the columns, and
// its shares there.
func (s timeSpent) verdict(all []alike) string {
	shares := map[phase.Phase]*figure.Sample{}

	for _, of := range all {
		largest, share := s.largest(of)
		if shares[largest] == nil {
			shares[largest] = &figure.Sample{Unit: figure.Percent}
		}

		shares[largest].Add(share)
	}

	var parts []string

	for _, p := range phase.All() {
		if share := shares[p]; share != nil {
			parts = append(parts, fmt.Sprintf("%#q in %d of %d columns, with %s", p, len(share.Values), len(all), share))
		}
	}

	return "The largest part is " + strings.Join(parts, ", and ") + " of the time."
}

// oneAtATime lets tenants live one after another in a worker with one slot, as
// the emulator is and with a delay.
func oneAtATime(ctx context.Context, l *lab, spent timeSpent) error {
	defer l.Wire.SetDelay(0)

	for _, c := range []condition{aloneThere, delayed} {
		l.say("operations %s", c)

		if c == delayed {
			l.Wire.SetDelay(regionDelay)
		}

		for _, program := range []string{bare, pair} {
			if err := aloneIn(ctx, l, spent, program, c); err != nil {
				return err
			}
		}
	}

	return nil
}

func aloneIn(ctx context.Context, l *lab, spent timeSpent, program string, c condition) (err error) {
	const tenants = 5

	o, err := newOurs(ctx, l, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.fleet.Close()) }()

	for range tenants {
		id := tenant.ID(l.Name("alone-" + program))

		for _, a := range []action{create, update} {
			if _, err := o.run(ctx, program, id, a); err != nil {
				return err
			}
		}
	}

	spent.add(program, c, o.worker.Lines("operation succeeded"))

	return nil
}
