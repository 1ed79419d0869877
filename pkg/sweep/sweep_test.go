package sweep_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/sweep"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestATenantWhoseMessageIsLost(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	s := w.sweeper()
	before := w.accept(t, acme, tenant.EventCreated)

	w.pass(age - time.Millisecond)
	require.Zero(t, sweepOnce(t, s).Nudged, "its message may be on its way")

	w.pass(time.Millisecond)

	report := sweepOnce(t, s)
	require.Equal(t, []int{1, 0, 0}, []int{report.Nudged, report.Ended, report.Failed})
	require.Equal(t, map[sweep.Reason]int{sweep.ReasonWork: 1}, report.Waiting)
	require.Equal(t, []tenant.ID{acme}, w.outbox.take())
	require.Equal(t, before, w.get(t, acme), "nothing of the row changes")

	held := w.acquire(t, acme)
	require.True(t, held.CleanPredecessor())
	w.settle(t, acme, held)

	w.pass(24 * time.Hour)
	require.Empty(t, sweepOnce(t, s).Waiting)
	require.Empty(t, w.outbox.take())
}

// Where something else holds a tenant up, messages must not pile up.
func TestRemindersGetRare(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	s := w.sweeper()
	w.accept(t, acme, tenant.EventCreated)
	w.pass(age)

	var sent []time.Duration

	began := w.now
	for w.now.Sub(began) < 5*time.Hour {
		if sweepOnce(t, s).Nudged > 0 {
			sent = append(sent, w.now.Sub(began))
		}

		w.pass(interval)
	}

	require.Equal(t, []time.Duration{0, age, 3 * age, 7 * age, 11 * age, 15 * age, 19 * age}, sent)

	w.accept(t, acme, tenant.EventUpdated)
	w.pass(age)
	require.Equal(t, 1, sweepOnce(t, s).Nudged, "a row that changed is another matter")
	w.pass(age)
	require.Equal(t, 1, sweepOnce(t, s).Nudged)
}

func TestADeadHolder(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	s := w.sweeper()
	w.accept(t, acme, tenant.EventCreated)

	dead := w.acquire(t, acme)
	w.pass(24 * time.Hour)

	report := sweepOnce(t, s)
	require.Zero(t, report.Ended, "it takes two looks, whatever the row says")
	require.Zero(t, report.Nudged)

	w.pass(duration + margin - time.Millisecond)
	require.Zero(t, sweepOnce(t, s).Ended)

	w.pass(time.Millisecond)

	report = sweepOnce(t, s)
	require.Equal(t, []int{1, 1, 0}, []int{report.Ended, report.Nudged, report.Failed})
	require.Equal(t, []tenant.ID{acme}, w.outbox.take())

	rec := w.get(t, acme)
	require.Equal(t, tenant.Lease{}, rec.Lease)
	require.Equal(t, dead.Token().Fence+1, rec.Fence)

	w.pass(age - time.Millisecond)
	require.Zero(t, sweepOnce(t, s).Nudged, "it was reminded of just now")

	require.ErrorIs(t, w.rows.Release(t.Context(), acme, dead.Token(), true), registry.ErrLeaseLost)
	require.False(t, w.acquire(t, acme).CleanPredecessor())
}

func TestALiveHolderIsLeftAlone(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	s := w.sweeper()
	w.accept(t, acme, tenant.EventCreated)

	held := w.acquire(t, acme)

	// For hours, and with every sweep just before a renewal.
	for range 200 {
		w.pass(duration / 3)

		report := sweepOnce(t, s)
		require.Zero(t, report.Ended)
		require.Empty(t, report.Waiting, "somebody works on it")
		require.NoError(t, w.renew(acme, held.Token()))
	}

	require.Empty(t, w.outbox.take())
	w.settle(t, acme, held)
}

