package queue_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/queue"
)

func TestHeartbeatHoldsForElevenHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, q := open(queue.Config{VisibilityTimeout: 2 * time.Minute, PollWait: time.Second})
		send(t, q, "x")

		beat := q.Keep(t.Context(), receiveOne(t, q), func(err error) { t.Errorf("lost: %v", err) })

		time.Sleep(11 * time.Hour)
		requireEmpty(t, q)
		beat.Stop()
		beat.Stop()

		time.Sleep(2 * time.Minute)
		require.Len(t, receiveSome(t, q, 1), 1)
	})
}

func TestNobodyHoldsAMessageForMoreThanTwelveHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, q := open(queue.Config{VisibilityTimeout: 2 * time.Minute, PollWait: time.Second})
		send(t, q, "x")

		m := receiveOne(t, q)
		lost := make(chan error, 1)
		beat := q.Keep(t.Context(), m, func(err error) { lost <- err })

		err := <-lost
		require.ErrorIs(t, err, queue.ErrReceiptLost)
		require.ErrorContains(t, err, "12 hours")
		require.InDelta(t, 12*time.Hour, time.Since(m.ReceivedAt), float64(3*time.Minute))
		beat.Stop()
	})
}

func TestDelayIsCutToTwelveHours(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, q := open(queue.Config{VisibilityTimeout: 12 * time.Hour, PollWait: time.Second})
		send(t, q, "x")

		m := receiveOne(t, q)

		time.Sleep(11 * time.Hour)
		require.NoError(t, q.Delay(t.Context(), m, 5*time.Hour))
		time.Sleep(time.Hour)
		receiveOne(t, q)
	})
}

// A message that another worker got is lost to the first one, whose delete then
// succeeds and removes nothing.
func TestStaleReceipt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake, q := open(queue.Config{VisibilityTimeout: 10 * time.Second, PollWait: time.Second})
		send(t, q, "x")

		first := receiveOne(t, q)
		second := receiveOne(t, q)

		require.ErrorIs(t, q.Extend(t.Context(), first), queue.ErrReceiptLost)
		require.NoError(t, q.Delete(t.Context(), first))
		require.NoError(t, q.Extend(t.Context(), second), "the other's delivery is untouched")

		require.NoError(t, q.Delete(t.Context(), second))
		time.Sleep(time.Hour)
		require.Empty(t, fake.Bodies("https://sqs.us-east-1.amazonaws.com/000000000000/events"))
	})
}

func TestHeartbeatReportsALostReceiptOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, q := open(queue.Config{VisibilityTimeout: time.Minute, PollWait: time.Second})
		send(t, q, "x")

		m := receiveOne(t, q)

		var calls atomic.Int32

		beat := q.Keep(t.Context(), m, func(err error) {
			calls.Add(1)

			if !errors.Is(err, queue.ErrReceiptLost) {
				t.Errorf("unexpected error: %v", err)
			}
		})

		require.NoError(t, q.Delete(t.Context(), m))
		time.Sleep(5 * time.Minute)
		beat.Stop()
		require.Equal(t, int32(1), calls.Load())
	})
}

func TestHeartbeatSurvivesAnOutageShorterThanTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake, q := open(queue.Config{VisibilityTimeout: time.Minute, PollWait: time.Second})
		send(t, q, "x")

		m := receiveOne(t, q)

		fail(fake, "ChangeMessageVisibility", errors.New("connection reset"))

		beat := q.Keep(t.Context(), m, func(err error) { t.Errorf("lost: %v", err) })

		time.Sleep(50 * time.Second)
		fake.Intercept(nil)
		time.Sleep(10 * time.Minute)
		requireEmpty(t, q)
		beat.Stop()
	})
}

func TestHeartbeatGivesUpAfterTheTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake, q := open(queue.Config{VisibilityTimeout: time.Minute, PollWait: time.Second})
		send(t, q, "x")

		m := receiveOne(t, q)

		fail(fake, "ChangeMessageVisibility", errors.New("connection reset"))

		lost := make(chan error, 1)
		beat := q.Keep(t.Context(), m, func(err error) { lost <- err })
		err := <-lost
		require.ErrorIs(t, err, queue.ErrReceiptLost)
		require.ErrorContains(t, err, "connection reset")
		require.InDelta(t, time.Minute, time.Since(m.ReceivedAt), float64(10*time.Second))
		beat.Stop()
	})
}

// After Stop no late tick may undo a delay.
func TestStopWaitsForATickUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fake, q := open(queue.Config{VisibilityTimeout: time.Minute, PollWait: time.Second})
		send(t, q, "x")

		m := receiveOne(t, q)

		fake.Intercept(func(operation string) error {
			if operation == "ChangeMessageVisibility" {
				time.Sleep(5 * time.Second)
			}

			return nil
		})

		beat := q.Keep(t.Context(), m, func(err error) { t.Errorf("lost: %v", err) })

		time.Sleep(21 * time.Second)

		began := time.Now()

		beat.Stop()
		require.Equal(t, 4*time.Second, time.Since(began))

		require.NoError(t, q.Delay(t.Context(), m, 0))
		receiveOne(t, q)
	})
}

func TestHeartbeatEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, q := open(queue.Config{VisibilityTimeout: time.Minute, PollWait: time.Second})
		send(t, q, "x")

		ctx, cancel := context.WithCancel(t.Context())
		beat := q.Keep(ctx, receiveOne(t, q), func(err error) { t.Errorf("lost: %v", err) })

		time.Sleep(5 * time.Minute)
		cancel()
		synctest.Wait()
		time.Sleep(2 * time.Minute)
		require.Len(t, receiveSome(t, q, 1), 1, "nobody extends it any more")
		beat.Stop()
	})
}
