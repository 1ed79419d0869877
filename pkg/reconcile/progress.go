package reconcile

import (
	"sync"
	"time"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// progressInterval spaces the writes of progress: each costs a write unit.
const progressInterval = time.Second

// progressWriter keeps the newest progress and writes it now and then from a
// goroutine of its own, so that a slow table never slows an operation.
type progressWriter struct {
	write func(tenant.Progress) error
	now   func() time.Time

	mu      sync.Mutex
	current tenant.Progress

	dirty chan struct{}
	// stepped ends the wait between two writes: a successor decides by the step.
	stepped chan struct{}
	stop    chan struct{}
	done    chan error
}

func newProgressWriter(first tenant.Progress, now func() time.Time, write func(tenant.Progress) error) *progressWriter {
	w := &progressWriter{
		write:   write,
		now:     now,
		current: first,
		dirty:   make(chan struct{}, 1),
		stepped: make(chan struct{}, 1),
		stop:    make(chan struct{}),
		done:    make(chan error, 1),
	}

	go w.loop()

	return w
}

// report takes note; it never blocks.
func (w *progressWriter) report(p engine.Progress) {
	w.mu.Lock()
	stepped := w.current.Step != string(p.Step)
	w.current.Step = string(p.Step)
	w.current.Done = p.Done
	w.current.Planned = p.Planned
	w.current.UpdatedAt = w.now().UTC()
	w.mu.Unlock()

	if stepped {
		signal(w.stepped)
	}

	signal(w.dirty)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// close ends the writing and returns the last error of a write. What was not
// written yet is not: the outcome replaces it.
func (w *progressWriter) close() error {
	close(w.stop)

	return <-w.done
}

// loop begins with a wait, since the row has the first progress already: an
// operation that ends within a second writes none.
func (w *progressWriter) loop() {
	var err error
	defer func() { w.done <- err }()

	for {
		select {
		case <-w.stop:
			return
		case <-w.stepped:
		case <-time.After(progressInterval):
		}

		select {
		case <-w.stop:
			return
		case <-w.dirty:
		}

		w.mu.Lock()
		current := w.current
		w.mu.Unlock()

		err = w.write(current)
	}
}
