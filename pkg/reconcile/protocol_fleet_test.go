package reconcile_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/queue/queuetest"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const visibility = 2 * time.Minute

// course is what happens to a fleet: a seed decides what it leaves open.
type course struct {
	seed    uint64
	workers int
	events  []tenant.Event
	// faults is how many there may be at most, at random places.
	faults int
	// strikes are faults at given calls, counted from 0. Then everything else
	// takes its straight way.
	strikes map[int]fault
	// apart is how many calls are between two events then.
	apart int
	// deaf has nobody notice that a lease or a context is over.
	deaf bool
	// busy has the tenant change at the worst moment: while its settling is
	// recorded.
	busy bool
	// slow has many writes of state land when nobody waits for them any more.
	slow bool
	// sleepy has workers stand still with a message in hand until others have
	// done its work, wake up as the next event comes, and die.
	sleepy bool
	// holds has people hold the tenant and let it go on.
	holds bool

	// What is broken on purpose, to see that the check can fail.
	noIfMatch, noStamp, skipFencingWrite bool
}

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

// fleet is a few workers over one table, one queue and one tenant's state.
type fleet struct {
	course  course
	random  *rand.Rand
	network *network
	table   *registrytest.Table
	sqs     *queuetest.Fake
	url     string
	catalog catalog
	results *fakePublisher

	workers []*fleetWorker
	born    int
	unsent  []tenant.Event
	sent    []tenant.Event
	// receipts are the newest of each message.
	receipts map[string]string
	frozen   map[*fleetWorker]time.Time

	reader *registry.Registry
	row    tenant.Record
	fences map[int64]string
	state  checkpoint
	etags  int
	// recorded is the highest fence that recorded a result.
	recorded int64

	calls  int
	faults int
	// stolen is whether a living owner may have lost its lease.
	stolen bool
	// soon is whether the next event comes once the lease is free.
	soon    bool
	calm    bool
	trace   []string
	failure string
}

func newFleet(c course) *fleet {
	f := &fleet{
		course: c, random: rand.New(rand.NewPCG(c.seed, c.seed)), network: newNetwork(), table: registrytest.New(tableName),
		sqs: queuetest.New(), results: &fakePublisher{}, receipts: map[string]string{}, frozen: map[*fleetWorker]time.Time{},
		fences: map[int64]string{}, faults: c.faults, unsent: slices.Clone(c.events),
		catalog: catalog{
			"silo": {Program: "silo", OnCreate: tenant.PolicyRollback, OnUpdate: tenant.PolicyRevert, MaxAttempts: attempts},
			"keep": {Program: "silo", OnCreate: tenant.PolicyKeep, OnUpdate: tenant.PolicyKeep, MaxAttempts: attempts},
		},
	}
	f.url = f.sqs.CreateQueue("events", queuetest.Attributes{})
	f.reader = registry.New(f.table, registry.Config{Table: tableName}, nil)
	f.look(context.Background())

	for range c.workers {
		f.hire()
	}

	return f
}

func (f *fleet) hire() {
	f.born++
	f.workers = append(f.workers, f.newWorker("w"+strconv.Itoa(f.born)))
}

