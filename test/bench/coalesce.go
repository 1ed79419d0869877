package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
	"github.com/lessor-dev/lessor/test/bench/figure"
)

const (
	coalesceTitle = "Many changes of one tenant"
	coalesceText  = `
Changes of a tenant that come while an operation runs on it. Each is recorded and left to the worker that runs the operation,
which then makes one more operation for all of them. The requests are those that it takes until a change is recorded and its
message deleted, while the operation runs; the time is from the end of the program that runs until the last change is applied.
The worker has more than one slot: changes can only be recorded while one is free.`
)

// coalesced is what became of many changes.
type coalesced struct {
	changes, operations int
	calls               bed.Calls
	// recording is until all changes were recorded, applying from the moment at
	// which the running operation could end until all were applied.
	recording, applying time.Duration
}

func measureCoalesce(ctx context.Context, l *lab) (figure.Section, error) {
	const rounds = 3

	return coalesce(ctx, l, rounds)
}

func checkCoalesce(ctx context.Context, l *lab) (figure.Section, error) { return coalesce(ctx, l, 1) }

func coalesce(ctx context.Context, l *lab, rounds int) (section figure.Section, err error) {
	const changes, operations = 100, 2

	section = figure.Section{Title: coalesceTitle, Text: coalesceText}

	f, err := l.NewFleet(ctx, bed.FleetOptions{
		Catalog: benchCatalog, Variables: []string{fmt.Sprintf("LESSOR_MAX_SLOTS=%d", idleSlots), "LESSOR_POLL_WAIT=1s"},
	})
	if err != nil {
		return section, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	if _, err := f.Start(ctx); err != nil {
		return section, err
	}

	var all []coalesced

	for range rounds {
		one, err := changeWhileBusy(ctx, l, f, changes)
		if err != nil {
			return section, err
		}

		all = append(all, one)
	}

	addCoalesced(&section, all)

	section.Goals = append(section.Goals, figure.AtMost("operations for 100 changes of one tenant while one operation runs",
		sampleOf(all, figure.Count, func(c coalesced) float64 { return float64(c.operations) }), operations))

	return section, nil
}

// changeWhileBusy sends changes of a tenant while its first operation runs.
func changeWhileBusy(ctx context.Context, l *lab, f *bed.Fleet, changes int) (got coalesced, err error) {
	id, b := tenant.ID(l.Name("hot")), l.newBarrier()

	if err := b.occupy(ctx, f, id); err != nil {
		return got, err
	}

	before, began := l.Wire.Calls(), time.Now()

	for n := range changes {
		err := f.Send(ctx, tenant.EventUpdated, id, func(e *tenant.Event) {
			e.Parameters = tenant.Parameters{parameterNote: quote(strconv.Itoa(n))}
		})
		if err != nil {
			return got, err
		}
	}

	all := int64(changes) + 1
	// A message that was overtaken changes nothing, so that deletions count and
	// not changes.
	if _, err := deleted(ctx, l, before, changes, f.Workers[0].PID); err != nil {
		return got, err
	}

	got.changes, got.calls, got.recording = changes, l.Wire.Since(before), time.Since(began)

	rec, err := f.Rows.Get(ctx, id)
	if err != nil {
		return got, err
	}

	all = min(all, rec.DesiredSeq)
	began = time.Now()

	if err := b.open(); err != nil {
		return got, err
	}

	if _, err := f.Settled(ctx, id, all); err != nil {
		return got, err
	}

	got.applying = time.Since(began)
	got.operations = operationsOn(f, id)

	return got, nil
}

// operationsOn counts the operations on a tenant.
func operationsOn(f *bed.Fleet, id tenant.ID) int {
	count := 0

	for _, w := range f.Workers {
		count += len(startsOf(w, id))
	}

	return count
}

func addCoalesced(section *figure.Section, all []coalesced) {
	t := figure.Table{Columns: []string{"changes while an operation runs", ""}}

	each := func(operation string) figure.Sample {
		return sampleOf(all, figure.Ratio, func(c coalesced) float64 {
			return hundredth(float64(c.calls.Where(func(call bed.Call) bool { return call.Operation == operation })) / float64(c.changes))
		})
	}

	t.Row("changes", sampleOf(all, figure.Count, func(c coalesced) float64 { return float64(c.changes) }))
	t.Row("operations", sampleOf(all, figure.Count, func(c coalesced) float64 { return float64(c.operations) }))

	for _, operation := range []string{"ReceiveMessage", "GetItem", "UpdateItem", "DeleteMessage"} {
		t.Row("`"+operation+"` for each change", each(operation))
	}

	t.Row("sending and recording all", sampleOf(all, figure.Seconds, func(c coalesced) float64 { return c.recording.Seconds() }))
	t.Row("until all are applied", sampleOf(all, figure.Seconds, func(c coalesced) float64 { return c.applying.Seconds() }))

	section.Tables = append(section.Tables, t)
}
