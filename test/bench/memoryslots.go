package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
	"github.com/lessor-dev/lessor/test/bench/figure"
)

const (
	// filledSlots are as many as fit into the limit.
	filledSlots = 4
	// reserveMemory is for the worker: less than the default, so that there is
	// little that could hide a mistake.
	reserveMemory = 128 << 20
	// ballastMemory is what each of the operations takes more than those of pair:
	// about as much as pulumi-aws.
	ballastMemory = 256 << 20
)

// filled is what a worker did whose slots were all in use.
type filled struct {
	slots float64
	// stopped are operations that took more than they may have, total what all
	// processes held together.
	stopped int
	total   int64
	// killed and highest are those of the control group.
	killed  int
	highest int64
}

// addSlots fills all slots that a worker computes from a limit.
func addSlots(ctx context.Context, l *lab, section *figure.Section, operationMemory int64) error {
	limit := reserveMemory + filledSlots*operationMemory

	l.say("%d operations at once in %s", filledSlots, figure.Bytes.Format(float64(limit)))

	group, err := l.NewGroup(limit)
	grouped := err == nil

	got, err := fillSlots(ctx, l, group, limit, operationMemory)
	if grouped {
		err = errors.Join(err, group.Close())
	}

	if err != nil {
		return err
	}

	section.Tables = append(section.Tables, got.table(grouped, limit, operationMemory))
	section.Goals = append(section.Goals, got.goals(grouped, limit)...)

	return nil
}

func (f filled) table(grouped bool, limit, operationMemory int64) figure.Table {
	size := func(n int64) figure.Sample { return figure.Of(figure.Bytes, float64(n)) }
	t := figure.Table{Columns: []string{"a worker with all slots in use", ""}}

	t.Row("limit", size(limit))
	t.Row("`LESSOR_MEMORY_RESERVE`", size(reserveMemory))
	t.Row("`LESSOR_OPERATION_MEMORY`", size(operationMemory))
	t.Row("slots that the worker computes", figure.Of(figure.Count, f.slots))
	t.Row("operations at once", figure.Counted(filledSlots))
	t.Row("operations that were stopped for their memory", figure.Counted(f.stopped))
	t.Row("PSS of worker and operations together, at most", size(f.total))
	t.Row("left of the limit", figure.Of(figure.Percent, 1-float64(f.total)/float64(limit)))

	t.Note = "Operations of `pair` that take " + figure.Bytes.Format(ballastMemory) +
		" more each, about what pulumi-aws would, and wait for one another when all their processes are there. "

	if !grouped {
		t.Note += "No control group could be made here, so that the limit is `LESSOR_MEMORY_LIMIT`, and the memory was watched."

		return t
	}

	t.Row("the control group's own count, at most", size(f.highest))
	t.Row("processes that the kernel ended for want of memory", figure.Counted(f.killed))

	t.Note += "The limit is that of a control group, where the worker found it. The group's own count has files in it that were read and " +
		"written, which the kernel drops when it needs the memory; what other groups had read before is not in it."

	return t
}

func (f filled) goals(grouped bool, limit int64) []figure.Goal {
	goals := []figure.Goal{
		figure.AtMost("slots that fit into the limit and that the worker does not have", figure.Of(figure.Count, filledSlots-f.slots), 0),
		figure.AtMost("operations that are stopped for their memory with all slots in use", figure.Counted(f.stopped), 0),
		figure.Typically("memory of a worker with all slots in use (PSS)", figure.Of(figure.Bytes, float64(f.total)), float64(limit)),
	}

	if grouped {
		goals = append(goals,
			figure.AtMost("processes that the kernel ends in a control group with that limit", figure.Counted(f.killed), 0))
	}

	return goals
}

