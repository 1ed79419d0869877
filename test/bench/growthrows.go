package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
	"github.com/lessor-dev/lessor/test/bench/figure"
)

// crowd is a table with rows, and what a worker does with it.
type crowd struct {
	fleet *bed.Fleet
	rows  int
	// pages are those of DynamoDB, units what it reads for them.
	pages int
	units float64

	// event is what one event that changes a tenant asks of the table, scans and
	// claims what one sweep does.
	event, scans, claims figure.Sample
	// rest and peak are the worker's memory before and while it sweeps.
	took, cpu, rest, peak figure.Sample
}

const (
	// pageBytes is what one Scan reads at most.
	//
	// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Scan.html
	pageBytes = 1 << 20
	// unitBytes is what a read unit reads, strongly consistent; what is not costs
	// half of that. A Scan costs what it reads, added up, whatever it leaves out.
	//
	// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
	unitBytes = 4 << 10
	half      = 0.5
)

// rowsGrow measures the registry and the sweep with few and with many rows.
func rowsGrow(ctx context.Context, l *lab, m *mold, s size, section *figure.Section) error {
	crowds := make([]*crowd, 0, len(s.rows))

	for _, rows := range s.rows {
		l.say("a table with %d rows", rows)

		c, err := newCrowd(ctx, l, m, rows)
		if err != nil {
			return err
		}

		crowds = append(crowds, c)

		if err := c.operate(ctx, l); err != nil {
			return err
		}

		l.say("sweeps")

		if err := c.sweep(ctx, l, s.sweeps); err != nil {
			return err
		}
	}

	addRows(section, m, crowds, s.short)

	return nil
}

func newCrowd(ctx context.Context, l *lab, m *mold, rows int) (*crowd, error) {
	f, err := l.NewFleet(ctx, bed.FleetOptions{Catalog: benchCatalog, Variables: []string{pollSoon}})
	if err != nil {
		return nil, err
	}

	if err := f.PutRows(ctx, m.rows(rows)); err != nil {
		return nil, err
	}

	perPage := pageBytes / m.rowSize
	l.PageScans(f.Table, perPage)

	return &crowd{
		// The row of the tenant that passes by is one more.
		fleet: f, rows: rows, pages: (rows + perPage) / perPage, units: half * float64(rows*m.rowSize) / unitBytes,
		took: figure.Sample{Unit: figure.Seconds}, cpu: figure.Sample{Unit: figure.Seconds},
		rest: figure.Sample{Unit: figure.Bytes}, peak: figure.Sample{Unit: figure.Bytes},
	}, nil
}

// operate counts what an event asks of the table.
func (c *crowd) operate(ctx context.Context, l *lab) (err error) {
	const times = 3

	w, err := c.fleet.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.fleet.Close()) }()

	o := &ours{fleet: c.fleet, worker: w, changes: map[tenant.ID]int64{}}
	id := tenant.ID(l.Name("passer-by"))

	if _, err := o.run(ctx, bare, id, create); err != nil {
		return err
	}

	for range times {
		got, err := measured(ctx, l, o, nil, bare, id, noChange)
		if err != nil {
			return err
		}

		c.event.Add(float64(got.calls.Of("dynamodb")))
	}

	return nil
}

var errRows = errors.New("a survey did not see all rows")

// sweep lets a worker sweep some times.
func (c *crowd) sweep(ctx context.Context, l *lab, times int) (err error) {
	// The first survey reads the stand-in, which takes its time.
	seen := 0

	err = c.fleet.Rows.Survey(ctx, func(tenant.Record) bool {
		seen++

		return true
	})
	if err != nil {
		return err
	}

	if seen != c.rows+1 {
		return fmt.Errorf("%w: %d of %d", errRows, seen, c.rows+1)
	}

	before, scans := l.Wire.Calls(), l.PagesAsked(c.fleet.Table)

	w, err := c.fleet.Start(ctx, "LESSOR_POLL_WAIT=20s", "LESSOR_SWEEP_INTERVAL="+sweepEvery(c.rows).String())
	if err != nil {
		return err
	}
	// There is nothing to drain but a poll, which takes its time.
	defer func() { err = errors.Join(err, w.Kill()) }()

	rest, err := bed.MemoryOf(w.PID)
	if err != nil {
		return err
	}

	c.rest.Add(float64(rest.Anonymous))

	for sweep := range times {
		if err := c.await(ctx, l, w, sweep+1, scans); err != nil {
			return err
		}
	}

	claims := l.Wire.Since(before).Where(func(call bed.Call) bool { return call.Operation == "UpdateItem" })

	c.scans.Add(float64(l.PagesAsked(c.fleet.Table)-scans) / float64(times))
	c.claims.Add(float64(claims) / float64(times))

	return nil
}

