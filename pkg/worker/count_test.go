package worker_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// looks is time enough for the next count.
const looks = 31 * time.Second

func (w *world) messages(queue, state string) float64 {
	return testutil.ToFloat64(w.worker.Metrics().QueueMessages.WithLabelValues(queue, state))
}

// backlogAge is what the worker shows, and whether it shows anything.
func (w *world) backlogAge() (seconds float64, known bool) {
	if testutil.CollectAndCount(w.worker.Metrics().BacklogAge) == 0 {
		return 0, false
	}

	return testutil.ToFloat64(w.worker.Metrics().BacklogAge.WithLabelValues()), true
}

// blocking runs operations until the test ends them.
func (w *world) blocking() (end func()) {
	release := make(chan struct{})
	w.engine.act = func(ctx context.Context, _ engine.Operation) engine.Result {
		select {
		case <-release:
		case <-ctx.Done():
		}

		return done()
	}

	return func() { close(release) }
}

func TestQueuesAreCounted(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		end := w.blocking()

		w.start(t)
		w.sendBody(t, []byte("not an event"))
		w.sendBody(t, []byte("nor this"))
		w.send(t, created(nth(1)))
		pass(pollWait)
		w.send(t, created(nth(2)))
		pass(looks)

		require.InDelta(t, 1, w.messages("events", "visible"), 0)
		require.InDelta(t, 1, w.messages("events", "in_flight"), 0)
		require.InDelta(t, 2, w.messages("dead_letters", "visible"), 0)

		end()
		pass(looks)
		require.Zero(t, w.messages("events", "visible"))
		require.Zero(t, w.messages("events", "in_flight"))
	})
}

// The age of what waits grows while nothing is received, and is small in a busy
// fleet that keeps up.
func TestAgeOfTheBacklog(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		end := w.blocking()

		w.start(t)
		pass(time.Hour)

		age, known := w.backlogAge()
		require.True(t, known)
		require.Zero(t, age, "nothing waits")

		w.send(t, created(nth(1)))
		pass(pollWait)
		w.send(t, created(nth(2)))
		pass(10*time.Minute + looks)

		age, _ = w.backlogAge()
		require.InDelta(t, 600, age, 62, "since the last look at an empty queue, or the first message")

		end()
		pass(looks)

		age, _ = w.backlogAge()
		require.Zero(t, age)
	})
}

// A worker that starts amid a backlog knows its age only by what it receives.
func TestAgeOfABacklogFoundAtTheStart(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		end := w.blocking()
		require.NoError(t, w.rows.Pause(t.Context(), "incident"))

		w.send(t, created(nth(1)))
		w.send(t, created(nth(2)))
		pass(time.Hour)
		w.start(t)
		pass(looks)

		_, known := w.backlogAge()
		require.False(t, known)
		require.InDelta(t, 2, w.messages("events", "visible"), 0, "a pause hides nothing")

		require.NoError(t, w.rows.Unpause(t.Context()))
		pass(2 * looks)

		age, known := w.backlogAge()
		require.True(t, known)
		require.InDelta(t, 3600, age, 100)
		end()
	})
}

// What is not known is not shown: neither as nothing, nor as it once was.
func TestQueuesThatCannotBeCounted(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.start(t)
		pass(looks)
		require.Equal(t, 6, testutil.CollectAndCount(w.worker.Metrics().QueueMessages))

		w.sqs.Intercept(func(operation string) error {
			if operation == "GetQueueAttributes" {
				return errors.New("denied")
			}

			return nil
		})
		pass(looks)

		require.Zero(t, testutil.CollectAndCount(w.worker.Metrics().QueueMessages))
		require.InDelta(t, 1, testutil.ToFloat64(w.worker.Metrics().QueueCounts.WithLabelValues("dead_letters", "error")), 0)
		require.Contains(t, w.log.String(), "counting the messages of a queue")

		_, known := w.backlogAge()
		require.False(t, known)

		w.sqs.Intercept(nil)
		pass(looks)
		require.Equal(t, 6, testutil.CollectAndCount(w.worker.Metrics().QueueMessages))
	})
}

func TestAWorkerThatDrainsShowsNoQueues(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		end := w.blocking()

		w.start(t)
		w.send(t, created(nth(1)))
		pass(looks)
		require.Equal(t, 6, testutil.CollectAndCount(w.worker.Metrics().QueueMessages))

		w.stop()
		pass(time.Second)
		require.Zero(t, testutil.CollectAndCount(w.worker.Metrics().QueueMessages))
		end()
	})
}

func TestRefusedWritesAreCounted(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.engine.act = func(context.Context, engine.Operation) engine.Result {
			if w.engine.started() > 1 {
				return done()
			}

			return engine.Result{Refused: tenant.KindConflict, Failure: &tenant.Failure{Kind: tenant.KindConflict, Message: "changed"}}
		}

		w.start(t)
		w.send(t, created("acme"))
		pass(time.Hour)

		refused := w.worker.Metrics().StateWritesRefused
		require.InDelta(t, 1, testutil.ToFloat64(refused.WithLabelValues("conflict")), 0)
		require.Zero(t, testutil.ToFloat64(refused.WithLabelValues("lease-lost")))
	})
}
