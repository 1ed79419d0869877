package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lessor-dev/lessor/test/bench/figure"
)

const throughputText = `
A batch of tenants is created at once, and once all are settled, every one gets a change of one resource. The time is from the sending of
the first message to the last settled row. A worker has two slots here, and the plain side is as many processes as the fleet has slots, each
of which takes the next tenant and runs ` + "`UpsertStackInlineSource`, `SetAllConfig` and `Up`" + `. Each fleet is new, and its workers and
the plain processes run before the clock does. The share of the processors is of all that the machine could have done in that time: of the
workers (or plain processes) with all that they started, and of the whole machine, on which the stand-in for AWS runs too.`

// crews are how many workers are compared, each with slotsOfWorker.
var crews = []int{1, 2, 4} //nolint:gochecknoglobals // a constant, but for Go

const (
	slotsOfWorker = 2
	// loadedWorkers is the fleet whose operations tell where the time goes under
	// load.
	loadedWorkers = 2
)

// pace is that of a batch of tenants that was worked off.
type pace struct {
	perMinute figure.Sample
	// each is the processor time for a tenant.
	each figure.Sample
	// own is the share of the processors that the workers took with all that they
	// started, all that of the whole machine.
	own, all figure.Sample
}

func newPace() *pace {
	return &pace{
		perMinute: figure.Sample{Unit: figure.PerMinute}, each: figure.Sample{Unit: figure.Seconds},
		own: figure.Sample{Unit: figure.Percent}, all: figure.Sample{Unit: figure.Percent},
	}
}

// batchOf names a measured batch.
type batchOf struct {
	program string
	action  action
	workers int
}

// batches are those of both sides.
type batches struct{ ours, plain map[batchOf]*pace }

func (batches) add(to map[batchOf]*pace, of batchOf, got load) {
	if to[of] == nil {
		to[of] = newPace()
	}

	to[of].perMinute.Add(got.perMinute())
	to[of].each.Add(got.each().Seconds())
	to[of].own.Add(got.own())
	to[of].all.Add(got.all())
}

func measureThroughput(ctx context.Context, l *lab) (figure.Section, error) {
	const (
		rounds, tenants = 2, 16
		// The plain side takes several times longer.
		plainTenants = 4
	)

	section := figure.Section{Title: "Throughput", Text: throughputText}
	found := batches{ours: map[batchOf]*pace{}, plain: map[batchOf]*pace{}}
	spent := timeSpent{}

	for round := range rounds {
		for _, program := range []string{bare, pair} {
			for _, workers := range crews {
				l.say("program %s, %d workers, round %d of %d", program, workers, round+1, rounds)

				of := batchOf{program: program, workers: workers}

				if err := throughputOfFleet(ctx, l, found, spent, of, tenants); err != nil {
					return section, err
				}

				if err := throughputOfPlain(ctx, l, found, of, max(plainTenants, workers*slotsOfWorker)); err != nil {
					return section, err
				}
			}
		}
	}

	if err := oneAtATime(ctx, l, spent); err != nil {
		return section, err
	}

	section.Tables = append(section.Tables, throughputTable(found, tenants, plainTenants))

	for _, program := range []string{bare, pair} {
		section.Tables = append(section.Tables, spent.table(program))
	}

	return section, nil
}

func throughputTable(found batches, tenants, plainTenants int) figure.Table {
	t := figure.Table{Columns: []string{
		"tenants per minute", "plain", "lessor", "ratio", "CPU for a tenant, plain", "CPU, lessor", "ratio",
		"share of the processors, plain", "share, lessor", "share of all with lessor",
	}}

	for _, program := range []string{bare, pair} {
		for _, a := range []action{create, update} {
			for _, workers := range crews {
				of := batchOf{program: program, action: a, workers: workers}
				p, o := found.plain[of], found.ours[of]

				t.Row(fmt.Sprintf("%s: %s, %d × %d slots", program, a, workers, slotsOfWorker),
					p.perMinute, o.perMinute, figure.Of(figure.Ratio, o.perMinute.Over(p.perMinute)),
					p.each, o.each, figure.Of(figure.Ratio, o.each.Over(p.each)), p.own, o.own, o.all)
			}
		}
	}

	t.Note = fmt.Sprintf("Batches are of %d tenants with lessor. Those of the plain side, which take longer, have one for each "+
		"process and %d at least. Where the processors are used up, the processor time for a tenant is what bounds the rate. %s",
		tenants, plainTenants, saturated(found))

	return t
}

// saturated says what bounds the largest fleet.
func saturated(found batches) string {
	const busy = 0.9

	least := slices.Min(slices.Collect(func(yield func(float64) bool) {
		for of, r := range found.ours {
			if of.workers == slices.Max(crews) && !yield(r.all.Median()) {
				return
			}
		}
	}))

	if least >= busy {
		return "With the most workers the processors of the machine are used up, so that more workers could do more only on more " +
			"machines: they have nothing in common but the queue, the table and the buckets."
	}

	return "With the most workers the processors of the machine are not used up in every row."
}

// throughputOfFleet measures one fleet of so many workers.
func throughputOfFleet(ctx context.Context, l *lab, found batches, spent timeSpent, of batchOf, tenants int) (err error) {
	f, err := newCrew(ctx, l, of.workers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.fleet.Close()) }()

	ids := f.names(l, of.program, tenants)

	for _, of.action = range []action{create, update} {
		got, err := f.work(ctx, of.program, of.action, ids)
		if err != nil {
			return err
		}

		found.add(found.ours, of, got)
	}

	if of.workers == loadedWorkers {
		spent.add(of.program, underLoad, f.lines())
	}

	return nil
}

// throughputOfPlain measures as many plain processes as a fleet has slots.
func throughputOfPlain(ctx context.Context, l *lab, found batches, of batchOf, tenants int) (err error) {
	crew, err := newPlainCrew(l, of.workers*slotsOfWorker)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, crew.close()) }()

	ids := crew.names(l, of.program, tenants)

	for _, of.action = range []action{create, update} {
		got, err := crew.work(ctx, of.program, of.action, ids)
		if err != nil {
			return err
		}

		found.add(found.plain, of, got)
	}

	return nil
}
