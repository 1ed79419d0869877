package lease_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// TestContract holds for the fake, the emulator and whatever endpoint is given.
func TestContract(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(t *testing.T, open registrytest.Open) {
		t.Helper()

		for name, test := range map[string]func(*testing.T, *world){
			"acquire":                     testAcquire,
			"acquire after a release":     testAcquireAfterRelease,
			"an older read":               testOlderRead,
			"a late copy":                 testLateCopy,
			"held":                        testHeld,
			"take over":                   testTakeOver,
			"a renewal defeats take-over": testRenewalDefeatsTakeOver,
			"renew after take-over":       testRenewAfterTakeOver,
			"renew twice":                 testRenewTwice,
			"renew after release":         testRenewAfterRelease,
			"end":                         testEnd,
			"end what is alive":           testEndWhatIsAlive,
			"end what is free":            testEndWhatIsFree,
			"a renewal defeats the end":   testRenewalDefeatsEnd,
			"contention":                  testContention,
			"contention for a dead lease": testContentionForADeadLease,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()

				api, table := open(t)
				test(t, newWorld(t, api, table))
			})
		}
	})
}

func testAcquire(t *testing.T, w *world) {
	t.Helper()

	before := time.Now()
	held := w.acquire(t, w.leases())
	require.Equal(t, int64(1), held.Token().Fence)
	require.Len(t, strings.Split(held.Token().Owner, "/"), 3, "host, process, lease")
	require.False(t, held.TookOver())
	require.True(t, held.CleanPredecessor(), "there was nobody before")
	require.WithinRange(t, held.Deadline(), before.Add(duration-margin), time.Now().Add(duration-margin))

	rec := w.get(t)
	require.Equal(t, registry.Token{Owner: rec.Lease.Owner, Fence: rec.Fence}, held.Token())
	require.Equal(t, duration, rec.Lease.Duration)
	require.Equal(t, "message-1", rec.Lease.Message)
	require.NotEmpty(t, rec.Lease.RVN)
	require.WithinRange(t, rec.Lease.Until, before.Add(duration-time.Second), time.Now().Add(duration))
	require.Equal(t, int64(1), rec.DesiredSeq, "nothing else of the row is touched")
}

func testAcquireAfterRelease(t *testing.T, w *world) {
	t.Helper()

	leases := w.leases()

	for _, clean := range []bool{true, false, true} {
		held := w.acquire(t, leases)
		require.NoError(t, w.rows.Release(t.Context(), acme, held.Token(), clean))

		next := w.acquire(t, leases)
		require.Equal(t, held.Token().Fence+1, next.Token().Fence)
		require.NotEqual(t, held.Token().Owner, next.Token().Owner)
		require.False(t, next.TookOver())
		require.Equal(t, clean, next.CleanPredecessor())
		require.NoError(t, w.rows.Release(t.Context(), acme, next.Token(), true))
	}
}

func testOlderRead(t *testing.T, w *world) {
	t.Helper()

	older := w.get(t)
	held := w.acquire(t, w.leases())

	_, err := w.leases().Acquire(t.Context(), older, "message-2")
	require.ErrorIs(t, err, lease.ErrChanged, "somebody has it")

	require.NoError(t, w.rows.Release(t.Context(), acme, held.Token(), true))

	_, err = w.leases().Acquire(t.Context(), older, "message-2")
	require.ErrorIs(t, err, lease.ErrChanged, "somebody had it")

	w.acquire(t, w.leases())
}

// A change of desired does not stand in the way of an acquisition.
func testLateCopy(t *testing.T, w *world) {
	t.Helper()

	older := w.get(t)
	_, changed, err := w.rows.Accept(t.Context(), tenant.Event{
		ID: "e2", Type: tenant.EventSuspended, Tenant: acme, Version: tenant.Version{N: 2},
	})
	require.NoError(t, err)
	require.True(t, changed)

	_, err = w.leases().Acquire(t.Context(), older, "message-1")
	require.NoError(t, err)
	require.Equal(t, int64(2), w.get(t).DesiredSeq)
}

func testHeld(t *testing.T, w *world) {
	t.Helper()

	held := w.acquire(t, w.leases())
	rec := w.get(t)

	_, err := w.leases().Acquire(t.Context(), rec, "message-2")

	var busy *lease.HeldError

	require.ErrorAs(t, err, &busy)
	require.Equal(t, registry.Token{Owner: busy.Owner, Fence: busy.Fence}, held.Token())
	require.Equal(t, "message-1", busy.Message)
	require.Equal(t, rec.Lease.Until, busy.Until)
	require.InDelta(t, duration+margin, busy.WaitAtLeast, float64(time.Second))
	require.Equal(t, rec, w.get(t))
}

