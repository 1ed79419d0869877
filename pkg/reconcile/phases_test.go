package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// slowly makes a world in which everything takes its time: a call of the table a
// second, a slot 10, the publication 100, an operation 1000, of which the engine
// tells where 900 went.
func slowly() *world {
	w := newWorld()
	w.table.Intercept(func(string) error { time.Sleep(time.Second); return nil }, nil)
	w.slots.onTake = func() { time.Sleep(10 * time.Second) }
	w.Publisher = slowPublisher{w.publisher}

	return w
}

type slowPublisher struct{ reconcile.Publisher }

func (p slowPublisher) Publish(ctx context.Context, e result.Event) error {
	time.Sleep(100 * time.Second)

	return p.Publisher.Publish(ctx, e)
}

func takes(then act) act {
	return func(ctx context.Context, op engine.Operation, watch engine.Watch) engine.Result {
		time.Sleep(1000 * time.Second)

		res := then(ctx, op, watch)
		res.Phases = phase.Times{
			phase.ChildStart: 50 * time.Second, phase.Provider: 800 * time.Second, phase.State: 40 * time.Second, phase.Other: 10 * time.Second,
		}

		return res
	}
}

// settleSlowly settles a tenant that begins, and returns the seconds of each phase
// of each operation.
func (w *world) settleSlowly(t *testing.T, e tenant.Event) []map[phase.Phase]float64 {
	t.Helper()

	rec := w.accept(t, e)
	m := &message{id: "m1"}
	m.Clock()

	began := time.Now()

	_, err := w.settle(t, m, rec)
	require.NoError(t, err)

	whole, sum := time.Since(began), time.Duration(0)

	all := make([]map[phase.Phase]float64, 0, len(w.observer.times))

	for _, times := range w.observer.times {
		sum += times.Total()
		seconds := map[phase.Phase]float64{}

		for p, d := range times {
			if d != 0 {
				seconds[p] = d.Seconds()
			}
		}

		all = append(all, seconds)
	}

	require.Equal(t, whole, sum, "every second is in one phase of one operation")

	return all
}

func TestPhasesOfAnOperation(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := slowly()
		w.engine.will(takes(succeed))

		require.Equal(t, []map[phase.Phase]float64{{
			phase.Receive:    10,
			phase.Lease:      1,
			phase.ChildStart: 50,
			phase.Provider:   800,
			phase.State:      40,
			phase.Commit:     2,   // begun, settled
			phase.Publish:    101, // and noted
			phase.Other:      110,
		}}, w.settleSlowly(t, created(1)))
	})
}

// The second operation under a lease takes neither a message nor a lease.
func TestPhasesOfTwoOperations(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := slowly()
		w.engine.will(during(func() { w.accept(t, updated(2, "large")) }, takes(succeed)), takes(succeed))

		all := w.settleSlowly(t, created(1))
		require.Len(t, all, 2)
		require.InDelta(t, 10, all[0][phase.Receive], 0)
		require.InDelta(t, 1, all[0][phase.Lease], 0)
		require.Equal(t, map[phase.Phase]float64{
			phase.ChildStart: 50, phase.Provider: 800, phase.State: 40, phase.Commit: 2, phase.Publish: 101, phase.Other: 110,
		}, all[1])
	})
}

// What undoes a failed operation is one of its own, and the last has the record.
func TestPhasesOfAnOperationThatIsUndone(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := slowly()
		w.engine.will(takes(fail(tenant.KindInvalid, "no")), takes(succeed))

		all := w.settleSlowly(t, created(1))
		require.Len(t, all, 2)
		require.Equal(t, map[phase.Phase]float64{
			phase.Receive: 10, phase.Lease: 1, phase.ChildStart: 50, phase.Provider: 800, phase.State: 40, phase.Commit: 1, phase.Other: 110,
		}, all[0])
		require.Equal(t, map[phase.Phase]float64{
			phase.ChildStart: 50, phase.Provider: 800, phase.State: 40, phase.Commit: 2, phase.Publish: 101, phase.Other: 110,
		}, all[1])
	})
}

// An operation is told of even where its outcome cannot be recorded.
func TestAnOperationThatCannotBeRecordedIsToldOf(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.engine.will(during(func() {
			w.table.Intercept(func(operation string) error {
				if operation == "UpdateItem" {
					return errOutage
				}

				return nil
			}, nil)
		}, succeed))

		_, err := w.settle(t, &message{id: "m1"}, w.accept(t, created(1)))
		require.ErrorIs(t, err, errOutage)
		require.Len(t, w.observer.finished, 1)
		require.Nil(t, w.observer.finished[0].Failure)
	})
}
