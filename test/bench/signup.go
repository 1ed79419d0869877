package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
	"github.com/lessor-dev/lessor/test/bench/figure"
)

const signupText = `
Tenants of a pool that stands sign up: the time is from the sending of the event until the row says that the tenant is there. Two
workers of two slots share the queue. First they are idle, and one signs up after another. Then a backlog is in the queue: half
are duplicates of events of settled tenants, half are changes of those tenants, in any order. Sign-ups come at even distances
while it is worked off, and each waits behind what is in the queue already.`

const (
	signupWorkers = 2
	signupSlots   = 2
	// signupTier is one of tenants that live in a pool.
	signupTier = "free"
)

func measureSignup(ctx context.Context, l *lab) (section figure.Section, err error) {
	const (
		alone, among     = 40, 20
		backlog, tenants = 500, 50
		p50, p95         = 0.5, 0.95
	)

	section = figure.Section{Title: "Sign-up", Text: signupText}

	f, err := l.NewFleet(ctx, bed.FleetOptions{
		Catalog: benchCatalog, Variables: []string{fmt.Sprintf("LESSOR_MAX_SLOTS=%d", signupSlots), "LESSOR_POLL_WAIT=1s"},
	})
	if err != nil {
		return section, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	for range signupWorkers {
		if _, err := f.Start(ctx); err != nil {
			return section, err
		}
	}

	l.say("the pool and those of the backlog")

	if err := signUp(ctx, l, f); err != nil {
		return section, err
	}

	up, err := newUpstream(ctx, l, f, tenants)
	if err != nil {
		return section, err
	}

	l.say("%d sign-ups, one after another", alone)

	idle := figure.Sample{Unit: figure.Seconds}

	for range alone {
		began := time.Now()

		if err := signUp(ctx, l, f); err != nil {
			return section, err
		}

		idle.Add(time.Since(began).Seconds())
	}

	l.say("%d sign-ups among a backlog of %d", among, backlog)

	busy, took, operations, err := up.signUps(ctx, l, backlog, among)
	if err != nil {
		return section, err
	}

	t := figure.Table{Columns: []string{"from event to settled row", "sign-ups", "median", "95th percentile", "worst"}}
	row := func(name string, s figure.Sample) {
		at := func(q float64) figure.Sample { return figure.Of(figure.Seconds, s.Quantile(q)) }
		t.Row(name, len(s.Values), at(p50), at(p95), at(1))
	}

	row("idle", idle)
	row(fmt.Sprintf("in a backlog of %d", backlog), busy)

	section.Tables = append(section.Tables, t)

	work := figure.Table{Columns: []string{"the backlog", "events", "tenants", "operations", "time", "events"}}
	work.Row("with the sign-ups", backlog+among, tenants+among, operations,
		figure.Took(took), figure.Of(figure.PerSecond, float64(backlog+among)/took.Seconds()))
	section.Tables = append(section.Tables, work)

	return section, nil
}

// signUp has a new tenant created and returns once it is there.
func signUp(ctx context.Context, l *lab, f *bed.Fleet) error {
	id := tenant.ID(l.Name("signup"))

	if err := f.Send(ctx, tenant.EventCreated, id, func(e *tenant.Event) { e.Tier = signupTier }); err != nil {
		return err
	}

	_, err := f.Settled(ctx, id, 1)

	return err
}

// upstream has the tenants of whom a backlog is about.
type upstream struct {
	fleet   *bed.Fleet
	ids     []tenant.ID
	created [][]byte
}

func newUpstream(ctx context.Context, l *lab, f *bed.Fleet, tenants int) (*upstream, error) {
	u := &upstream{fleet: f}

	for range tenants {
		id := tenant.ID(l.Name("known"))

		body, err := f.Event(tenant.EventCreated, id, func(e *tenant.Event) { e.Tier = bare })
		if err != nil {
			return nil, err
		}

		if _, err := f.Queue.Send(ctx, body); err != nil {
			return nil, err
		}

		u.ids, u.created = append(u.ids, id), append(u.created, body)
	}

	for _, id := range u.ids {
		if _, err := f.Settled(ctx, id, 1); err != nil {
			return nil, err
		}
	}

	return u, nil
}

// backlog makes so many events, of which half change something.
func (u *upstream) backlog(events int) ([][]byte, error) {
	random := rand.New(rand.NewPCG(1, 1)) //nolint:gosec // the same backlog each time
	bodies := make([][]byte, 0, events)

	for n := range events {
		at := random.IntN(len(u.ids))

		if n%2 == 0 {
			bodies = append(bodies, u.created[at])

			continue
		}

		body, err := u.fleet.Event(tenant.EventUpdated, u.ids[at], func(e *tenant.Event) {
			e.Parameters = tenant.Parameters{parameterNote: quote(strconv.Itoa(n))}
		})
		if err != nil {
			return nil, err
		}

		bodies = append(bodies, body)
	}

	random.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })

	return bodies, nil
}

// signUps sends a backlog and then a sign-up whenever an even part of it is gone.
// It returns how long each of those took, and the backlog with its operations.
func (u *upstream) signUps(
	ctx context.Context, l *lab, events, signups int,
) (busy figure.Sample, took time.Duration, operations int, err error) {
	bodies, err := u.backlog(events)
	if err != nil {
		return busy, 0, 0, err
	}

	before, earlier := l.Wire.Calls(), u.finished()
	began := time.Now()

	for _, body := range bodies {
		if _, err := u.fleet.Queue.Send(ctx, body); err != nil {
			return busy, 0, 0, err
		}
	}

	sent := map[string]time.Time{}

	for n := range signups {
		if _, err := deleted(ctx, l, before, n*events/signups, u.fleet.Workers[0].PID); err != nil {
			return busy, 0, 0, err
		}

		id := tenant.ID(l.Name("signup"))
		sent[id.String()] = time.Now()

		if err := u.fleet.Send(ctx, tenant.EventCreated, id, func(e *tenant.Event) { e.Tier = signupTier }); err != nil {
			return busy, 0, 0, err
		}
	}

	if _, err := deleted(ctx, l, before, events+signups, u.fleet.Workers[0].PID); err != nil {
		return busy, 0, 0, err
	}

	took = time.Since(began)
	busy.Unit = figure.Seconds

	all := u.finished()
	for _, line := range all {
		if at, found := sent[line.Tenant]; found {
			busy.Add(line.Time.Sub(at).Seconds())
		}
	}

	if len(busy.Values) != signups {
		return busy, 0, 0, fmt.Errorf("%w: of %d sign-ups, %d operations ended well", errSignups, signups, len(busy.Values))
	}

	return busy, took, len(all) - len(earlier), nil
}

var errSignups = errors.New("sign-ups are missing")

// finished are the operations that ended well, as the workers have logged them
// when they had recorded that: to look at each row would keep the machine busy.
func (u *upstream) finished() []bed.Line {
	var all []bed.Line //nolint:prealloc // the logs have other lines
	for _, w := range u.fleet.Workers {
		all = append(all, w.Lines("operation succeeded")...)
	}

	return all
}