// sweepEvery leaves time for a sweep of so many rows.
func sweepEvery(rows int) time.Duration {
	const (
		least  = 2 * time.Second
		perRow = 200 * time.Microsecond
	)

	return least + time.Duration(rows)*perRow
}

// await measures the next sweep.
func (c *crowd) await(ctx context.Context, l *lab, w *bed.Worker, sweep, before int) error {
	const (
		lookEvery = 20 * time.Millisecond
		patience  = 2 * time.Minute
		metric    = "lessor_sweep_duration_seconds_"
	)

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	cpu, err := bed.CPU(w.PID)
	if err != nil {
		return err
	}

	took, err := w.Metric(ctx, metric+"sum")
	if err != nil {
		return err
	}

	peak := bed.WatchMemory(w.PID)
	defer func() { c.peak.Add(float64(peak.Stop().Anonymous)) }()

	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()

	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for a sweep: %w\n%s", context.Cause(ctx), w.Tail())
		case <-ticker.C:
		}

		// To ask the worker would be in its processor time.
		if l.PagesAsked(c.fleet.Table)-before < sweep*c.pages {
			continue
		}

		if count, err := w.Metric(ctx, metric+"count"); err != nil || count < float64(sweep) {
			if err != nil {
				return err
			}

			continue
		}

		break
	}

	after, err := bed.CPU(w.PID)
	if err != nil {
		return err
	}

	sum, err := w.Metric(ctx, metric+"sum")
	if err != nil {
		return err
	}

	c.cpu.Add((after - cpu).Seconds())
	c.took.Add(sum - took)

	return nil
}

func addRows(section *figure.Section, m *mold, crowds []*crowd, short bool) {
	few, many, before := crowds[0], crowds[len(crowds)-1], crowds[len(crowds)-2]
	t := figure.Table{Columns: []string{"rows in the table"}}

	for _, c := range crowds {
		t.Columns = append(t.Columns, figure.Count.Format(float64(c.rows)))
	}

	row := func(what string, of func(*crowd) any) {
		cells := make([]any, 0, 1+len(crowds))
		cells = append(cells, what)

		for _, c := range crowds {
			cells = append(cells, of(c))
		}

		t.Row(cells...)
	}

	row("DynamoDB requests of an event that changes a tenant, with its operation", func(c *crowd) any { return c.event })
	row("pages of 1 MB", func(c *crowd) any { return figure.Count.Format(float64(c.pages)) })
	row("Scan requests of a sweep", func(c *crowd) any { return c.scans })
	row("writes of a sweep", func(c *crowd) any { return c.claims })
	row("read units of a sweep", func(c *crowd) any { return figure.Count.Format(c.units) })
	row("time of a sweep, without that of DynamoDB", func(c *crowd) any { return c.took })
	row("CPU of a sweep", func(c *crowd) any { return c.cpu })
	row("memory of the worker before it sweeps", func(c *crowd) any { return c.rest })
	row("memory of the worker while it sweeps", func(c *crowd) any { return c.peak })

	t.Note = "DynamoDB takes such a row for " + figure.Count.Format(float64(m.rowSize)) + " bytes. Read units are what it charges for " +
		"whole rows that are read as the sweep reads them: eventually consistent, at half the price. Memory is the anonymous " +
		"one, without what files back; a sweep holds a page at a time and what the garbage collector has not yet taken, which a few " +
		"pages do not fill. An event also meets what a worker does by the clock: a look whether the fleet is paused, and writes " +
		"of progress."
	section.Tables = append(section.Tables, t)

	const (
		// growsAtMost is for ten times the rows: a longer sweep has more chances to be
		// looked at just before the garbage collector runs.
		growsAtMost = 1.25
		// byTheClock is what may come on top of what an event takes: a look whether
		// the fleet is paused, or a write of progress. A slow machine has more of them,
		// so that this count fails no build.
		byTheClock = 1
	)

	more := figure.Count.Format(float64(many.rows)) + " rows"
	section.Goals = append(section.Goals,
		figure.Typically("further DynamoDB requests of an event with "+more+" instead of "+figure.Count.Format(float64(few.rows)),
			figure.Of(figure.Count, slices.Min(many.event.Values)-slices.Min(few.event.Values)), byTheClock),
		figure.AtMost("Scan requests of a sweep of "+more+" ÷ pages of 1 MB",
			figure.Of(figure.Ratio, many.scans.Worst()/float64(many.pages)), 1),
		figure.AtMost("writes of a sweep of settled rows", many.claims, 1))

	if !short {
		what := "memory of a worker that sweeps " + more + " ÷ " + figure.Count.Format(float64(before.rows))
		section.Goals = append(section.Goals, figure.Typically(what, paired(many.peak, before.peak), growsAtMost))
	}
}
