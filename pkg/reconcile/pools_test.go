package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// fakePools has everybody wait until the pool is there, or refuses.
type fakePools struct {
	catalog

	waits   bool
	refuses error
	told    []tenant.Record
	failure error
}

func (p *fakePools) For(context.Context, tenant.Record) (plan.Resolver, error) { return p, p.refuses }

func (p *fakePools) Resolve(spec tenant.Spec) (tenant.Blueprint, error) {
	if p.waits {
		return tenant.Blueprint{}, &tenant.Failure{Kind: tenant.KindWaiting, Message: "waiting for pool pool-x", Hint: "it goes on"}
	}

	return p.catalog.Resolve(spec)
}

func (p *fakePools) Settled(_ context.Context, rec tenant.Record) error {
	p.told = append(p.told, rec)

	return p.failure
}

func (w *world) withPools() *fakePools {
	p := &fakePools{catalog: w.catalog}
	w.Pools = p

	return p
}

// A tenant waits for its pool without an operation, as long as that takes, and
// nothing of it counts.
func TestWaitingForAPool(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		const shortest, longest = 5 * time.Second, time.Minute

		w := newWorld()
		p, b := w.withPools(), w.withBreaker()
		p.waits = true

		want := shortest

		for range 12 {
			outcome := w.deliver(t, "m1", created(1))
			require.Equal(t, reconcile.ActionDelay, outcome.Action)
			require.Equal(t, reconcile.ReasonBackoff, outcome.Reason)
			require.LessOrEqual(t, outcome.Delay, want)
			require.Greater(t, outcome.Delay, shortest/2)

			rec := w.row(t)
			free(t, rec)
			require.True(t, rec.NeedsWork())
			require.Zero(t, rec.Attempts)
			require.Equal(t, "waiting for pool pool-x", rec.Last.Failure.Message)
			require.Equal(t, tenant.KindWaiting, rec.Last.Failure.Kind)
			require.Empty(t, rec.History, "waiting is no operation")

			want = min(2*outcome.Delay+time.Millisecond, longest)

			time.Sleep(time.Until(rec.NotBefore))
		}

		within(t, longest, want)
		require.Empty(t, w.engine.operations())
		require.Empty(t, w.publisher.published())
		require.Empty(t, p.told)

		for _, outcome := range b.told {
			require.Nil(t, outcome, "waiting says nothing of the place")
		}

		p.waits = false

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)
		require.Len(t, w.engine.operations(), 1)
	})
}

// What ends a wait early is a change of what is desired.
func TestDueEndsTheWaitForAPool(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := w.withPools()

		p.waits = true

		require.Equal(t, reconcile.ReasonBackoff, w.deliver(t, "m1", created(1)).Reason)

		p.waits = false

		require.Equal(t, reconcile.ReasonBackoff, w.deliver(t, "m1", created(1)).Reason, "not yet")
		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m2", event(2, tenant.EventDue)).Reason)
		require.Equal(t, reconcile.ReasonUnchanged, w.deliver(t, "m1", created(1)).Reason)
		require.Len(t, w.engine.operations(), 1)
	})
}

func TestPoolsRefuse(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := w.withPools()
		w.provision(t, "silo")

		p.refuses = &tenant.InvalidError{Field: "pool", Message: "2 of its tenants are left", Hint: "move them"}

		require.Equal(t, reconcile.ReasonFailed, w.deliver(t, "m2", event(2, tenant.EventDeleted)).Reason)

		rec := w.row(t)
		require.Equal(t, tenant.KindInvalid, rec.Last.Failure.Kind)
		require.Equal(t, "pool: 2 of its tenants are left", rec.Last.Failure.Message)
		require.Equal(t, "move them", rec.Last.Failure.Hint)
		require.Equal(t, tenant.PhaseActive, rec.Applied.Spec.Phase)
		require.NotEmpty(t, rec.Outputs)
		require.Empty(t, w.engine.operations(), "nothing of it is touched")

		p.refuses = nil

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m3", event(3, tenant.EventDeleted)).Reason)
	})
}

func TestPoolsCannotLook(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.withPools().refuses = errOutage

		_, err := w.settle(t, &message{id: "m1"}, w.accept(t, created(1)))
		require.ErrorIs(t, err, errOutage)
		free(t, w.row(t))
		require.Nil(t, w.row(t).Last)
	})
}

// Those who wait are told when the work has ended, well or badly, and the message
// is done with even if they could not be.
func TestThoseWhoWaitAreTold(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		p := w.withPools()

		w.engine.will(fail(tenant.KindTransient, "no luck"))

		outcome := w.deliver(t, "m1", created(1))
		require.Equal(t, reconcile.ReasonBackoff, outcome.Reason)
		require.Empty(t, p.told, "it is not over yet")
		time.Sleep(outcome.Delay)

		p.failure = errOutage

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)
		require.Len(t, p.told, 1)
		require.Equal(t, int64(1), p.told[0].AppliedSeq)
		require.NotEmpty(t, p.told[0].Outputs)

		w.engine.will(fail(tenant.KindInvalid, "no"))
		require.Equal(t, reconcile.ReasonFailed, w.deliver(t, "m2", updated(2, "large")).Reason)
		require.Len(t, p.told, 2)
		require.Equal(t, int64(2), p.told[1].FailedSeq)
	})
}
