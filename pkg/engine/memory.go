package engine

import (
	"fmt"
	"sync/atomic"
	"time"
)

// memoryWatch measures the memory of a session and tells when it is more than
// its budget. The measure is PSS: what processes share, above all their
// executables, is counted once for all of them.
//
// Reading PSS makes the kernel walk page tables, about 25 µs for each MiB;
// resident memory takes 10 µs for a process, whatever its size, and the list of
// processes 15 µs for every process of the container. So residents are read at
// every tick, the list mostly once a second, and PSS where it may have changed
// enough to matter. An operation that waits for its cloud costs a few
// milliseconds a second.
//
// Not counted are files in a tmpfs, which has to be bounded itself, and the
// kernel's own memory.
type memoryWatch struct {
	meter meter
	// budget is in bytes, 0 for none.
	budget int64
	// exceeded is closed when the session is over its budget.
	exceeded chan struct{}

	// seen are the processes as they were when PSS was last read.
	seen map[int]footprint
	pids []int
	// listed and weighed are when the processes were listed and PSS was read.
	listed, weighed time.Time
	patience        time.Duration
	peak            atomic.Int64
}

// meter reads the memory of processes, in bytes.
type meter interface {
	// list returns the session's processes.
	list() []int
	// resident is what a process has in memory, 0 if it is gone.
	resident(pid int) int64
	// proportional is the same, but with a fair part of what others share.
	proportional(pid int) int64
}

// footprint is the memory of one process.
type footprint struct{ resident, proportional int64 }

const (
	// memoryTick bounds how far an operation gets beyond its budget: one that
	// takes a gigabyte a second, by a quarter of it and memoryConfirm.
	memoryTick = 250 * time.Millisecond
	// memoryConfirm is when a reading over the budget is taken again: between
	// vfork and exec a process counts twice.
	memoryConfirm = 50 * time.Millisecond
	// memoryList bounds how long a new process is overlooked while the session
	// is far from its budget.
	memoryList = time.Second
	// memoryWeigh is when PSS is read although no process has grown: it grows
	// too when somebody else ends who shared.
	memoryWeigh = 5 * time.Second
	// memoryStep is the part of the peak by which it must be surpassed to be
	// measured again, as long as the budget is far.
	memoryStep = 16
	// memoryNear is the part of the budget that is left when new processes are
	// looked for at every tick.
	memoryNear = 4
	mebibyte   = 1 << 20
)

func newMemoryWatch(m meter, budget int64) *memoryWatch {
	return &memoryWatch{
		meter: m, budget: budget, exceeded: make(chan struct{}),
		seen: map[int]footprint{}, patience: memoryTick / 2, //nolint:mnd // The first list comes at once.
	}
}

// watch runs until stop is closed or the session is over its budget. It is no
// part of the supervisor's loop, since a read of /proc can take as long as the
// process it is about is stuck.
func (w *memoryWatch) watch(stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()

	var before bool

	for {
		select {
		case <-stop:
			return
		case now := <-timer.C:
			over := w.look(now, before)
			if over && before {
				close(w.exceeded)

				return
			}

			before = over

			if over {
				timer.Reset(memoryConfirm)
			} else {
				timer.Reset(memoryTick)
			}
		}
	}
}

// look takes one sample and reports whether it is over the budget. A sample is
// either thorough or as cheap as it can be.
func (w *memoryWatch) look(now time.Time, thorough bool) bool {
	bound := w.bound()

	if thorough || now.Sub(w.listed) >= w.patience || w.near(bound) {
		w.pids = w.meter.list()
		w.patience = min(2*w.patience, memoryList) //nolint:mnd // It doubles: most starts are early.
		w.listed = now
		bound = w.bound()
	}

	peak := w.peak.Load()
	if !thorough && now.Sub(w.weighed) < memoryWeigh && bound <= peak+peak/memoryStep && !w.over(bound) {
		return false
	}

	total := w.weigh()
	w.weighed = now
	w.peak.Store(max(peak, total))

	return w.over(total)
}

// bound is more than what the session's PSS can be: since it was read, that of
// no process has grown by more than its resident memory.
func (w *memoryWatch) bound() int64 {
	var total int64

	for _, pid := range w.pids {
		before := w.seen[pid]
		total += before.proportional + max(0, w.meter.resident(pid)-before.resident)
	}

	return total
}

// weigh reads the PSS of all processes.
func (w *memoryWatch) weigh() int64 {
	var total int64

	clear(w.seen)

	for _, pid := range w.pids {
		// In this order, so that what comes in between counts as growth.
		f := footprint{resident: w.meter.resident(pid)}
		f.proportional = w.meter.proportional(pid)
		w.seen[pid] = f
		total += f.proportional
	}

	return total
}

func (w *memoryWatch) over(memory int64) bool { return w.budget > 0 && memory > w.budget }

// near reports whether memory is so close to the budget that a process which
// nobody knows of yet matters.
func (w *memoryWatch) near(memory int64) bool {
	return w.budget > 0 && memory > w.budget/memoryNear*(memoryNear-1)
}

// verdict is the message of a failure for want of memory.
func (w *memoryWatch) verdict() string {
	// Both are rounded away from each other, or they could look the same.
	peak := (w.peak.Load() + mebibyte - 1) / mebibyte

	return fmt.Sprintf("the operation took %d MiB of memory with all its processes, more than the %d MiB that one may have",
		peak, w.budget/mebibyte)
}
