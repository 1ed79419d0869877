package reconcile_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/breaker"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// fakeBreaker keeps what it was asked and told.
type fakeBreaker struct {
	asked []string
	told  []*tenant.Outcome
	// wait turns everybody away, if it is above zero.
	wait time.Duration
}

func (b *fakeBreaker) Allow(region, tier string) (func(tenant.ID, *tenant.Outcome), time.Duration) {
	b.asked = append(b.asked, region+" "+tier)

	if b.wait > 0 {
		return nil, b.wait
	}

	return func(id tenant.ID, outcome *tenant.Outcome) {
		b.told = append(b.told, outcome)
		b.asked = append(b.asked, string(id)+" done")
	}, 0
}

func (w *world) withBreaker() *fakeBreaker {
	b := &fakeBreaker{}
	w.Breaker = b

	return b
}

// Who is turned away takes no slot, no lease and no attempt.
func TestBreakerTurnsAway(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		b := w.withBreaker()
		b.wait = time.Minute
		w.slots.onTake = func() { t.Error("a slot was taken") }

		want := reconcile.Outcome{Action: reconcile.ActionDelay, Reason: reconcile.ReasonBreaker, Delay: time.Minute}
		require.Equal(t, want, w.deliver(t, "m1", created(1)))
		require.Equal(t, []string{"eu-west-1 silo"}, b.asked)

		rec := w.row(t)
		require.Zero(t, rec.Fence)
		require.Zero(t, rec.Attempts)
		require.True(t, rec.NeedsWork())
		require.Zero(t, rec.NotBefore)
	})
}

func TestBreakerIsTold(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		prepare func(t *testing.T, w *world)
		event   tenant.Event
		// kind is of the failure that is told, "" if a success is.
		kind tenant.Kind
		// ran is false where there was no operation to tell of.
		ran bool
	}{
		"a success": {ran: true, event: created(1)},
		"a failure": {
			prepare: func(_ *testing.T, w *world) { w.engine.will(fail(tenant.KindQuota, "no")) },
			event:   created(1), kind: tenant.KindQuota, ran: true,
		},
		"the failure, and not how undoing it went": {
			prepare: func(_ *testing.T, w *world) {
				w.catalog["silo"] = tenant.Blueprint{Program: "silo", OnCreate: tenant.PolicyRollback, MaxAttempts: 1}
				w.engine.will(fail(tenant.KindDenied, "no"), fail(tenant.KindTransient, "stuck"))
			},
			event: created(1), kind: tenant.KindDenied, ran: true,
		},
		"no operation": {
			prepare: func(_ *testing.T, w *world) { w.slots.err = errors.New("the worker ends") },
			event:   created(1),
		},
		"a refused tenant": {
			prepare: func(_ *testing.T, w *world) { delete(w.catalog, "silo") },
			event:   created(1),
		},
		"another tier by then": {
			prepare: func(t *testing.T, w *world) {
				t.Helper()
				w.engine.will(during(func() { w.handOver(t, "m2", moved("pool")) }, fail(tenant.KindQuota, "no")), fail(tenant.KindDenied, "no"))
			},
			event: created(1), kind: tenant.KindQuota, ran: true,
		},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				b := w.withBreaker()

				if tt.prepare != nil {
					tt.prepare(t, w)
				}

				w.deliver(t, "m1", tt.event)
				require.Equal(t, []string{"eu-west-1 silo", "acme done"}, b.asked)
				require.Len(t, b.told, 1)
				require.Equal(t, tt.ran, b.told[0] != nil)

				if tt.kind != "" {
					require.Equal(t, tt.kind, b.told[0].Failure.Kind)
				} else if tt.ran {
					require.Nil(t, b.told[0].Failure)
				}
			})
		})
	}
}

// Deletions and what a dead worker left are not for the breaker.
func TestBreakerIsNotAsked(t *testing.T) {
	t.Parallel()

	tests := map[string]func(t *testing.T, w *world) reconcile.Outcome{
		"a deletion": func(t *testing.T, w *world) reconcile.Outcome {
			t.Helper()
			w.provision(t, "silo")
			w.Breaker = &fakeBreaker{wait: time.Minute}

			return w.deliver(t, "m2", deletion())
		},
		"a take-over": func(t *testing.T, w *world) reconcile.Outcome {
			t.Helper()
			w.accept(t, created(1))
			w.die(t, "m1")
			w.leases.Stale(w.row(t))
			time.Sleep(duration + margin)

			w.Breaker = &fakeBreaker{wait: time.Minute}

			return w.deliver(t, "m1", created(1))
		},
		"nothing to do": func(t *testing.T, w *world) reconcile.Outcome {
			t.Helper()
			w.provision(t, "silo")
			w.Breaker = &fakeBreaker{wait: time.Minute}
			w.deliver(t, "m1", created(1))

			return reconcile.Outcome{Reason: reconcile.ReasonSettled}
		},
	}

	for name, act := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				require.Equal(t, reconcile.ReasonSettled, act(t, w).Reason)
				require.Empty(t, w.Breaker.(*fakeBreaker).asked) //nolint:forcetypeassert // it was set above
			})
		})
	}
}

// The real breaker: many tenants fail alike, the next one waits without being
// counted, and goes on once one got through.
func TestBreakerPausesAndGoesOn(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.Breaker = breaker.New(breaker.Config{Tenants: 5, Pause: time.Minute}, nil)
		w.engine.will(slices.Repeat([]act{fail(tenant.KindThrottled, "slow down")}, 5)...)

		other := func(i int) tenant.Event {
			e := created(1)
			e.Tenant = tenant.ID(fmt.Sprintf("other-%d", i))

			return e
		}

		for i := range 5 {
			require.Equal(t, reconcile.ReasonBackoff, w.deliver(t, "m", other(i)).Reason)
		}

		outcome := w.deliver(t, "m1", created(1))
		require.Equal(t, reconcile.ReasonBreaker, outcome.Reason)
		require.Len(t, w.engine.operations(), 5)
		require.Zero(t, w.row(t).Attempts)

		time.Sleep(outcome.Delay)
		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)

		for i := range 5 {
			require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m", other(i)).Reason)
		}
	})
}
