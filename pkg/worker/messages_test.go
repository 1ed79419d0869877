package worker_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/pkg/worker"
)

func TestEventIsSettledAndItsMessageDeleted(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)

		w.start(t)
		w.send(t, created("acme"))

		rec := w.row(t)
		require.Equal(t, int64(1), rec.AppliedSeq)
		require.Contains(t, rec.Outputs, "endpoint")
		require.Empty(t, w.sqs.Bodies(w.url))
		require.Equal(t, 1, w.engine.started())
		require.InDelta(t, 1, testutil.ToFloat64(w.worker.Metrics().MessagesDeleted.WithLabelValues("settled")), 0)

		// A duplicate runs nothing.
		w.send(t, created("acme"))
		require.Empty(t, w.sqs.Bodies(w.url))
		require.Equal(t, 1, w.engine.started())
	})
}

// shownReason are the attributes of the one message in the dead-letter queue.
func (w *world) shownReason(t *testing.T) (code, reason string) {
	t.Helper()

	out, err := w.sqs.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: aws.String(w.dead), MaxNumberOfMessages: 10, MessageAttributeNames: []string{"All"},
	})
	require.NoError(t, err)
	require.Len(t, out.Messages, 1)

	attributes := out.Messages[0].MessageAttributes

	return aws.ToString(attributes[queue.AttributeReasonCode].StringValue), aws.ToString(attributes[queue.AttributeReason].StringValue)
}

func TestInvalidMessageIsMovedWithItsReason(t *testing.T) {
	t.Parallel()

	const envelope = `{"specversion":"1.0","id":"1","source":"test","subject":"acme",`

	tests := map[string]struct {
		body   string
		code   string
		reason string
	}{
		"no JSON":      {body: "hello", code: "not-json"},
		"unknown type": {body: envelope + `"type":"lessor.tenant.renamed.v1","time":"2000-01-01T00:00:00Z"}`, code: "type"},
		"unknown field": {
			body: envelope + `"type":"lessor.tenant.deleted.v1","time":"2000-01-01T00:00:00Z","data":{"color":"red"}}`,
			code: "data", reason: "color",
		},
		"time far ahead": {body: envelope + `"type":"lessor.tenant.deleted.v1","time":"2000-01-01T01:00:00Z"}`, code: "time"},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)

				w.start(t)
				w.sendBody(t, []byte(tt.body))

				require.Empty(t, w.sqs.Bodies(w.url))
				require.Equal(t, []string{tt.body}, w.sqs.Bodies(w.dead), "nothing is lost")

				code, reason := w.shownReason(t)
				require.Equal(t, tt.code, code)
				require.Contains(t, reason, tt.reason)
				require.NotEmpty(t, reason)
				require.Zero(t, w.engine.started())
				require.InDelta(t, 1, testutil.ToFloat64(w.worker.Metrics().MessagesDeadLettered.WithLabelValues(tt.code)), 0)

				// The worker goes on.
				w.send(t, created("acme"))
				require.Equal(t, 1, w.engine.started())
			})
		})
	}
}

func TestEventThatMakesTheRowTooLargeIsMoved(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		w.start(t)

		e := created("acme")
		e.Parameters = tenant.Parameters{"notes": json.RawMessage(`"` + strings.Repeat("x", 130<<10) + `"`)}
		w.send(t, e)

		require.Empty(t, w.sqs.Bodies(w.url))

		code, _ := w.shownReason(t)
		require.Equal(t, "too-large", code)
	})
}

func TestOutageOfTheDeadLetterQueueLosesNothing(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		w.start(t)
		w.sqs.Intercept(func(operation string) error {
			if operation == "SendMessage" && len(w.sqs.Bodies(w.url)) > 0 {
				return errOutage
			}

			return nil
		})
		w.sendBody(t, []byte("hello"))
		require.Equal(t, []string{"hello"}, w.sqs.Bodies(w.url))
		require.Empty(t, w.sqs.Bodies(w.dead))

		w.sqs.Intercept(nil)
		pass(troubleDelay - time.Second)
		require.Empty(t, w.sqs.Bodies(w.dead))
		pass(time.Second)
		require.Equal(t, []string{"hello"}, w.sqs.Bodies(w.dead))
		require.Empty(t, w.sqs.Bodies(w.url))
	})
}

func TestOutageOfTheTableBringsTheMessageBackLater(t *testing.T) {
	t.Parallel()

	// Accepting makes one read and one write; then comes the reconciler.
	for name, fails := range map[string]string{"reading": "GetItem", "writing": "UpdateItem"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)

				w.start(t)
				w.table.Intercept(func(operation string) error {
					if operation == fails {
						return errOutage
					}

					return nil
				}, nil)
				w.send(t, created("acme"))
				require.Equal(t, queue.Depth{InFlight: 1}, w.depth(t))
				require.Contains(t, w.log.String(), errOutage.Error())

				w.table.Intercept(nil, nil)
				pass(troubleDelay - time.Second)
				require.Zero(t, w.engine.started())
				pass(time.Second)
				require.Equal(t, 1, w.engine.started())
				require.Empty(t, w.sqs.Bodies(w.url))
			})
		})
	}
}

func TestOutageOfTheQueueIsWaitedFor(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		w.sqs.Intercept(func(operation string) error {
			if operation == "ReceiveMessage" {
				return errOutage
			}

			return nil
		})
		w.start(t)
		w.send(t, created("acme"))
		pass(time.Minute)
		require.Less(t, strings.Count(w.log.String(), "receiving messages"), 20, "no tight loop")
		require.NoError(t, w.worker.Live())

		w.sqs.Intercept(nil)
		pass(5 * time.Second)
		require.Equal(t, 1, w.engine.started())
	})
}

