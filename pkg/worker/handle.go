package worker

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/telemetry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// troubleDelay is how long a message rests after trouble that was not its own
// fault, as when the table cannot be reached.
const troubleDelay = 15 * time.Second

// held is one message in hand, invisible to others until it is put down.
type held struct {
	*Worker

	message   queue.Message
	clock     *phase.Clock
	heartbeat *queue.Heartbeat
	log       *slog.Logger
	putDown   func()
}

// pickUp starts the heartbeat of a message. The clock runs since its receipt.
func (w *Worker) pickUp(ctx context.Context, m queue.Message, clock *phase.Clock) *held {
	h := &held{Worker: w, message: m, clock: clock, log: w.log.With("message_id", m.ID)}
	h.heartbeat = w.visibility.Keep(ctx, m, func(err error) {
		w.metrics.ReceiptsLost.Inc()
		h.log.WarnContext(ctx, "lost the message; its tenant's lease is kept", "error", err)
	})
	h.putDown = sync.OnceFunc(func() { w.hands.give(1) })

	return h
}

// ID is the message's id.
func (h *held) ID() string { return h.message.ID }

// Extend keeps the message for another visibility timeout.
func (h *held) Extend(ctx context.Context) error { return h.visibility.Extend(ctx, h.message) }

// Clock counts the time since the receipt.
func (h *held) Clock() *phase.Clock { return h.clock }

// handle takes a message from bytes to an outcome.
func (h *held) handle(ctx context.Context) {
	h.clock.Enter(phase.Accept)

	e, err := h.decoder.Decode(h.message.Body)
	if err != nil {
		h.metrics.MessagesReceived.WithLabelValues("invalid").Inc()
		h.deadLetter(ctx, err)

		return
	}

	h.metrics.MessagesReceived.WithLabelValues(event.TypeName(e.Type)).Inc()
	h.log = h.log.With(telemetry.KeyTenant, string(e.Tenant), telemetry.KeyEvent, e.ID)

	rec, changed, err := h.rows.Accept(ctx, e)

	switch {
	case errors.Is(err, registry.ErrTooLarge):
		h.deadLetter(ctx, err)

		return
	case err != nil:
		h.log.ErrorContext(ctx, "accepting the event", "error", err)
		h.giveBack(ctx, troubleDelay, reconcile.ReasonError)

		return
	}

	h.metrics.Accepted(e.Type, changed)
	h.log.DebugContext(ctx, "accepted", "type", string(e.Type), "changed", changed,
		telemetry.KeySequence, rec.DesiredSeq)

	if h.message.ReceiveCount <= 1 {
		h.metrics.MessageQueueDuration.Observe(time.Since(h.message.SentAt).Seconds())
	}

	h.settle(ctx, rec)
}

// settle goes on until the message has an outcome that ends it.
func (h *held) settle(ctx context.Context, rec tenant.Record) {
	h.clock.Enter(phase.Receive)

	for {
		outcome, err := h.settler.Settle(ctx, h, rec)
		if err != nil {
			h.log.ErrorContext(ctx, "settling the tenant", "error", err)
			h.giveBack(ctx, troubleDelay, reconcile.ReasonError)

			return
		}

		if outcome.Action != reconcile.ActionWatch {
			h.finish(ctx, outcome)

			return
		}

		h.clock.Enter(phase.Receive)

		next, ok := h.watch(ctx, rec)
		if !ok {
			return
		}

		rec = next
	}
}

// finish does with the message what the outcome says.
func (h *held) finish(ctx context.Context, outcome reconcile.Outcome) {
	switch outcome.Action {
	case reconcile.ActionDelete:
		h.heartbeat.Stop()

		// It needs no slot any more: the next one may come while it is deleted.
		select {
		case h.deleting <- struct{}{}:
			defer func() { <-h.deleting }()

			h.putDown()
		default:
		}

		if err := h.messages.Delete(ctx, h.message); err != nil {
			h.log.ErrorContext(ctx, "deleting the message", "error", err)

			return
		}

		h.metrics.MessagesDeleted.WithLabelValues(string(outcome.Reason)).Inc()
		h.log.DebugContext(ctx, "message deleted", "reason", string(outcome.Reason))
	case reconcile.ActionDelay:
		h.giveBack(ctx, outcome.Delay, outcome.Reason)
	case reconcile.ActionDrop:
		h.heartbeat.Stop()
		h.metrics.MessagesReleased.WithLabelValues(string(outcome.Reason)).Inc()
	case reconcile.ActionWatch:
	}
}

// giveBack makes the message visible again after d. The heartbeat is stopped
// first, or a late tick would overwrite the delay.
func (h *held) giveBack(ctx context.Context, d time.Duration, reason reconcile.Reason) {
	h.heartbeat.Stop()
	h.metrics.MessagesReleased.WithLabelValues(string(reason)).Inc()

	if err := h.messages.Delay(ctx, h.message, d); err != nil && !errors.Is(err, queue.ErrReceiptLost) {
		h.log.ErrorContext(ctx, "giving the message back", "error", err)
	}
}

// deadLetter moves a message that can never be served out of the way.
func (h *held) deadLetter(ctx context.Context, cause error) {
	code := "too-large"

	if invalid, ok := errors.AsType[*event.InvalidError](cause); ok {
		code = invalid.Code
	}

	h.heartbeat.Stop()

	if err := h.messages.DeadLetter(ctx, h.message, code, cause.Error()); err != nil {
		h.log.ErrorContext(ctx, "moving the message to the dead-letter queue", "error", err, "cause", cause.Error())
		h.giveBack(ctx, troubleDelay, reconcile.ReasonError)

		return
	}

	h.metrics.MessagesDeadLettered.WithLabelValues(code).Inc()
	h.log.WarnContext(ctx, "moved the message to the dead-letter queue", "reason", code, "cause", cause.Error())
}

// maxWatchers bounds the messages that are kept for a lease of another worker.
const maxWatchers = 10

// watch keeps the message of a lease that somebody else holds, without a slot,
// until the lease changes or stood still for too long. It returns the newest
// row, or false if the message was given back.
func (h *held) watch(ctx context.Context, rec tenant.Record) (tenant.Record, bool) {
	select {
	case h.watchers <- struct{}{}:
		defer func() { <-h.watchers }()
	default:
		h.giveBack(ctx, jitter(h.config.LeaseDuration), reconcile.ReasonBusy)

		return rec, false
	}

	// The hand is free for another message while this one only waits.
	h.putDown()
	h.log.DebugContext(ctx, "watching the lease of another worker", "owner", rec.Lease.Owner, "fence", rec.Fence)

	// Each look is one read, and a dead holder is noticed that much earlier.
	const looksPerLease = 12

	for {
		if !h.gate.rest(ctx, h.config.LeaseDuration/looksPerLease) {
			h.giveBack(ctx, 0, reconcile.ReasonDrain)

			return rec, false
		}

		next, err := h.rows.Get(ctx, rec.ID)
		if err != nil {
			h.log.ErrorContext(ctx, "watching a lease", "error", err)
			h.giveBack(ctx, troubleDelay, reconcile.ReasonError)

			return rec, false
		}

		if next.Lease.Owner == "" || next.Fence != rec.Fence || h.leases.Stale(next) {
			return next, true
		}
	}
}

// jitter returns between half of d and d.
func jitter(d time.Duration) time.Duration {
	return d/2 + rand.N(d/2+1) //nolint:gosec // jitter needs no secrecy
}
