package reconcile_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/aws/smithy-go"
)

// The answers of a network that breaks.
var (
	errAnswerLost = errors.New("the connection broke before the answer came")
	errCrashed    = errors.New("this process is dead")
)

// callKind says what a call does, for traces and for where faults strike.
type callKind string

// The calls that workers make. Writes may land late or twice.
const (
	callGet      callKind = "get"
	callAccept   callKind = "accept"
	callAcquire  callKind = "acquire"
	callRaise    callKind = "raise the fence"
	callRenew    callKind = "renew"
	callBegin    callKind = "begin"
	callProgress callKind = "progress"
	callSettle   callKind = "settle"
	callRelease  callKind = "release"
	callNoted    callKind = "published"
	callReceive  callKind = "receive"
	callExtend   callKind = "visibility"
	callDelete   callKind = "delete"
	callStateGet callKind = "GET state"
	callStatePut callKind = "PUT state"
	callFate     callKind = "fate"
)

// writes is whether a copy of the call may land after its sender gave it up.
// A copy of a change of visibility at worst delivers a message again.
func (k callKind) writes() bool {
	return !slices.Contains([]callKind{callGet, callReceive, callStateGet, callFate}, k)
}

// routine calls are many, so faults strike each of them more rarely.
func (k callKind) routine() bool {
	return slices.Contains([]callKind{callGet, callRenew, callProgress, callReceive, callExtend, callFate}, k)
}

// call is one request that a worker waits for.
type call struct {
	worker *fleetWorker
	kind   callKind
	do     func(context.Context) (any, error)
	answer chan struct{}

	// done says that the store has performed it and that only the answer is
	// still on its way.
	done bool
	out  any
	err  error
}

// network carries the calls of all workers. It delivers nothing by itself: the
// simulation decides when, in which order, and whether at all.
type network struct {
	mu      sync.Mutex
	pending []*call
	// stray are calls that nobody waits for any more and that may yet land.
	stray   []*call
	arrived chan struct{}
}

func newNetwork() *network { return &network{arrived: make(chan struct{}, 1)} }

// ask sends a call and waits for its answer. do runs at the store.
func (n *network) ask(ctx context.Context, w *fleetWorker, kind callKind, do func(context.Context) (any, error)) (any, error) {
	c := &call{worker: w, kind: kind, do: do, answer: make(chan struct{})}

	n.mu.Lock()

	if w.dead {
		n.mu.Unlock()

		return nil, errCrashed
	}

	n.pending = append(n.pending, c)
	n.mu.Unlock()

	select {
	case n.arrived <- struct{}{}:
	default:
	}

	select {
	case <-c.answer:
		return c.out, c.err
	case <-ctx.Done():
	}

	return n.giveUp(ctx, c)
}

// giveUp leaves a call to itself. Who is frozen does not notice that its time is
// up, and goes on with the answer when it wakes up.
func (n *network) giveUp(ctx context.Context, c *call) (any, error) {
	n.mu.Lock()

	if c.worker.deafened() {
		n.mu.Unlock()
		<-c.answer

		return c.out, c.err
	}

	if i := slices.Index(n.pending, c); i >= 0 {
		n.pending = slices.Delete(n.pending, i, i+1)

		if !c.done && c.kind.writes() {
			n.stray = append(n.stray, c)
		}
	}
	n.mu.Unlock()

	select {
	case <-c.answer:
		return c.out, c.err
	default:
		return nil, &smithy.CanceledError{Err: context.Cause(ctx)}
	}
}

// deliver has the store perform a call. The answer is not yet sent.
func (*network) deliver(c *call) {
	c.out, c.err = c.do(context.Background())
	c.done = true
}

// reply ends a call with what the store said, or with an error in its place.
func (n *network) reply(c *call, broken error) {
	n.mu.Lock()
	defer n.mu.Unlock()

	i := slices.Index(n.pending, c)
	if i < 0 {
		return
	}

	n.pending = slices.Delete(n.pending, i, i+1)

	if broken != nil {
		c.out, c.err = nil, broken
	}

	close(c.answer)
}

// lose makes a copy of the call stray.
func (n *network) lose(c *call) {
	n.mu.Lock()
	defer n.mu.Unlock()

	n.stray = append(n.stray, &call{worker: c.worker, kind: c.kind, do: c.do})
}

// takeStray takes one stray call off the network, nil if there is none.
func (n *network) takeStray(pick func(int) int) *call {
	n.mu.Lock()
	defer n.mu.Unlock()

	if len(n.stray) == 0 {
		return nil
	}

	i := pick(len(n.stray))
	c := n.stray[i]
	n.stray = slices.Delete(n.stray, i, i+1)

	return c
}

// open are the calls of workers that run, in the order in which they came.
func (n *network) open() []*call {
	n.mu.Lock()
	defer n.mu.Unlock()

	return slices.DeleteFunc(slices.Clone(n.pending), func(c *call) bool { return c.worker.frozen })
}

// of are the calls that a worker waits for.
func (n *network) of(w *fleetWorker) []*call {
	n.mu.Lock()
	defer n.mu.Unlock()

	return slices.DeleteFunc(slices.Clone(n.pending), func(c *call) bool { return c.worker != w })
}

// kill cuts off a worker for ever.
func (n *network) kill(w *fleetWorker) {
	n.mu.Lock()
	w.dead = true
	n.mu.Unlock()

	for _, c := range n.of(w) {
		n.reply(c, errCrashed)
	}

	w.cancel()
}

// freeze stops a worker, or lets it go on.
func (n *network) freeze(w *fleetWorker, frozen bool) {
	n.mu.Lock()
	defer n.mu.Unlock()

	w.frozen = frozen
}

// wait lets time pass until somebody calls, at most d.
func (n *network) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-n.arrived:
	case <-timer.C:
	}
}
