package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// beatsPerTimeout leaves room for two failed extensions in a row.
	beatsPerTimeout = 3
	// retriesPerTimeout spaces the extensions after one that failed.
	retriesPerTimeout = 12
)

// Heartbeat keeps one message hidden from others until it is stopped.
type Heartbeat struct {
	quit chan struct{}
	done chan struct{}
	once sync.Once
}

// Keep extends the message every third of the visibility timeout until Stop is
// called, ctx ends, or the message is lost. Then onLost is called once, from the
// heartbeat's goroutine: it must not call Stop.
func (q *Queue) Keep(ctx context.Context, m Message, onLost func(error)) *Heartbeat {
	h := &Heartbeat{quit: make(chan struct{}), done: make(chan struct{})}

	go func() {
		defer close(h.done)

		if err := q.beat(ctx, m, h.quit); err != nil {
			onLost(err)
		}
	}()

	return h
}

// Stop ends the heartbeat. When it returns no extension is under way, so that a
// delay that is set afterwards stays. It may be called again.
func (h *Heartbeat) Stop() {
	h.once.Do(func() { close(h.quit) })
	<-h.done
}

// beat returns nil when it was told to end, and the reason when the message was
// lost.
func (q *Queue) beat(ctx context.Context, m Message, quit <-chan struct{}) error {
	interval := q.cfg.VisibilityTimeout / beatsPerTimeout
	hiddenUntil := m.ReceivedAt.Add(q.cfg.VisibilityTimeout)

	timer := time.NewTimer(interval)
	defer timer.Stop()

	for {
		select {
		case <-quit:
			return nil
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}

		began := time.Now()
		err := q.extendWithin(ctx, m, interval)

		switch {
		case err == nil:
			hiddenUntil = began.Add(q.cfg.VisibilityTimeout)

			timer.Reset(interval)
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, ErrReceiptLost):
			return err
		case time.Now().After(hiddenUntil):
			return fmt.Errorf("%w: it could not be extended for %s: %w", ErrReceiptLost, q.cfg.VisibilityTimeout, err)
		default:
			timer.Reset(q.cfg.VisibilityTimeout / retriesPerTimeout)
		}
	}
}

func (q *Queue) extendWithin(ctx context.Context, m Message, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	return q.Extend(ctx, m)
}
