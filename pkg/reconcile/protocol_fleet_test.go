package reconcile_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/queue/queuetest"
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