// fillSlots runs a worker in a group, if there is one.
func fillSlots(ctx context.Context, l *lab, group *bed.Group, limit, operationMemory int64) (got filled, err error) {
	o := bed.FleetOptions{Catalog: meetCatalog, Variables: []string{
		"LESSOR_MAX_SLOTS=" + strconv.Itoa(2*filledSlots),
		fmt.Sprintf("LESSOR_MEMORY_RESERVE=%d", reserveMemory),
		fmt.Sprintf("LESSOR_OPERATION_MEMORY=%d", operationMemory),
		fmt.Sprintf("LESSOR_MEMORY_LIMIT=%d", limit),
	}}

	if group != nil {
		self, err := os.Executable()
		if err != nil {
			return got, fmt.Errorf("finding this program: %w", err)
		}

		if o.Binary, err = group.Wrap(self); err != nil {
			return got, err
		}

		// So that the worker finds the limit itself.
		o.Variables = append(o.Variables, "LESSOR_MEMORY_LIMIT=")
	}

	f, err := l.NewFleet(ctx, o)
	if err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	w, err := f.Start(ctx)
	if err != nil {
		return got, err
	}

	if got.slots, err = w.Metric(ctx, "lessor_slots"); err != nil {
		return got, err
	}

	watch := bed.WatchMemory(w.PID)
	err = meetAll(ctx, l, f)
	got.total = watch.Stop().Total

	for _, line := range w.Lines("operation failed") {
		if line.Kind == string(tenant.KindMemory) {
			got.stopped++
		}
	}

	// One that is stopped for its memory is what is looked for, and those that
	// wait for it fail too.
	if err != nil && got.stopped == 0 {
		return got, fmt.Errorf("%w\n%s", err, w.Tail())
	}

	if group == nil {
		return got, nil
	}

	if got.killed, err = group.Killed(); err != nil {
		return got, err
	}

	got.highest, err = group.Highest()

	return got, err
}

// meetAll creates as many tenants as there are slots, whose operations wait for
// each other.
func meetAll(ctx context.Context, l *lab, f *bed.Fleet) error {
	room, err := newRoom(l)
	if err != nil {
		return err
	}

	c, ids := crew{fleet: f, changes: 1}, names(l, "ours-meet", filledSlots)
	bodies := make([][]byte, 0, len(ids))
	given := tenant.Parameters{}

	for name, value := range meetingOf(room) {
		given[name] = quote(value)
	}

	for _, id := range ids {
		body, err := f.Event(tenant.EventCreated, id, func(e *tenant.Event) { e.Tier, e.Parameters = meet, given })
		if err != nil {
			return err
		}

		bodies = append(bodies, body)
	}

	if err := f.SendAll(ctx, bodies); err != nil {
		return err
	}

	return c.allSettled(ctx, ids)
}

func newRoom(l *lab) (string, error) {
	const private = 0o700

	room := filepath.Join(l.Dir, l.Name("room"))
	if err := os.MkdirAll(room, private); err != nil {
		return "", fmt.Errorf("making a directory: %w", err)
	}

	return room, nil
}

// addPlainAtOnce runs as many operations in one process of the plain side.
func addPlainAtOnce(l *lab, section *figure.Section) (err error) {
	l.say("%d operations at once in one plain process", filledSlots)

	room, err := newRoom(l)
	if err != nil {
		return err
	}

	p, err := l.NewPlain(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.Close()) }()

	orders := make([]bed.PlainOrder, 0, filledSlots)

	for _, id := range names(l, "plain-meet", filledSlots) {
		orders = append(orders, bed.PlainOrder{Tenant: id, Program: meet, Parameters: meetingOf(room)})
	}

	watch := bed.WatchMemory(p.PID)
	_, err = p.Run(orders[0], orders[1:]...)
	got := watch.Stop()

	if err != nil {
		return err
	}

	t := figure.Table{Columns: []string{fmt.Sprintf("%d operations at once in one process, plain", filledSlots), ""}}
	t.Row("PSS of all processes together, at most", figure.Of(figure.Bytes, float64(got.Total)))
	t.Note = "The same program. Nothing bounds these: one that takes more than there is ends all of them."
	section.Tables = append(section.Tables, t)

	return nil
}
