package worker

import (
	"context"
	"time"

	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/reconcile"
)

const (
	// maxReceive is the limit of SQS for one call.
	maxReceive = 10
	// pollSlack is how long a poll may take beyond its wait.
	pollSlack = 5 * time.Second
	// receiveRetry spaces calls that fail.
	receiveRetry = 5 * time.Second
)

// receive polls until ctx is cancelled. A poll in flight is never cancelled
// with it: what SQS hands to a closed connection stays invisible for a whole
// visibility timeout (aws-sdk-go-v2 issue 2068). What such a poll brings is
// given back at once.
func (w *Worker) receive(ctx, work context.Context) {
	for ctx.Err() == nil {
		n, err := w.hands.take(ctx, maxReceive)
		if err != nil {
			return
		}

		// Last, since hands may be full for hours.
		if w.gate.waitOpen(ctx) != nil {
			return
		}

		w.tick()
		w.poll(ctx, work, n)
	}
}

// tick notes that the loop moves.
func (w *Worker) tick() { w.lastTick.Store(time.Now().UnixNano()) }

// poll makes one call for at most n messages, for which n hands are taken.
func (w *Worker) poll(ctx, work context.Context, n int) {
	pollCtx, cancel := context.WithTimeout(work, w.config.PollWait+pollSlack)
	defer cancel()

	messages, err := w.messages.Receive(pollCtx, n)
	w.hands.give(n - len(messages))

	if err != nil {
		w.metrics.ReceiveRequests.WithLabelValues("error").Inc()
		w.log.ErrorContext(ctx, "receiving messages", "error", err)
		sleep(ctx, receiveRetry)

		return
	}

	w.metrics.ReceiveRequests.WithLabelValues(receiveOutcome(len(messages))).Inc()
	w.metrics.LastSuccessfulPoll.SetToCurrentTime()

	for _, m := range messages {
		w.backlog.received(m.SentAt)

		clock := phase.Start(phase.Receive, time.Now)

		w.inHand.Go(func() {
			h := w.pickUp(work, m, clock)
			defer h.putDown()

			if w.gate.draining() {
				h.giveBack(work, 0, reconcile.ReasonDrain)

				return
			}

			h.handle(work)
		})
	}
}

func receiveOutcome(n int) string {
	if n == 0 {
		return "empty"
	}

	return "messages"
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
