package main

import (
	"context"
	"errors"

	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
	"github.com/lessor-dev/lessor/test/bench/figure"
)

// partsOf are the parts of operations that are alike.
type partsOf struct{ stays, child, cli, provider, operation, total figure.Sample }

func (p *partsOf) add(w bed.Watched) {
	for sample, value := range map[*figure.Sample]int64{
		&p.stays: w.Most.Stays, &p.child: w.Most.Child, &p.cli: w.Most.CLI, &p.provider: w.Most.Provider,
		&p.operation: w.Most.Operation(), &p.total: w.Total,
	} {
		sample.Unit = figure.Bytes
		sample.Add(float64(value))
	}
}

func (p *partsOf) row(t *figure.Table, name string) {
	t.Row(name, whereThere(p.child), p.cli, whereThere(p.provider), p.operation, p.stays, p.total)
}

// whereThere is nothing where there was no such process.
func whereThere(s figure.Sample) figure.Sample {
	if s.Worst() == 0 {
		return figure.Sample{}
	}

	return s
}

// addParts measures the processes of operations, and returns what those with the
// provider took.
func addParts(ctx context.Context, l *lab, section *figure.Section) (most figure.Sample, err error) {
	const tenants = 3

	sides, err := newSides(ctx, l, false)
	if err != nil {
		return most, err
	}
	defer func() { err = errors.Join(err, sides.close()) }()

	t := figure.Table{Columns: []string{
		"PSS when an operation has the most", "process of the operation", "CLI", "provider", "all of these",
		"process that stays", "together",
	}}

	for _, program := range []string{bare, pair} {
		l.say("parts of an operation, %s", program)

		ours, plain := map[action]*partsOf{create: {}, update: {}}, map[action]*partsOf{create: {}, update: {}}

		for range tenants {
			name := l.Name(program)

			for _, a := range []action{create, update} {
				if err := watched(ctx, sides.plain, program, tenant.ID("plain-"+name), a, plain[a]); err != nil {
					return most, err
				}

				if err := watched(ctx, sides.ours, program, tenant.ID("ours-"+name), a, ours[a]); err != nil {
					return most, err
				}
			}
		}

		for _, a := range []action{create, update} {
			plain[a].row(&t, program+": "+a.String()+", plain")
			ours[a].row(&t, program+": "+a.String()+", lessor")
		}

		most = ours[create].operation
	}

	section.Tables = append(section.Tables, t)

	return most, nil
}

func watched(ctx context.Context, s side, program string, id tenant.ID, a action, to *partsOf) error {
	watch := bed.WatchMemory(s.pid())
	_, err := s.run(ctx, program, id, a)

	to.add(watch.Stop())

	return err
}