func TestMessageStaysInvisibleDuringALongOperation(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)

		w.engine.act = func(context.Context, engine.Operation) engine.Result {
			time.Sleep(3 * time.Hour)

			return done()
		}
		w.start(t)
		w.send(t, created("acme"))

		for range 88 {
			pass(visibility - time.Second)
			require.Equal(t, queue.Depth{InFlight: 1}, w.depth(t))
			require.NoError(t, w.worker.Live(), "a slot is used")
		}

		require.Equal(t, 1, w.engine.started())
		require.Equal(t, int64(1), w.row(t).Fence)
	})
}

func TestFailedAttemptComesBackAfterItsBackoff(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		w.engine.act = func(context.Context, engine.Operation) engine.Result {
			if w.engine.started() == 1 {
				return engine.Result{Failure: &tenant.Failure{Kind: tenant.KindTransient, Message: "no luck"}, StackCreated: true, Clean: true}
			}

			return done()
		}
		w.start(t)
		w.send(t, created("acme"))
		require.Equal(t, queue.Depth{InFlight: 1}, w.depth(t))
		require.InDelta(t, 1, testutil.ToFloat64(w.worker.Metrics().MessagesReleased.WithLabelValues("backoff")), 0)
		pass(time.Second)
		require.Equal(t, 2, w.engine.started())
		require.Empty(t, w.sqs.Bodies(w.url))
	})
}

func TestNoMoreMessagesAreTakenThanSlots(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)

		release := make(chan struct{})
		w.engine.act = func(context.Context, engine.Operation) engine.Result {
			<-release

			return done()
		}

		for n := range 5 {
			w.send(t, created(nth(n)))
		}

		w.start(t)
		require.Equal(t, 2, w.engine.started())
		require.Equal(t, queue.Depth{Visible: 3, InFlight: 2}, w.depth(t), "others may have them")

		for _, in := range w.sqs.Received() {
			require.LessOrEqual(t, in.MaxNumberOfMessages, int32(2))
		}

		close(release)
		pass(0)
		require.Equal(t, 5, w.engine.started())
		require.Empty(t, w.sqs.Bodies(w.url))
	})
}

// A message that is being deleted keeps no other from coming, but not without end.
func TestNextMessagesComeWhileSomeAreDeleted(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.start(t)
		w.send(t, created("acme"))

		var begun atomic.Int64

		release := make(chan struct{})

		w.sqs.Intercept(func(operation string) error {
			if operation == "DeleteMessage" {
				begun.Add(1)
				<-release
			}

			return nil
		})

		for range worker.MaxDeleting + 5 {
			w.send(t, created("acme"))
		}

		require.Equal(t, int64(worker.MaxDeleting+1), begun.Load(), "the last one in the only hand")
		require.Equal(t, queue.Depth{Visible: 4, InFlight: worker.MaxDeleting + 1}, w.depth(t))

		close(release)
		synctest.Wait()
		require.Empty(t, w.sqs.Bodies(w.url))
		require.Equal(t, 1, w.engine.started())
	})
}

// watched sends events whose messages stand for leases of a dead worker.
func (w *world) watched(t *testing.T, n int) {
	t.Helper()

	dead := w.leases()

	for i := range n {
		e := created(nth(i))
		rec, _, err := w.rows.Accept(t.Context(), e)
		require.NoError(t, err)

		_, err = dead.Acquire(t.Context(), rec, w.send(t, e))
		require.NoError(t, err)
	}
}

func TestFewMessagesAreWatchedAtATime(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, worker.MaxWatchers+5)

		w.watched(t, worker.MaxWatchers+1)
		w.start(t)

		released := func() float64 { return testutil.ToFloat64(w.worker.Metrics().MessagesReleased.WithLabelValues("busy")) }

		require.Equal(t, queue.Depth{InFlight: worker.MaxWatchers + 1}, w.depth(t))
		require.InDelta(t, 1, released(), 0, "one too many")

		pass(leaseDuration + leaseMargin - time.Second)
		require.Zero(t, w.engine.started(), "the leases may be alive")

		pass(3 * time.Second)
		require.Equal(t, worker.MaxWatchers, w.engine.started(), "as soon as they are stale")

		pass(10 * time.Minute)
		require.Equal(t, worker.MaxWatchers+1, w.engine.started(), "all were taken over")
		require.Empty(t, w.sqs.Bodies(w.url))
		require.Contains(t, w.log.String(), "took over the lease of a dead worker")
	})
}

func TestWatchedMessageHoldsNoHand(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		w.watched(t, 3)
		w.start(t)
		w.send(t, created("healthy"))
		require.Equal(t, 1, w.engine.started())
		require.Equal(t, tenant.ID("healthy"), w.engine.ops[0].Tenant)

		// A drain ends the watch at once.
		w.end(t)
		require.Equal(t, queue.Depth{Visible: 3}, w.depth(t))
	})
}

func TestWatchEndsWhenTheHolderLetsGo(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		e := created("acme")
		rec, _, err := w.rows.Accept(t.Context(), e)
		require.NoError(t, err)

		held, err := w.leases().Acquire(t.Context(), rec, w.send(t, e))
		require.NoError(t, err)

		w.start(t)
		require.NoError(t, w.rows.Release(t.Context(), "acme", held.Token(), true))
		pass(leaseDuration / 4)
		require.Equal(t, 1, w.engine.started())
		require.Empty(t, w.sqs.Bodies(w.url))
	})
}
