package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/lessor-dev/lessor/test/bench/bed"
	"github.com/lessor-dev/lessor/test/bench/figure"
)

const eventsTitle = "Events that need no operation"

const eventsText = `
Events that need no operation, beside the shortest program that anybody could write with the AWS SDK for Go: a loop of
` + "`ReceiveMessage`" + ` for ten messages and ` + "`DeleteMessage`" + ` for each, one after another or as many at once as the
worker has slots. That program does not even look at what is in the messages. A duplicate is the very event that made a settled
tenant. A stale event changes a settled tenant, but is older than what made it. A handed-over event changes a tenant on which
another worker is busy: the change is recorded, and left to that worker. All messages are in the queue before the process
starts, the first tenth of them does not count, and all take turns.`

// emptier is who empties a queue, by the name that the report gives it.
type emptier struct {
	name string
	kind kind
	// atOnce makes it the shortest program, unless it is 0.
	atOnce int
}

func emptiers() []emptier {
	ours := func(k kind) emptier { return emptier{name: fmt.Sprintf("lessor, %d slots: %s", idleSlots, k), kind: k} }

	return []emptier{
		{name: "shortest program, one at a time", atOnce: 1},
		{name: fmt.Sprintf("shortest program, %d at once", idleSlots), atOnce: idleSlots},
		ours(duplicate), ours(stale), ours(handedOver),
	}
}

// run fills the queue and has it emptied.
func (e emptier) run(ctx context.Context, l *lab, i *idle, events int) (got emptied, err error) {
	if err := i.fill(ctx, e.kind, events); err != nil {
		return got, err
	}

	var loop *bed.Loop

	got, err = empty(ctx, l, events, func() (int, error) {
		if e.atOnce > 0 {
			if loop, err = i.fleet.StartLoop(e.atOnce); err != nil {
				return 0, err
			}

			return loop.PID, nil
		}

		w, err := i.fleet.Start(ctx)
		if err != nil {
			return 0, err
		}

		return w.PID, nil
	})

	if loop != nil {
		err = errors.Join(err, loop.Stop())
	}

	return got, errors.Join(err, i.fleet.Close())
}

func checkEvents(ctx context.Context, l *lab) (figure.Section, error) {
	const events = 100

	section := figure.Section{Title: eventsTitle, Text: eventsText}

	i, err := newIdle(ctx, l)
	if err != nil {
		return section, err
	}

	found, err := compareEvents(ctx, l, i, events, 1)
	if err != nil {
		return section, err
	}

	addRequests(&section, found)

	return section, nil
}

func measureEvents(ctx context.Context, l *lab) (figure.Section, error) {
	const many, few, rounds = 1000, 200, 2

	section := figure.Section{Title: eventsTitle, Text: eventsText}

	i, err := newIdle(ctx, l)
	if err != nil {
		return section, err
	}

	found, err := compareEvents(ctx, l, i, many, rounds)
	if err != nil {
		return section, err
	}

	section.Tables = append(section.Tables, ratesOf("the emulator as it is", found))

	l.say("with %s before each answer", regionDelay)
	l.Wire.SetDelay(regionDelay)
	l.Wire.SetQueueDelay(regionDelay)

	slow, err := compareEvents(ctx, l, i, few, rounds)
	if err != nil {
		return section, err
	}

	section.Tables = append(section.Tables, ratesOf(regionDelay.String()+" before each answer, of SQS too", slow))
	addRequests(&section, found)

	return section, nil
}

// compareEvents has everyone empty the queue, in turns.
func compareEvents(ctx context.Context, l *lab, i *idle, events, rounds int) (map[string][]emptied, error) {
	if _, err := i.counter.Take(); err != nil {
		return nil, err
	}

	found := map[string][]emptied{}

	for round := range rounds {
		for _, e := range emptiers() {
			l.say("%s, round %d of %d", e.name, round+1, rounds)

			got, err := e.run(ctx, l, i, events)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", e.name, err)
			}

			if got.processes, err = i.counter.Take(); err != nil {
				return nil, err
			}

			if e.atOnce == 0 {
				// The worker asks the CLI for its version when it starts.
				got.processes--
			}

			found[e.name] = append(found[e.name], got)
		}
	}

	return found, nil
}

// sampleOf makes a sample of something of each.
func sampleOf[T any](all []T, unit figure.Unit, of func(T) float64) figure.Sample {
	s := figure.Sample{Unit: unit}
	for _, one := range all {
		s.Add(of(one))
	}

	return s
}

func ratesOf(where string, found map[string][]emptied) figure.Table {
	t := figure.Table{Columns: []string{where, "events", "÷ shortest, one at a time", "÷ shortest, at once", "CPU each", "÷ shortest"}}
	rates := func(e emptier) figure.Sample { return sampleOf(found[e.name], figure.PerSecond, emptied.rate) }
	cpu := func(e emptier) figure.Sample { return sampleOf(found[e.name], figure.Seconds, emptied.cpuEach) }
	all := emptiers()

	for _, e := range all {
		t.Row(e.name, rates(e),
			figure.Of(figure.Ratio, rates(e).Over(rates(all[0]))), figure.Of(figure.Ratio, rates(e).Over(rates(all[1]))),
			cpu(e), figure.Of(figure.Ratio, cpu(e).Over(cpu(all[0]))))
	}

	return t
}

// addRequests adds what does not depend on the machine.
func addRequests(section *figure.Section, found map[string][]emptied) {
	operations := []string{"ReceiveMessage", "DeleteMessage", "ChangeMessageVisibility", "GetItem", "UpdateItem"}
	t := figure.Table{
		Columns: append([]string{"requests for each event"}, operations...),
		Note:    "How many messages one receive brings is a matter of chance, up to as many as slots are free at that moment.",
	}

	for _, e := range emptiers() {
		cells := make([]any, 0, 1+len(operations))
		cells = append(cells, e.name)

		for _, operation := range operations {
			cells = append(cells, sampleOf(found[e.name], figure.Ratio, func(one emptied) float64 { return one.each(operation) }))
		}

		t.Row(cells...)

		if e.atOnce > 0 {
			continue
		}

		processes := sampleOf(found[e.name], figure.Count, func(one emptied) float64 { return float64(one.processes) })
		section.Goals = append(section.Goals, figure.AtMost("CLI processes for all "+e.kind.String()+" events", processes, 0))
	}

	section.Tables = append(section.Tables, t)
}