// The holder renews between the look and the end.
func TestALateRenewal(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	s := w.sweeper()
	w.accept(t, acme, tenant.EventCreated)

	held := w.acquire(t, acme)

	w.pass(24 * time.Hour)
	sweepOnce(t, s)
	w.pass(duration + margin)

	// The first write is the claim, the second one the end of the lease.
	writes := 0

	var renewal error

	w.table.Intercept(func(operation string) error {
		if operation == "UpdateItem" {
			writes++
		}

		if writes == 2 {
			w.table.Intercept(nil, nil)

			renewal = w.renew(acme, held.Token())
		}

		return nil
	}, nil)

	report := sweepOnce(t, s)
	require.Zero(t, report.Ended)
	require.Zero(t, report.Nudged)
	require.Equal(t, 2, writes)
	require.NoError(t, renewal)
	require.Equal(t, registry.Token{Owner: w.get(t, acme).Lease.Owner, Fence: w.get(t, acme).Fence}, held.Token())
}

func TestASettledRowOfADeadHolder(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	s := w.sweeper()
	w.accept(t, acme, tenant.EventCreated)
	w.settle(t, acme, w.acquire(t, acme))
	w.acquire(t, acme)

	w.pass(age)
	sweepOnce(t, s)
	w.pass(interval)

	report := sweepOnce(t, s)
	require.Equal(t, []int{1, 0}, []int{report.Ended, report.Nudged})
	require.Empty(t, w.outbox.take(), "there is nothing to do")
	require.Equal(t, tenant.Lease{}, w.get(t, acme).Lease)
}

func TestASweepThatDiesBeforeTheMessage(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	s := w.sweeper()
	w.accept(t, acme, tenant.EventCreated)
	w.acquire(t, acme)
	w.pass(age)
	sweepOnce(t, s)
	w.pass(interval)

	w.outbox.fail = errOutage
	report := s.Sweep(t.Context())
	require.Equal(t, []int{1, 0, 1}, []int{report.Ended, report.Nudged, report.Failed})
	require.False(t, report.Complete)
	require.Contains(t, w.log.String(), errOutage.Error())

	w.outbox.fail = nil
	w.pass(interval)
	require.Equal(t, 1, sweepOnce(t, s).Nudged, "the free row is found by the next one")
	require.Equal(t, []tenant.ID{acme}, w.outbox.take())
}

func TestOneSweepsAtATime(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	a, b := w.sweeper(), w.sweeper()
	w.accept(t, acme, tenant.EventCreated)
	w.pass(age)

	require.Equal(t, 1, sweepOnce(t, a).Nudged)

	for range 10 {
		w.pass(interval)
		sweepOnce(t, a)
		require.Equal(t, sweep.Report{}, b.Sweep(t.Context()))
	}

	// a is gone.
	w.pass(2 * interval)
	require.False(t, b.Sweep(t.Context()).Sweeping)
	w.pass(interval)
	require.Equal(t, 1, sweepOnce(t, b).Nudged)
	require.False(t, a.Sweep(t.Context()).Sweeping)
}

func TestUncreatedIsReportedOnce(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	s := w.sweeper()
	w.accept(t, acme, tenant.EventUpdated)
	w.settle(t, acme, w.acquire(t, acme))

	const text = "never created"

	for range 5 {
		w.pass(age)
		require.Equal(t, map[sweep.Reason]int{sweep.ReasonUncreated: 1}, sweepOnce(t, s).Waiting)
	}

	require.Equal(t, 1, strings.Count(w.log.String(), text))

	w.accept(t, acme, tenant.EventSuspended)
	w.settle(t, acme, w.acquire(t, acme))
	w.pass(age)
	sweepOnce(t, s)
	require.Equal(t, 2, strings.Count(w.log.String(), text), "another event, another word")
	require.Empty(t, w.outbox.take())
}

