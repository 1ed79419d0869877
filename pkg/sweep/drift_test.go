package sweep_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/sweep"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const everyDay = 24 * time.Hour

// clockwork is a queue that takes what the clock sends, and looks without delay.
type clockwork struct {
	t *testing.T
	w *world
	// looked is when each tenant was looked at.
	looked map[tenant.ID][]time.Time
}

func (c *clockwork) Send(ctx context.Context, body []byte) (string, error) {
	e, err := event.NewDecoder(event.OrderTime, c.w.Now).Decode(body)
	require.NoError(c.t, err)
	require.Equal(c.t, tenant.EventDue, e.Type)

	c.looked[e.Tenant] = append(c.looked[e.Tenant], c.w.now)
	_, _, err = c.w.rows.Accept(ctx, e)
	require.NoError(c.t, err)
	c.look(e.Tenant, c.w.now) //nolint:contextcheck // the helpers of the test have its own

	return "id", nil
}

// look settles a tenant.
func (c *clockwork) look(id tenant.ID, looked time.Time) {
	held := c.w.acquire(c.t, id)
	_, err := c.w.rows.Settle(c.t.Context(), id, held.Token(), registry.Settlement{
		Target: c.w.get(c.t, id).DesiredSeq, Applied: &tenant.Applied{At: c.w.now}, Clean: true, Quiet: true, LookedAt: looked,
		Outcome: tenant.Outcome{OperationID: held.Token().Owner},
	})
	require.NoError(c.t, err)
}

func (c *clockwork) sweeper(drift time.Duration) *sweep.Sweeper {
	return sweep.New(sweep.Config{Interval: interval, Age: age}, sweep.Parts{
		Rows: c.w.rows, Leases: c.w.leases(), Queue: c, Log: slog.New(slog.DiscardHandler), Now: c.w.Now,
		Schedule: plan.Schedule{Drift: drift},
		WaitOpen: func(ctx context.Context) error { return ctx.Err() }, Swept: func(sweep.Report) {},
	})
}

// A fleet that stood for long before it looks for drift is looked at over a whole
// interval and not at once, and then each tenant an interval after the last look.
func TestLooksAreSpread(t *testing.T) {
	t.Parallel()

	const tenants, sweeps, quarters = 80, 24, 4

	w := newWorld(t)
	c := &clockwork{t: t, w: w, looked: map[tenant.ID][]time.Time{}}

	for i := range tenants {
		id := tenant.ID(fmt.Sprintf("tenant-%d", i))
		w.accept(t, id, tenant.EventCreated)
		c.look(id, time.Time{})
	}

	w.pass(30 * everyDay)
	require.Zero(t, sweepOnce(t, c.sweeper(0)).Nudged)

	// Workers come and go meanwhile.
	run := func(times int) {
		for range times {
			w.pass(everyDay / sweeps)
			sweepOnce(t, c.sweeper(everyDay))
		}
	}

	run(1)

	began := w.now

	run(sweeps)

	counts := make([]int, quarters+1)

	for _, looked := range c.looked {
		require.Len(t, looked, 1)
		counts[looked[0].Sub(began)*quarters/everyDay]++
	}

	require.Len(t, c.looked, tenants, "everybody is looked at within the first interval")

	for _, n := range counts[:quarters] {
		require.InDelta(t, tenants/quarters, n, tenants/quarters/2.0)
	}

	run(sweeps)

	for id, looked := range c.looked {
		require.Len(t, looked, 2, id)
		require.Equal(t, everyDay, looked[1].Sub(looked[0]))
	}
}

// Nobody is looked at who is not there, not settled, held, or waits for people.
func TestWhoIsNotLookedAt(t *testing.T) {
	t.Parallel()

	const settled = "settled"

	for name, prepare := range map[string]func(*world, *clockwork){
		settled: func(*world, *clockwork) {},
		"deleted": func(w *world, c *clockwork) {
			w.pass(time.Second)
			w.accept(c.t, acme, tenant.EventDeleted)
			c.look(acme, time.Time{})
		},
		"held": func(w *world, c *clockwork) {
			require.NoError(c.t, w.rows.SetHold(c.t.Context(), acme, "people work on it"))
		},
		"failed": func(w *world, c *clockwork) {
			w.pass(time.Second)
			w.accept(c.t, acme, tenant.EventUpdated)

			held := w.acquire(c.t, acme)
			_, err := w.rows.Settle(c.t.Context(), acme, held.Token(), registry.Settlement{
				Target: 2, GaveUp: true, Clean: true, Outcome: tenant.Outcome{OperationID: "op"},
			})
			require.NoError(c.t, err)
			require.NoError(c.t, w.rows.Published(c.t.Context(), acme, "op"))
		},
		"worked on": func(w *world, c *clockwork) { w.acquire(c.t, acme) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := newWorld(t)
			c := &clockwork{t: t, w: w, looked: map[tenant.ID][]time.Time{}}
			s := c.sweeper(time.Hour)

			w.accept(t, acme, tenant.EventCreated)
			c.look(acme, w.now)
			sweepOnce(t, s)
			prepare(w, c)
			w.pass(time.Hour)
			sweepOnce(t, s)

			if name == settled {
				require.Len(t, c.looked[acme], 1)
			} else {
				require.Empty(t, c.looked)
			}
		})
	}
}
