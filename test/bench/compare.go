package main

import (
	"context"
	"errors"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
	"github.com/lessor-dev/lessor/test/bench/figure"
)

// regionDelay is about what an answer of S3, KMS or DynamoDB takes within a
// region.
const regionDelay = 15 * time.Millisecond

// life is what every measured tenant goes through.
var life = []action{create, noChange, noChange, update, destroy} //nolint:gochecknoglobals // a constant, but for Go

// costs are those of one program on one side, by action.
type costs map[action][]cost

func (c costs) times(a action) figure.Sample {
	s := figure.Sample{Unit: figure.Seconds}
	for _, one := range c[a] {
		s.Add(one.wall.Seconds())
	}

	return s
}

func (c costs) cpu(a action) figure.Sample {
	s := figure.Sample{Unit: figure.Seconds}
	for _, one := range c[a] {
		s.Add(one.cpu.Seconds())
	}

	return s
}

func (c costs) processes(a action) figure.Sample {
	return c.count(a, func(one cost) int { return one.processes })
}

func (c costs) requests(a action, service string) figure.Sample {
	return c.count(a, func(one cost) int { return one.calls.Of(service) })
}

// beside are the requests to S3 that write no checkpoint: how many of those there
// are is the number of resources' to say.
func (c costs) beside(a action) figure.Sample {
	return c.count(a, func(one cost) int {
		return one.calls.Where(func(call bed.Call) bool {
			return call.Service == "s3" && (!call.Checkpoint || call.Operation != "PutObject")
		})
	})
}

func (c costs) memory(a action) figure.Sample {
	s := figure.Sample{Unit: figure.Bytes}
	for _, one := range c[a] {
		s.Add(float64(one.memory))
	}

	return s
}

func (c costs) count(a action, of func(cost) int) figure.Sample {
	s := figure.Sample{Unit: figure.Count}
	for _, one := range c[a] {
		s.Add(float64(of(one)))
	}

	return s
}

// bout is a comparison of both sides.
type bout struct{ plain, ours costs }

// bothLive lets one tenant of each side live, turn by turn, so that what else
// the machine does hits both.
func (b *bout) bothLive(ctx context.Context, l *lab, sides pairOfSides, program, name string) error {
	for _, a := range life {
		got, err := sides.one(ctx, l, sides.plain, program, tenant.ID("plain-"+name), a)
		if err != nil {
			return err
		}

		b.plain[a] = append(b.plain[a], got)

		if got, err = sides.one(ctx, l, sides.ours, program, tenant.ID("ours-"+name), a); err != nil {
			return err
		}

		b.ours[a] = append(b.ours[a], got)
	}

	return nil
}

// pairOfSides are both ways, ready.
type pairOfSides struct {
	plain, ours side
	// counters are those of the sides, if CLI processes are counted.
	counters map[side]*bed.Counter
	// memory reports that memory is watched, which takes time.
	memory bool
	close  func() error
}

func (p pairOfSides) one(ctx context.Context, l *lab, s side, program string, id tenant.ID, a action) (cost, error) {
	if !p.memory {
		return measured(ctx, l, s, p.counters[s], program, id, a)
	}

	watch := bed.WatchMemory(s.pid())
	got, err := measured(ctx, l, s, p.counters[s], program, id, a)
	got.memory = watch.Stop().Most.Operation()

	return got, err
}

// newSides starts both. Where they are counted, another CLI does that.
func newSides(ctx context.Context, l *lab, counted bool) (p pairOfSides, err error) {
	p.counters, p.memory = map[side]*bed.Counter{}, counted

	var plainCounter, oursCounter *bed.Counter

	if counted {
		if plainCounter, err = l.NewCounter(); err != nil {
			return p, err
		}

		if oursCounter, err = l.NewCounter(); err != nil {
			return p, err
		}
	}

	thePlain, err := newPlain(l, plainCounter)
	if err != nil {
		return p, err
	}

	theOurs, err := newOurs(ctx, l, oursCounter)
	if err != nil {
		return p, errors.Join(err, thePlain.Close())
	}

	p.plain, p.ours = thePlain, theOurs
	p.counters[p.plain], p.counters[p.ours] = plainCounter, oursCounter
	p.close = func() error { return errors.Join(thePlain.Close(), theOurs.fleet.Close()) }

	if counted {
		// The worker asks the CLI for its version when it starts.
		_, err = oursCounter.Take()
	}

	return p, err
}

// compare lets so many tenants of each program live on both sides.
func compare(ctx context.Context, l *lab, counted bool, rounds int) (found map[string]*bout, err error) {
	sides, err := newSides(ctx, l, counted)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sides.close()) }()

	found = map[string]*bout{}

	for _, program := range []string{bare, pair} {
		found[program] = &bout{plain: costs{}, ours: costs{}}

		for round := range rounds {
			l.say("program %s, round %d of %d", program, round+1, rounds)

			// A stack outlives its tenant in the bucket, so names are used once.
			if err := found[program].bothLive(ctx, l, sides, program, l.Name(program)); err != nil {
				return nil, err
			}
		}
	}

	return found, nil
}