func (f *fleet) notef(format string, args ...any) {
	f.trace = append(f.trace, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

// requiref notes the first promise that is broken.
func (f *fleet) requiref(holds bool, format string, args ...any) {
	if holds || f.failure != "" {
		return
	}

	f.failure = fmt.Sprintf(format, args...)
	f.notef("BROKEN: %s", f.failure)
}

// report tells what happened before a promise was broken.
func (f *fleet) report() string {
	const last = 400

	return fmt.Sprintf("%s\ncourse: %+v\n%s", f.failure, f.course, strings.Join(f.trace[max(0, len(f.trace)-last):], "\n"))
}

func (f *fleet) chance(p float64) bool { return f.random.Float64() < p }

func pick[T any](f *fleet, from []T) T { return from[f.random.IntN(len(from))] }

// look reads the row behind the back of the network.
func (f *fleet) look(ctx context.Context) {
	rec, err := f.reader.Get(ctx, acme)
	f.requiref(err == nil, "the row cannot be read: %v", err)
	f.row = rec
}

// update is a write of the row, at the table.
func (f *fleet) update(ctx context.Context, w *fleetWorker, kind callKind, in *dynamodb.UpdateItemInput) (any, error) {
	before := f.row

	out, err := f.table.UpdateItem(ctx, in)
	if err != nil {
		return nil, err
	}

	f.look(ctx)
	after := f.row

	f.requiref(after.DesiredSeq >= before.DesiredSeq, "desired_seq went back from %d to %d", before.DesiredSeq, after.DesiredSeq)
	f.requiref(after.AppliedSeq >= before.AppliedSeq, "applied_seq went back from %d to %d", before.AppliedSeq, after.AppliedSeq)
	f.requiref(after.FailedSeq >= before.FailedSeq, "failed_seq went back from %d to %d", before.FailedSeq, after.FailedSeq)
	f.requiref(after.Fence >= before.Fence, "the fence went back from %d to %d", before.Fence, after.Fence)
	f.requiref(kind != callSettle || before.Lease.Owner != "", "%s recorded without a lease", w.name)

	// Who gives up before it reached the state says nothing of its content.
	if after.AppliedSeq != before.AppliedSeq || after.FailedSeq != before.FailedSeq && after.CleanFence == after.Fence {
		f.recorded = after.Fence
	}

	if owner := after.Lease.Owner; owner != "" && owner != before.Lease.Owner {
		f.requiref(f.fences[after.Fence] == "", "fence %d was granted twice", after.Fence)
		f.fences[after.Fence] = owner
	}

	if before.Lease.Owner != after.Lease.Owner {
		for _, other := range f.workers {
			if h := other.tenure(before.Lease.Owner); h != nil && other == w {
				h.over = true
			}
		}
	}

	return out, nil
}

// receive hands out a message, at the queue.
func (f *fleet) receive(ctx context.Context, in *sqs.ReceiveMessageInput) (any, error) {
	out, err := f.sqs.ReceiveMessage(ctx, in)
	if err != nil {
		return nil, err
	}

	for _, m := range out.Messages {
		f.receipts[aws.ToString(m.MessageId)] = aws.ToString(m.ReceiptHandle)
	}

	return out, nil
}

// remove deletes a message, at the queue.
func (f *fleet) remove(ctx context.Context, in *sqs.DeleteMessageInput) (any, error) {
	before := f.sqs.Bodies(f.url)

	out, err := f.sqs.DeleteMessage(ctx, in)
	if err != nil {
		return nil, err
	}

	after := f.sqs.Bodies(f.url)
	if len(before) == len(after) {
		f.notef("the receipt is old: nothing is deleted")

		return out, nil
	}

	for i, body := range before {
		if i < len(after) && after[i] == body {
			continue
		}

		_, changes := tenant.Apply(f.row.Desired, f.event(body))
		f.requiref(!changes, "a message was deleted whose event is not in the row")

		break
	}

	f.requiref(!f.unsettled() || len(after) > 0 || f.live() || f.course.holds,
		"the last message was deleted although the row needs work and nobody is at it")

	return out, nil
}

// unsettled is whether a change was neither applied nor given up on, by the
// sequences alone.
func (f *fleet) unsettled() bool { return f.row.DesiredSeq != max(f.row.AppliedSeq, f.row.FailedSeq) }

// live is whether somebody who runs holds the lease and knows it.
func (f *fleet) live() bool {
	return slices.ContainsFunc(f.workers, func(w *fleetWorker) bool {
		h := w.tenure(f.row.Lease.Owner)

		return h != nil && !h.over && !w.dead && !w.frozen
	})
}

// check is what holds at every moment.
func (f *fleet) check() {
	var holders []string

	for _, w := range f.workers {
		for _, h := range w.tenures {
			if !w.dead && !h.over && w.now().Before(h.Deadline()) {
				holders = append(holders, fmt.Sprintf("%s (fence %d)", w.name, h.Token().Fence))
			}
		}
	}

	f.requiref(len(holders) <= 1 || f.stolen, "more than one believes to hold the lease: %v", holders)

	if f.row.Lease.Owner == "" && f.row.Applied != nil && f.row.AppliedSeq == f.row.DesiredSeq {
		f.requiref(f.matches(*f.row.Applied), "the row says %v is applied and the state is %+v", f.row.Applied.Spec, f.state)
	}
}

// matches is whether the state is what was applied.
func (f *fleet) matches(a tenant.Applied) bool {
	if a.Spec.Phase == tenant.PhaseAbsent {
		return f.state.etag == 0 || f.state.whole && f.state.content == absent
	}

	return f.state.whole && f.state.content == deployed(a.Generation, a.Spec.Phase, a.Spec.Tier, a.Spec.Parameters)
}

// drawFate decides how an operation goes.
func (f *fleet) drawFate(op engine.Operation) fate {
	if f.row.Fence == op.Fence && f.row.Lease.Owner != "" {
		f.requiref(!time.Now().Before(f.row.NotBefore), "an operation starts before its backoff is over")
	}

	goes := fate{took: pick(f, []time.Duration{0, time.Second, 15 * time.Second, 45 * time.Second}), after: f.random.IntN(3)}
	if f.calm || f.course.strikes != nil {
		goes.took = time.Second

		return goes
	}

	switch n := f.random.IntN(10); {
	case n < 2:
		goes.failure = failing(tenant.KindTransient, "the cloud hiccups")
	case n == 2, n < 6 && f.course.busy:
		goes.failure = failing(tenant.KindInvalid, "the cloud refuses")
	case n == 3:
		goes.failure = failing(tenant.KindLocked, "somebody has the lock")
	}

	return goes
}

// send puts the next event on the queue, at times twice.
func (f *fleet) send() {
	e := f.unsent[0]
	f.unsent = f.unsent[1:]
	f.sent = append(f.sent, e)

	f.post(e)

	if f.course.strikes == nil && f.chance(0.15) {
		f.post(e)
	}
}

func (f *fleet) post(e tenant.Event) {
	out, err := f.sqs.SendMessage(context.Background(), &sqs.SendMessageInput{
		QueueUrl: aws.String(f.url), MessageBody: aws.String(e.ID),
	})
	f.requiref(err == nil, "sending an event: %v", err)
	f.notef("sent %s %s as %s", e.ID, e.Type, short(aws.ToString(out.MessageId)))
}

// event is what a message carries.
func (f *fleet) event(id string) tenant.Event {
	i := slices.IndexFunc(f.course.events, func(e tenant.Event) bool { return e.ID == id })
	if i < 0 {
		return event(0, tenant.EventNudged)
	}

	return f.course.events[i]
}

func short(id string) string { return id[:min(4, len(id))] }

// acceptNext has another worker accept the next event, whose message waits.
func (f *fleet) acceptNext() {
	e := f.unsent[0]
	f.send()

	_, _, err := f.reader.Accept(context.Background(), e)
	f.requiref(err == nil, "accepting an event: %v", err)
	f.notef("accepted %s", e.ID)
	f.look(context.Background())
}

// visible is how many messages can be received.
func (f *fleet) visible() int {
	name := types.QueueAttributeNameApproximateNumberOfMessages

	out, err := f.sqs.GetQueueAttributes(context.Background(), &sqs.GetQueueAttributesInput{
		QueueUrl: aws.String(f.url), AttributeNames: []types.QueueAttributeName{name},
	})
	f.requiref(err == nil, "counting messages: %v", err)

	n, err := strconv.Atoi(out.Attributes[string(name)])
	f.requiref(err == nil, "counting messages: %v", err)

	return n
}

// ready are the calls that can go on now. A poll of an empty queue waits.
func (f *fleet) ready() []*call {
	open := f.network.open()
	if f.visible() > 0 {
		return open
	}

	return slices.DeleteFunc(open, func(c *call) bool { return c.kind == callReceive && !c.done })
}

// step lets one thing happen.
func (f *fleet) step() {
	synctest.Wait()
	f.check()
	f.thaw(false)

	straight := f.course.strikes != nil || f.calm

	switch {
	case len(f.unsent) == 0:
	case f.soon && f.row.Lease.Owner == "":
		f.soon = false
		f.acceptNext()
	case f.due(straight):
		f.send()
	}

	if f.course.holds && !f.calm && f.row.Exists() && f.chance(0.02) {
		f.hold(f.row.Hold == "")
	}

	ready := f.ready()

	switch {
	case len(ready) == 0 && f.chance(0.5):
		f.land()
		f.network.wait(10 * time.Second)
	case len(ready) == 0:
		f.network.wait(10 * time.Second)
	case straight:
		f.progress(ready[0])
	case f.chance(f.landing()):
		f.land()
	case f.chance(0.06):
		time.Sleep(pick(f, []time.Duration{10 * time.Millisecond, time.Second, 6 * time.Second, 20 * time.Second}))
	default:
		f.progress(pick(f, ready))
	}
}

// due is whether the next event is sent.
func (f *fleet) due(straight bool) bool {
	if f.course.strikes != nil {
		return f.calls >= len(f.sent)*f.course.apart
	}

	// These have the later events come at the worst moment.
	if !f.calm && len(f.sent) > 0 {
		switch {
		case f.course.busy || f.course.sleepy:
			return f.chance(0.002)
		case f.course.slow:
			return f.chance(0.01)
		}
	}

	return straight || f.chance(0.03)
}

// landing is how likely it is that a stray call lands now.
func (f *fleet) landing() float64 {
	if f.course.slow {
		return 0.01
	}

	return 0.04
}

// land has a stray call land, or vanish.
func (f *fleet) land() {
	c := f.network.takeStray(f.random.IntN)
	if c == nil {
		return
	}

	if f.course.strikes == nil && f.chance(0.2) {
		f.notef("a stray %s of %s vanishes", c.kind, c.worker.name)

		return
	}

	_, err := c.do(context.Background())
	f.notef("a stray %s of %s lands: %v", c.kind, c.worker.name, outcomeOf(err))
}

// progress moves a call on by a step: to the store, and then back.
func (f *fleet) progress(c *call) {
	if c.done {
		f.network.reply(c, nil)

		return
	}

	number := f.calls
	f.calls++

	if c.kind == callSettle && len(f.unsent) > 0 && f.course.busy && f.chance(0.9) {
		f.acceptNext()
	}

	if strike, ok := f.strike(number, c); ok {
		f.notef("%s %s: %s", c.worker.name, c.kind, strike)
		f.hit(c, strike)

		return
	}

	f.perform(c)

	if f.course.strikes != nil || f.calm || f.chance(0.7) {
		f.network.reply(c, nil)
	}
}

func (f *fleet) perform(c *call) {
	f.network.deliver(c)
	f.notef("%s %s: %s", c.worker.name, c.kind, outcomeOf(c.err))
}

func outcomeOf(err error) string {
	if err == nil {
		return "ok"
	}

	return err.Error()
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

// run goes through the course, and then lets the fleet come to rest.
func (f *fleet) run() {
	const (
		chaosSteps = 600
		calmSteps  = 20000
	)

	for range chaosSteps {
		f.step()

		if f.failure != "" || f.resting() {
			break
		}
	}

	f.calm = true
	f.thaw(true)

	if f.row.Hold != "" {
		f.hold(false)
	}

	for range calmSteps {
		if f.failure != "" || f.resting() {
			break
		}

		f.step()
	}

	f.final()
}

// resting is whether nothing can happen any more.
func (f *fleet) resting() bool {
	synctest.Wait()

	busy := slices.ContainsFunc(f.network.open(), func(c *call) bool { return c.kind != callReceive || c.done })

	return !busy && len(f.unsent) == 0 && len(f.frozen) == 0 && len(f.network.stray) == 0 && len(f.sqs.Bodies(f.url)) == 0
}

// final is what holds in the end: nothing was lost.
func (f *fleet) final() {
	f.requiref(f.resting(), "the fleet does not come to rest: %d messages, row %+v", len(f.sqs.Bodies(f.url)), f.row)

	want := tenant.Desired{}
	for _, e := range f.sent {
		want, _ = tenant.Apply(want, e)
	}

	f.requiref(fmt.Sprint(want.Spec()) == fmt.Sprint(f.row.Desired.Spec()), "a change was lost: want %v, the row has %v", want.Spec(), f.row.Desired.Spec())
	f.requiref(!f.unsettled(), "work was lost: %+v", f.row)
	f.requiref(f.row.Lease.Owner == "", "a lease is left: %+v", f.row.Lease)
	f.requiref(f.row.Unpublished == "", "a result was not published: %s", f.row.Unpublished)
	f.check()

	if f.row.FailedSeq > f.row.AppliedSeq {
		f.afterFailure()
	}
}

// afterFailure is what the tier's policy leaves of a tenant that was given up on.
func (f *fleet) afterFailure() {
	switch {
	case f.row.Desired.Tier.Value != "silo" || f.row.Desired.Spec().Phase == tenant.PhaseAbsent:
	case f.row.Applied == nil || f.row.Applied.Spec.Phase == tenant.PhaseAbsent:
		f.requiref(f.matches(tenant.Applied{Spec: tenant.Spec{Phase: tenant.PhaseAbsent}}),
			"a first provision that failed was not rolled back: %+v", f.state)
	default:
		f.requiref(f.matches(*f.row.Applied), "an update that failed was not reverted: %+v", f.state)
	}
}

// end lets every goroutine of the fleet end.
func (f *fleet) end() {
	f.thaw(true)

	for _, w := range f.workers {
		f.network.kill(w)
	}

	for _, w := range f.workers {
		w.jobs.Wait()
	}
}
