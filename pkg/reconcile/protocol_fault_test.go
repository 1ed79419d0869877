package reconcile_test

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// fault is what can go wrong with a call, or with who made it.
type fault string

// The faults.
const (
	// The worker dies before the call is performed, after, or has it land later.
	crashBefore fault = "crash before"
	crashAfter  fault = "crash after"
	crashLate   fault = "crash, lands late"
	// The answer is lost, the call is, or it lands when nobody waits any more.
	answerLost fault = "answer lost"
	callLost   fault = "call lost"
	landsLate  fault = "lands late"
	landsTwice fault = "lands twice"
	// The worker stands still before the call is performed, or after.
	freezeBefore fault = "freeze before"
	freezeAfter  fault = "freeze after"
	// The delete is confirmed, and the message comes back all the same.
	deleteForgotten fault = "delete forgotten"
	// A message becomes visible although somebody has it.
	redelivered fault = "redelivered"
	// The worker is told to end, and ends its operations.
	drained fault = "drained"
	// The worker's clock jumps ahead, so that it takes a living owner for dead.
	clockJump fault = "clock jumps"
)

func allFaults() []fault {
	return []fault{
		crashBefore, crashAfter, crashLate, answerLost, callLost, landsLate, landsTwice, freezeBefore, freezeAfter,
		deleteForgotten, redelivered, drained, clockJump,
	}
}

// fits is whether the fault can strike the call.
func (f fault) fits(k callKind) bool {
	switch f {
	case crashLate, landsLate, landsTwice:
		return k.writes()
	case deleteForgotten:
		return k == callDelete
	case callLost, answerLost:
		return k != callFate
	default:
		return true
	}
}

// strike decides whether a fault hits a call.
func (f *fleet) strike(number int, c *call) (fault, bool) {
	if f.course.strikes != nil {
		strike, ok := f.course.strikes[number]

		return strike, ok && strike.fits(c.kind)
	}

	p, strikes := 0.15, allFaults()

	switch {
	case c.kind.routine() && (c.kind != callGet || !f.course.sleepy):
		p = 0.03
	case c.kind == callGet && f.course.sleepy:
		p, strikes = 0.15, []fault{freezeBefore}
	case c.kind == callSettle && f.course.busy:
		p, strikes = 0.5, []fault{landsTwice, landsLate, answerLost, crashLate}
	case c.kind == callAcquire && f.course.holds:
		p, strikes = 0.4, []fault{landsLate, crashLate}
	case c.kind == callStatePut && f.course.slow:
		p, strikes = 0.4, []fault{crashLate, landsLate, landsTwice}
	case c.kind == callAccept && f.course.sleepy:
		p, strikes = 0.5, []fault{freezeBefore, freezeAfter}
	case f.course.sleepy:
		p, strikes = 0.1, []fault{crashBefore, crashAfter}
	}

	if f.calm || f.faults == 0 || !f.chance(p) {
		return "", false
	}

	f.faults--

	if f.chance(0.7) {
		f.worsen(c)
	}

	return pick(f, slices.DeleteFunc(strikes, func(strike fault) bool { return !strike.fits(c.kind) })), true
}

// worsen has something else happen at the moment of a fault.
func (f *fleet) worsen(c *call) {
	switch {
	case c.kind == callStatePut && f.course.slow:
		f.soon = true
	case c.kind == callAcquire && f.course.holds && f.row.Hold == "":
		f.hold(true)
	}
}

// hit has a fault happen to a call, or to its worker.
func (f *fleet) hit(c *call, strike fault) {
	switch strike {
	case crashBefore:
		f.crash(c.worker)
	case crashAfter:
		f.perform(c)
		f.crash(c.worker)
	case crashLate:
		f.network.lose(c)
		f.crash(c.worker)
	case answerLost:
		f.perform(c)
		f.network.reply(c, errAnswerLost)
	case callLost:
		f.network.reply(c, errAnswerLost)
	case landsLate:
		f.network.lose(c)
		f.network.reply(c, errAnswerLost)
	case landsTwice:
		f.network.lose(c)
		f.perform(c)
		f.network.reply(c, nil)
	case freezeBefore:
		f.freeze(c.worker)
	case freezeAfter:
		f.perform(c)
		f.freeze(c.worker)
	case deleteForgotten:
		f.network.reply(c, nil)
	case redelivered:
		f.redeliver()
	case drained:
		f.drain(c.worker)
	case clockJump:
		f.stolen = true
		f.network.mu.Lock()
		c.worker.skew += 10 * time.Minute
		f.network.mu.Unlock()
	}
}

// crash ends a process. Another takes its place.
func (f *fleet) crash(w *fleetWorker) {
	f.network.kill(w)
	f.hire()
}

// drain has a process end, and another take its place.
func (f *fleet) drain(w *fleetWorker) {
	w.gate.set(reconcile.ReasonDrain)
	w.interrupt(engine.ErrInterrupt)
	f.hire()
}

// freeze stops a process; somebody always goes on.
func (f *fleet) freeze(w *fleetWorker) {
	awake := 0

	for _, other := range f.workers {
		if !other.dead && !other.frozen && other.gate.Closed() == "" {
			awake++
		}
	}

	if awake > 1 {
		f.network.freeze(w, true)
		f.frozen[w] = time.Now().Add(pick(f, []time.Duration{5 * time.Second, time.Minute, 3 * time.Minute, 10 * time.Minute}))
	}
}

// thaw wakes up whoever stood still for long enough.
func (f *fleet) thaw(all bool) {
	for w, until := range f.frozen {
		if all || !time.Now().Before(until) {
			f.notef("%s wakes up", w.name)
			f.network.freeze(w, false)
			delete(f.frozen, w)

			if f.course.sleepy && len(f.unsent) > 0 {
				f.send()
			}
		}
	}
}

// redeliver makes a message visible although somebody has it.
func (f *fleet) redeliver() {
	ids := make([]string, 0, len(f.receipts))
	for id := range f.receipts {
		ids = append(ids, id)
	}

	if len(ids) == 0 {
		return
	}

	slices.Sort(ids)

	_, err := f.sqs.ChangeMessageVisibility(context.Background(), &sqs.ChangeMessageVisibilityInput{
		QueueUrl: aws.String(f.url), ReceiptHandle: aws.String(f.receipts[pick(f, ids)]),
	})
	f.notef("redelivery: %s", outcomeOf(err))
}

// hold is what a person does with enqueue hold and unhold.
func (f *fleet) hold(on bool) {
	if on {
		f.notef("held")
		f.requiref(f.reader.SetHold(context.Background(), acme, "audit") == nil, "hold")
	} else {
		if f.chance(0.5) {
			f.land()
		}

		f.notef("unheld")
		f.requiref(f.reader.ClearHold(context.Background(), acme) == nil, "unhold")
		f.post(event(0, tenant.EventNudged))
	}

	f.look(context.Background())
}
