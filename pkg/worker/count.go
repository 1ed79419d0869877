package worker

import (
	"context"
	"sync"
	"time"

	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/telemetry"
)

const (
	// countInterval is how often a worker counts the messages of the queues. SQS
	// itself is up to a minute behind, and two calls in this time cost no more
	// than the polls of an idle worker.
	countInterval = 30 * time.Second
	// countTimeout bounds one look.
	countTimeout = 20 * time.Second
)

// countQueues keeps the metrics of the queues, until ctx ends. Every worker does,
// so that a pause, a dead worker or a sweep that is turned off hides nothing.
func (w *Worker) countQueues(ctx context.Context) {
	// A worker that drains would show what once was.
	defer w.metrics.ForgetQueues()

	for ctx.Err() == nil {
		if depth, ok := w.count(ctx, telemetry.QueueEvents, w.counter.Depth); ok {
			if age, known := w.backlog.age(time.Now(), depth.Visible); known {
				w.metrics.BacklogAged(age)
			}
		}

		w.count(ctx, telemetry.QueueDeadLetters, w.counter.DeadLetterDepth)
		sleep(ctx, countInterval)
	}
}

func (w *Worker) count(
	ctx context.Context, name string, look func(context.Context) (queue.Depth, error),
) (depth queue.Depth, counted bool) {
	lookCtx, cancel := context.WithTimeout(ctx, countTimeout)
	defer cancel()

	depth, err := look(lookCtx)

	switch {
	case err == nil:
		w.metrics.QueueCounted(name, depth.Visible, depth.InFlight, depth.Delayed)
	case ctx.Err() == nil:
		w.metrics.QueueUncounted(name)
		w.log.ErrorContext(ctx, "counting the messages of a queue", "queue", name, "error", err)
	}

	return depth, err == nil
}

// backlog bounds the age of the oldest message that nobody has received. SQS
// tells it only through CloudWatch, but hands messages out about in the order in
// which they were sent: what still waits was sent after what was received last,
// and after the queue was last seen without a message.
type backlog struct {
	mu     sync.Mutex
	newest time.Time
	empty  time.Time
}

// received notes when a message was sent that was just received.
func (b *backlog) received(sent time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if sent.After(b.newest) {
		b.newest = sent
	}
}

// age is how old the oldest of so many waiting messages is, at most. It is not
// known before a message was received, or the queue seen empty.
func (b *backlog) age(now time.Time, waiting int) (age time.Duration, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()

	if waiting == 0 {
		b.empty = now
	}

	since := b.empty
	if b.newest.After(since) {
		since = b.newest
	}

	return max(0, now.Sub(since)), !since.IsZero()
}