func TestTrouble(t *testing.T) {
	t.Parallel()

	w := newWorld(t)
	s := w.sweeper()
	w.accept(t, acme, tenant.EventCreated)
	w.accept(t, "other", tenant.EventCreated)
	w.pass(age)

	for _, operation := range []string{"UpdateItem", "Scan"} {
		w.table.Intercept(func(o string) error {
			if o == operation {
				return errOutage
			}

			return nil
		}, nil)

		report := s.Sweep(t.Context())
		require.False(t, report.Complete)
		require.Zero(t, report.Nudged)
		require.Equal(t, 1, strings.Count(w.log.String(), errOutage.Error()))
		w.log.Reset()
	}

	w.table.Intercept(nil, nil)

	// A row that cannot be read hides no other.
	row := w.table.Item("tenant#other")
	row["layout_version"] = row["fence"]
	row["desired_seq"] = row["pk"]
	w.table.Put(row)

	report := s.Sweep(t.Context())
	require.Equal(t, 1, report.Nudged)
	require.False(t, report.Complete)
	require.Contains(t, w.log.String(), "other")
}

func TestRunSweepsFromTimeToTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.rows = registry.New(w.table, registry.Config{Table: table}, nil)

		var (
			sweeps, incomplete atomic.Int64
			paused             atomic.Bool
		)

		s := sweep.New(sweep.Config{Interval: interval, Age: age}, sweep.Parts{
			Rows: w.rows, Leases: w.leases(), Queue: w.outbox, Log: slog.New(slog.NewTextHandler(&bytes.Buffer{}, nil)), Now: time.Now,
			WaitOpen: func(ctx context.Context) error {
				for paused.Load() && ctx.Err() == nil {
					time.Sleep(time.Second)
				}

				return ctx.Err()
			},
			Swept: func(r sweep.Report) {
				sweeps.Add(1)

				if !r.Complete {
					incomplete.Add(1)
				}
			},
		})

		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})

		go func() {
			defer close(done)

			s.Run(ctx)
		}()

		time.Sleep(10 * time.Hour)
		synctest.Wait()
		require.InDelta(t, 120, sweeps.Load(), 6)
		require.Zero(t, incomplete.Load())

		paused.Store(true)

		seen := sweeps.Load()

		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, seen, sweeps.Load(), "not while the fleet is paused")
		paused.Store(false)

		time.Sleep(time.Hour)
		synctest.Wait()
		require.Greater(t, sweeps.Load(), seen+5)

		stop()
		<-done

		claimed, err := w.rows.ClaimSweep(t.Context(), "another", time.Minute)
		require.NoError(t, err)
		require.True(t, claimed, "it gave its claim up")
	})
}

func TestRunDoesNothingIfSwitchedOff(t *testing.T) {
	t.Parallel()

	table := registrytest.New(table)
	s := sweep.New(sweep.Config{Age: age}, sweep.Parts{Rows: registry.New(table, registry.Config{Table: "tenants"}, nil)})
	s.Run(t.Context())
	require.Zero(t, table.Calls("UpdateItem"))
}

// A sweep that takes too long goes on where it was, with the next one.
func TestASweepHasALimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.clock.now = time.Now()
		w.rows = registry.New(w.table, registry.Config{Table: table}, nil)

		for _, id := range []tenant.ID{"a", "b", "c", "d"} {
			w.accept(t, id, tenant.EventCreated)
		}

		time.Sleep(age)

		log := &bytes.Buffer{}
		slow := slowQueue{w.outbox, 2 * time.Minute}
		s := sweep.New(sweep.Config{Interval: interval, Age: age}, sweep.Parts{
			Rows: w.rows, Leases: w.leases(), Queue: slow, Log: slog.New(slog.NewTextHandler(log, nil)), Now: time.Now,
		})

		report := s.Sweep(t.Context())
		require.Equal(t, []int{2, 2}, []int{report.Nudged, report.Failed})
		require.False(t, report.Complete)
		require.Equal(t, interval, report.Duration)

		require.Equal(t, 2, sweepOnce(t, s).Nudged)
		require.ElementsMatch(t, []tenant.ID{"a", "b", "c", "d"}, w.outbox.take())
	})
}

type slowQueue struct {
	*outbox

	takes time.Duration
}

func (q slowQueue) Send(ctx context.Context, body []byte) (string, error) {
	timer := time.NewTimer(q.takes)
	defer timer.Stop()

	select {
	case <-timer.C:
		return q.outbox.Send(ctx, body)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