func testTakeOver(t *testing.T, w *world) {
	t.Helper()

	dead := w.acquire(t, w.leases())
	c := newClock()
	leases := w.leases(lease.WithClock(c.Now))

	require.False(t, leases.Stale(w.get(t)))
	c.advance(duration + margin - time.Millisecond)
	require.False(t, leases.Stale(w.get(t)))

	_, err := leases.Acquire(t.Context(), w.get(t), "message-1")

	var busy *lease.HeldError

	require.ErrorAs(t, err, &busy)
	require.Equal(t, time.Millisecond, busy.WaitAtLeast)

	c.advance(time.Millisecond)
	require.True(t, leases.Stale(w.get(t)))
	require.False(t, w.leases().Stale(w.get(t)), "one who has not watched knows nothing")

	held, err := leases.Acquire(t.Context(), w.get(t), "message-1")
	require.NoError(t, err)
	require.True(t, held.TookOver())
	require.False(t, held.CleanPredecessor())
	require.Equal(t, dead.Token().Fence+1, held.Token().Fence)
	require.Equal(t, c.now.Add(duration-margin), held.Deadline())

	require.False(t, leases.Stale(w.get(t)), "the new lease is alive")
	require.ErrorIs(t, w.rows.Release(t.Context(), acme, dead.Token(), true), registry.ErrLeaseLost)
}

func testRenewalDefeatsTakeOver(t *testing.T, w *world) {
	t.Helper()

	held := w.acquire(t, w.leases())
	c := newClock()
	leases := w.leases(lease.WithClock(c.Now))

	rec := w.get(t)
	require.False(t, leases.Stale(rec))
	c.advance(duration + margin)
	require.NoError(t, held.Renew(t.Context()))

	_, err := leases.Acquire(t.Context(), rec, "message-1")
	require.ErrorIs(t, err, lease.ErrChanged, "by an older read it stands still, and the write sees that it does not")

	require.False(t, leases.Stale(w.get(t)), "the watch begins anew")
	require.NoError(t, held.Renew(t.Context()))
}

func testRenewAfterTakeOver(t *testing.T, w *world) {
	t.Helper()

	dead := w.acquire(t, w.leases())
	c := newClock()
	leases := w.leases(lease.WithClock(c.Now))
	leases.Stale(w.get(t))
	c.advance(duration + margin)

	w.acquire(t, leases)
	before := w.get(t)
	require.ErrorIs(t, dead.Renew(t.Context()), lease.ErrLost)
	require.Equal(t, before, w.get(t))
}

func testRenewTwice(t *testing.T, w *world) {
	t.Helper()

	c := newClock()
	held := w.acquire(t, w.leases(lease.WithClock(c.Now)))
	first := w.get(t)

	c.advance(20 * time.Second)
	require.NoError(t, held.Renew(t.Context()))
	require.Equal(t, c.now.Add(duration-margin), held.Deadline())

	second := w.get(t)
	require.NotEqual(t, first.Lease.RVN, second.Lease.RVN)
	require.Equal(t, 20*time.Second, second.Lease.Until.Sub(first.Lease.Until))

	// A renewal whose answer was lost is no reason to fail the next.
	require.NoError(t, held.Renew(t.Context()))
	require.NotEqual(t, second.Lease.RVN, w.get(t).Lease.RVN)
	require.Equal(t, first.Fence, w.get(t).Fence)
}

func testRenewAfterRelease(t *testing.T, w *world) {
	t.Helper()

	held := w.acquire(t, w.leases())
	require.NoError(t, w.rows.Release(t.Context(), acme, held.Token(), true))
	require.ErrorIs(t, held.Renew(t.Context()), lease.ErrLost)
	require.Equal(t, tenant.Lease{}, w.get(t).Lease, "a late renewal brings nothing back")
}

func testEnd(t *testing.T, w *world) {
	t.Helper()

	// The fence before the dead one was clean: that must not count for the next.
	first := w.acquire(t, w.leases())
	require.NoError(t, w.rows.Release(t.Context(), acme, first.Token(), true))

	dead := w.acquire(t, w.leases())
	before := w.get(t)
	c := newClock()
	leases, other := w.leases(lease.WithClock(c.Now)), w.leases(lease.WithClock(c.Now))

	require.False(t, leases.Stale(before))
	require.False(t, other.Stale(before))
	c.advance(duration + margin)
	require.NoError(t, leases.End(t.Context(), before))

	after := w.get(t)
	want := before
	want.Lease, want.Fence = tenant.Lease{}, dead.Token().Fence+1
	require.Equal(t, want, after, "nothing else of the row is touched")

	require.ErrorIs(t, other.End(t.Context(), before), lease.ErrChanged, "once is enough")
	require.Equal(t, after, w.get(t))

	require.ErrorIs(t, dead.Renew(t.Context()), lease.ErrLost)
	require.ErrorIs(t, w.rows.Release(t.Context(), acme, dead.Token(), true), registry.ErrLeaseLost)
	require.Equal(t, after, w.get(t), "nothing of the dead holder lands")

	next := w.acquire(t, w.leases())
	require.Equal(t, dead.Token().Fence+2, next.Token().Fence)
	require.False(t, next.CleanPredecessor(), "a write of the dead holder may still land")
}

