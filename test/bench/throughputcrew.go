package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
)

// load is what working off a batch took.
type load struct {
	tenants int
	wall    time.Duration
	// worked is the processor time of the workers with all that they started,
	// busy that of the machine.
	worked, busy time.Duration
}

func (l load) perMinute() float64  { return float64(l.tenants) / l.wall.Minutes() }
func (l load) each() time.Duration { return l.worked / time.Duration(l.tenants) }
func (l load) own() float64        { return bed.ShareOfMachine(l.worked, l.wall) }
func (l load) all() float64        { return bed.ShareOfMachine(l.busy, l.wall) }

// underway measures the time and the processors of what processes do.
func underway(pids []int, tenants int, do func() error) (load, error) {
	worked, err := cpuOf(pids)
	if err != nil {
		return load{}, err
	}

	busy, err := bed.Busy()
	if err != nil {
		return load{}, err
	}

	began := time.Now()

	if err := do(); err != nil {
		return load{}, err
	}

	got := load{tenants: tenants, wall: time.Since(began)}

	after, err := cpuOf(pids)
	if err != nil {
		return load{}, err
	}

	busyAfter, err := bed.Busy()
	got.worked, got.busy = after-worked, busyAfter-busy

	return got, err
}

func cpuOf(pids []int) (time.Duration, error) {
	var sum time.Duration

	for _, pid := range pids {
		cpu, err := bed.CPU(pid)
		if err != nil {
			return 0, err
		}

		sum += cpu
	}

	return sum, nil
}

// crew are the workers of a fleet, ready.
type crew struct {
	fleet   *bed.Fleet
	changes int64
}

func newCrew(ctx context.Context, l *lab, workers int) (*crew, error) {
	f, err := l.NewFleet(ctx, bed.FleetOptions{
		Catalog: benchCatalog, Variables: []string{"LESSOR_MAX_SLOTS=" + strconv.Itoa(slotsOfWorker), pollSoon},
	})
	if err != nil {
		return nil, err
	}

	for range workers {
		if _, err := f.Start(ctx); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}

	return &crew{fleet: f}, nil
}

func (*crew) names(l *lab, program string, n int) []tenant.ID { return names(l, "ours-"+program, n) }

func names(l *lab, what string, n int) []tenant.ID {
	ids := make([]tenant.ID, n)
	for i := range ids {
		ids[i] = tenant.ID(l.Name(what))
	}

	return ids
}

func (c *crew) pids() []int {
	pids := make([]int, 0, len(c.fleet.Workers))
	for _, w := range c.fleet.Workers {
		pids = append(pids, w.PID)
	}

	return pids
}

// work sends an event for every tenant, and returns once all are settled.
func (c *crew) work(ctx context.Context, program string, a action, ids []tenant.ID) (load, error) {
	c.changes++

	bodies, err := c.events(program, a, ids)
	if err != nil {
		return load{}, err
	}

	return underway(c.pids(), len(ids), func() error {
		if err := c.fleet.SendAll(ctx, bodies); err != nil {
			return err
		}

		return c.allSettled(ctx, ids)
	})
}

func (c *crew) events(program string, a action, ids []tenant.ID) ([][]byte, error) {
	bodies := make([][]byte, 0, len(ids))
	kind := tenant.EventUpdated

	if a == create {
		kind = tenant.EventCreated
	}

	for _, id := range ids {
		body, err := c.fleet.Event(kind, id, func(e *tenant.Event) {
			e.Parameters = tenant.Parameters{parameterColor: quote(strconv.FormatInt(c.changes, 10))}

			if a == create {
				e.Tier = program
				e.Parameters[parameterNote] = quote("0")
			}
		})
		if err != nil {
			return nil, err
		}

		bodies = append(bodies, body)
	}

	return bodies, nil
}

// allSettled looks at rows seldom, since looks take the processors that are
// measured: a batch takes many times longer than the time between two looks.
func (c *crew) allSettled(ctx context.Context, ids []tenant.ID) error {
	const seldom = 20 * time.Millisecond

	ticker := time.NewTicker(seldom)
	defer ticker.Stop()

	for len(ids) > 0 {
		rec, err := c.fleet.Rows.Get(ctx, ids[0])
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", ids[0], err)
		}

		switch {
		case rec.AppliedSeq >= c.changes && !rec.NeedsWork() && rec.Lease.Owner == "":
			ids = ids[1:]

			continue
		case rec.Last != nil && rec.Last.Failure != nil:
			return fmt.Errorf("%w: %s: %+v", errOperation, ids[0], *rec.Last.Failure)
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", ids[0], context.Cause(ctx))
		case <-ticker.C:
		}
	}

	return nil
}

// errOperation tells of an operation that failed where none should.
var errOperation = errors.New("the operation failed")

// lines are what the workers logged of operations that succeeded, in the order in
// which these ended: two of a tenant may have been in different workers.
func (c *crew) lines() []bed.Line {
	all := make([]bed.Line, 0, len(c.fleet.Workers))
	for _, w := range c.fleet.Workers {
		all = append(all, w.Lines("operation succeeded")...)
	}

	slices.SortFunc(all, func(a, b bed.Line) int { return a.Time.Compare(b.Time) })

	return all
}

// plainCrew are processes that use the plain Automation API, one operation each
// at a time.
type plainCrew struct {
	processes []*bed.Plain
	changes   int
}

func newPlainCrew(l *lab, n int) (*plainCrew, error) {
	c := &plainCrew{}

	for range n {
		p, err := l.NewPlain(nil)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}

		c.processes = append(c.processes, p)
	}

	return c, nil
}

func (c *plainCrew) close() error {
	errs := make([]error, 0, len(c.processes))
	for _, p := range c.processes {
		errs = append(errs, p.Close())
	}

	return errors.Join(errs...)
}

func (*plainCrew) names(l *lab, program string, n int) []tenant.ID {
	return names(l, "plain-"+program, n)
}

// work gives every process the next tenant until none is left.
func (c *plainCrew) work(ctx context.Context, program string, _ action, ids []tenant.ID) (load, error) {
	c.changes++

	pids := make([]int, 0, len(c.processes))
	for _, p := range c.processes {
		pids = append(pids, p.PID)
	}

	return underway(pids, len(ids), func() error {
		var all sync.WaitGroup

		next := make(chan tenant.ID, len(ids))
		for _, id := range ids {
			next <- id
		}

		close(next)

		failures := make([]error, len(c.processes))

		for i, p := range c.processes {
			all.Go(func() {
				for id := range next {
					if failures[i] = context.Cause(ctx); failures[i] == nil {
						_, failures[i] = p.Run(bed.PlainOrder{Tenant: id, Program: program, Parameters: map[string]string{
							parameterNote: "0", parameterColor: strconv.Itoa(c.changes),
						}})
					}

					if failures[i] != nil {
						return
					}
				}
			})
		}

		all.Wait()

		return errors.Join(failures...)
	})
}
