package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
)

// action is one of the four operations that are compared.
type action int

const (
	create action = iota
	noChange
	update
	destroy
)

func (a action) String() string {
	return [...]string{"create", "no change", "one resource changes", "destroy"}[a]
}

// cost is what one operation took.
type cost struct {
	// wall is from the sending of the event to the settled row; for the plain
	// side it is the calls alone.
	wall, cpu time.Duration
	calls     bed.Calls
	processes int
	// memory is the highest of all processes of an operation, without the one
	// that stays.
	memory int64
}

// side is one of the two ways.
type side interface {
	// pid is the process that stays.
	pid() int
	// run runs an operation on a tenant, and returns how long it took.
	run(ctx context.Context, program string, id tenant.ID, a action) (time.Duration, error)
}

// measured runs an operation and measures all but its memory.
func measured(ctx context.Context, l *lab, s side, c *bed.Counter, program string, id tenant.ID, a action) (cost, error) {
	before := l.Wire.Calls()

	cpu, err := bed.CPU(s.pid())
	if err != nil {
		return cost{}, err
	}

	wall, err := s.run(ctx, program, id, a)
	if err != nil {
		return cost{}, fmt.Errorf("%s of %s: %w", a, id, err)
	}

	after, err := bed.CPU(s.pid())
	if err != nil {
		return cost{}, err
	}

	got := cost{wall: wall, cpu: after - cpu, calls: l.Wire.Since(before)}
	if c != nil {
		got.processes, err = c.Take()
	}

	return got, err
}

// ours is lessor: a worker with one slot.
type ours struct {
	fleet  *bed.Fleet
	worker *bed.Worker
	// changes counts those of each tenant.
	changes map[tenant.ID]int64
}

func newOurs(ctx context.Context, l *lab, c *bed.Counter) (*ours, error) {
	f, err := l.NewFleet(ctx, bed.FleetOptions{Catalog: benchCatalog, Counter: c})
	if err != nil {
		return nil, err
	}

	w, err := f.Start(ctx)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}

	return &ours{fleet: f, worker: w, changes: map[tenant.ID]int64{}}, nil
}

func (o *ours) pid() int { return o.worker.PID }

func (o *ours) run(ctx context.Context, program string, id tenant.ID, a action) (time.Duration, error) {
	kind := tenant.EventUpdated

	switch a {
	case create:
		kind = tenant.EventCreated
	case destroy:
		kind = tenant.EventDeleted
	case noChange, update:
	}

	change := o.changes[id] + 1
	o.changes[id] = change
	began := time.Now()

	err := o.fleet.Send(ctx, kind, id, func(e *tenant.Event) {
		switch a {
		case create:
			e.Tier = program
			e.Parameters = tenant.Parameters{parameterNote: quote("0"), parameterColor: quote("blue")}
		case noChange:
			e.Parameters = tenant.Parameters{parameterNote: quote(strconv.FormatInt(change, 10))}
		case update:
			e.Parameters = tenant.Parameters{parameterColor: quote(strconv.FormatInt(change, 10))}
		case destroy:
		}
	})
	if err != nil {
		return 0, err
	}

	if _, err := o.fleet.Settled(ctx, id, change); err != nil {
		return 0, err
	}

	return time.Since(began), nil
}

// plain is the plain Automation API.
type plain struct {
	*bed.Plain

	parameters map[tenant.ID]map[string]string
	changes    int
}

func newPlain(l *lab, c *bed.Counter) (*plain, error) {
	p, err := l.NewPlain(c)
	if err != nil {
		return nil, err
	}

	return &plain{Plain: p, parameters: map[tenant.ID]map[string]string{}}, nil
}

func (p *plain) pid() int { return p.PID }

func (p *plain) run(_ context.Context, program string, id tenant.ID, a action) (time.Duration, error) {
	p.changes++

	switch a {
	case create:
		p.parameters[id] = map[string]string{parameterNote: "0", parameterColor: "blue"}
	case noChange:
		p.parameters[id][parameterNote] = strconv.Itoa(p.changes)
	case update:
		p.parameters[id][parameterColor] = strconv.Itoa(p.changes)
	case destroy:
	}

	return p.Run(bed.PlainOrder{Tenant: id, Program: program, Parameters: p.parameters[id], Destroy: a == destroy})
}

func quote(s string) json.RawMessage {
	quoted, _ := json.Marshal(s) //nolint:errchkjson // a string can always be encoded

	return quoted
}