func testEndWhatIsAlive(t *testing.T, w *world) {
	t.Helper()

	held := w.acquire(t, w.leases())
	rec := w.get(t)
	c := newClock()
	leases := w.leases(lease.WithClock(c.Now))

	var busy *lease.HeldError

	require.ErrorAs(t, leases.End(t.Context(), rec), &busy, "who has not watched knows nothing")
	require.Equal(t, registry.Token{Owner: busy.Owner, Fence: busy.Fence}, held.Token())

	c.advance(duration + margin - time.Millisecond)
	require.ErrorAs(t, leases.End(t.Context(), rec), &busy)
	require.Equal(t, time.Millisecond, busy.WaitAtLeast)
	require.Equal(t, rec, w.get(t))
	require.NoError(t, held.Renew(t.Context()))
}

func testEndWhatIsFree(t *testing.T, w *world) {
	t.Helper()

	free := w.get(t)
	require.ErrorIs(t, w.leases().End(t.Context(), free), lease.ErrChanged)

	held := w.acquire(t, w.leases())
	c := newClock()
	leases := w.leases(lease.WithClock(c.Now))
	rec := w.get(t)
	leases.Stale(rec)
	c.advance(duration + margin)
	require.NoError(t, w.rows.Release(t.Context(), acme, held.Token(), true))

	require.ErrorIs(t, leases.End(t.Context(), rec), lease.ErrChanged, "it was let go meanwhile")
	require.Equal(t, held.Token().Fence, w.get(t).Fence)

	next := w.acquire(t, w.leases())
	require.ErrorIs(t, leases.End(t.Context(), rec), lease.ErrChanged, "somebody else has it by now")
	require.NoError(t, next.Renew(t.Context()))
}

func testRenewalDefeatsEnd(t *testing.T, w *world) {
	t.Helper()

	held := w.acquire(t, w.leases())
	c := newClock()
	leases := w.leases(lease.WithClock(c.Now))
	rec := w.get(t)
	leases.Stale(rec)
	c.advance(duration + margin)
	require.NoError(t, held.Renew(t.Context()))

	require.ErrorIs(t, leases.End(t.Context(), rec), lease.ErrChanged)
	require.Equal(t, held.Token().Fence, w.get(t).Fence)
	require.NoError(t, held.Renew(t.Context()))
}

const contenders = 50

// crowd has many try at once and returns the one who won.
func crowd(t *testing.T, attempt func() (*lease.Lease, error)) *lease.Lease {
	t.Helper()

	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		winners []*lease.Lease
	)

	begin := make(chan struct{})

	for range contenders {
		wg.Go(func() {
			<-begin

			held, err := attempt()

			mu.Lock()
			defer mu.Unlock()

			var busy *lease.HeldError

			switch {
			case err == nil:
				winners = append(winners, held)
			case !errors.Is(err, lease.ErrChanged) && !errors.As(err, &busy):
				t.Errorf("unexpected error: %v", err)
			}
		})
	}

	close(begin)
	wg.Wait()
	require.Len(t, winners, 1)

	return winners[0]
}

func testContention(t *testing.T, w *world) {
	t.Helper()

	rec := w.get(t)
	winner := crowd(t, func() (*lease.Lease, error) { return w.leases().Acquire(context.Background(), rec, "m") })
	require.Equal(t, int64(1), winner.Token().Fence)
	require.Equal(t, registry.Token{Owner: w.get(t).Lease.Owner, Fence: w.get(t).Fence}, winner.Token())
}

func testContentionForADeadLease(t *testing.T, w *world) {
	t.Helper()

	w.acquire(t, w.leases())
	rec := w.get(t)
	winner := crowd(t, func() (*lease.Lease, error) {
		c := newClock()
		leases := w.leases(lease.WithClock(c.Now))
		leases.Stale(rec)
		c.advance(duration + margin)

		return leases.Acquire(context.Background(), rec, "m")
	})
	require.True(t, winner.TookOver())
	require.Equal(t, registry.Token{Owner: w.get(t).Lease.Owner, Fence: w.get(t).Fence}, winner.Token())
	require.Equal(t, int64(2), winner.Token().Fence)
}
