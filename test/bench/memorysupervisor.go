package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/lessor-dev/lessor/internal/localaws"
	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
	"github.com/lessor-dev/lessor/test/bench/figure"
)

// soloTier is added to the shipped catalog: its tenants need no pool, so that
// operations of the shipped worker are short.
const soloTier = `
  solo:
    program: pool
    parameters:
      sharedEndpoint: db.example.com:5432
`

const supervisorOperations, supervisorTenants = 50, 10

// supervised is the memory of a worker.
type supervised struct {
	rest, during, after figure.Sample
	// inUse and spare are the parts of after that are the Go heap: with what is
	// reachable or will be collected, and what the runtime keeps for later. Stacks
	// are those of goroutines.
	inUse, spare, stacks figure.Sample
	// ready is the process that waits for the next operation.
	ready figure.Sample
}

func addSupervisor(ctx context.Context, l *lab, section *figure.Section) error {
	const goal = 32 << 20

	l.say("a worker at rest, and with %d operations", supervisorOperations)

	got, err := superviseSome(ctx, l)
	if err != nil {
		return err
	}

	t := figure.Table{Columns: []string{"memory of a worker that no file backs", ""}}
	runtime := figure.Of(figure.Bytes, got.after.Median()-got.inUse.Median()-got.spare.Median()-got.stacks.Median())

	t.Row("at rest, before the first operation", got.rest)

	for i, memory := range got.during.Values {
		t.Row(fmt.Sprintf("after %d operations", (i+1)*supervisorTenants), figure.Of(figure.Bytes, memory))
	}

	t.Row("of that, heap in use or not collected yet", got.inUse)
	t.Row("of that, heap that the runtime keeps for later", got.spare)
	t.Row("of that, stacks of goroutines", got.stacks)
	t.Row("of that, the Go runtime's own and variables of the program", runtime)

	t.Row("beside it, the process that stands ready for the next operation (PSS)", got.ready)

	section.Tables = append(section.Tables, t)
	section.Goals = append(section.Goals,
		figure.Typically("memory of a worker at rest (anonymous)", got.rest, goal),
		figure.Typically(fmt.Sprintf("memory of a worker after %d operations (anonymous)", supervisorOperations), got.after, goal))

	return nil
}

func superviseSome(ctx context.Context, l *lab) (got supervised, err error) {
	const fresh = 3

	catalog, err := os.ReadFile(filepath.Join(l.BinDir, "..", "infra", "catalog", "catalog.yaml"))
	if err != nil {
		return got, fmt.Errorf("reading the shipped catalog: %w", err)
	}

	for i := range fresh {
		if err := superviseOne(ctx, l, string(catalog)+soloTier, &got, i == 0); err != nil {
			return got, err
		}
	}

	return got, nil
}

// superviseOne starts a worker, and has it work if that is wanted.
func superviseOne(ctx context.Context, l *lab, catalog string, got *supervised, work bool) (err error) {
	const settle = 2 * time.Second

	f, err := l.NewFleet(ctx, bed.FleetOptions{
		Catalog: catalog, Binary: filepath.Join(l.BinDir, "worker"),
		Variables: []string{"LESSOR_MAX_SLOTS=" + strconv.Itoa(slotsOfWorker)},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	w, err := f.Start(ctx)
	if err != nil {
		return err
	}

	<-time.After(settle)

	if err := addAnonymous(&got.rest, w.PID); err != nil || !work {
		return err
	}

	err = operateSolo(ctx, l, f, func() error { return addAnonymous(&got.during, w.PID) })
	if err != nil {
		return err
	}

	return got.rests(ctx, w)
}

// rests measures a worker after its work.
func (s *supervised) rests(ctx context.Context, w *bed.Worker) error {
	if err := addAnonymous(&s.after, w.PID); err != nil {
		return err
	}

	s.ready = figure.Of(figure.Bytes, float64(bed.WatchMemory(w.PID).Stop().Most.Operation()))

	values := map[string]float64{}

	for _, name := range []string{"heap_inuse", "heap_idle", "heap_released", "stack_inuse"} {
		value, err := w.Metric(ctx, "go_memstats_"+name+"_bytes")
		if err != nil {
			return err
		}

		values[name] = value
	}

	s.inUse = figure.Of(figure.Bytes, values["heap_inuse"])
	s.spare = figure.Of(figure.Bytes, values["heap_idle"]-values["heap_released"])
	s.stacks = figure.Of(figure.Bytes, values["stack_inuse"])

	return nil
}

func addAnonymous(to *figure.Sample, pid int) error {
	m, err := bed.MemoryOf(pid)
	if err != nil {
		return err
	}

	to.Unit = figure.Bytes
	to.Add(float64(m.Anonymous))

	return nil
}

// operateSolo lets the worker make some tenants and change them, and looks after
// each round.
func operateSolo(ctx context.Context, l *lab, f *bed.Fleet, look func() error) error {
	ids, c := names(l, "solo", supervisorTenants), crew{fleet: f}

	for range supervisorOperations / supervisorTenants {
		c.changes++

		bodies := make([][]byte, 0, len(ids))

		for _, id := range ids {
			body, err := f.Event(tenant.EventUpdated, id, func(e *tenant.Event) {
				e.Parameters = tenant.Parameters{"schemaPrefix": quote(fmt.Sprintf("v%d_", c.changes))}

				if c.changes == 1 {
					e.Type, e.Tier, e.Region = tenant.EventCreated, "solo", localaws.Region
				}
			})
			if err != nil {
				return err
			}

			bodies = append(bodies, body)
		}

		if err := f.SendAll(ctx, bodies); err != nil {
			return err
		}

		if err := c.allSettled(ctx, ids); err != nil {
			return err
		}

		if err := look(); err != nil {
			return err
		}
	}

	return nil
}
