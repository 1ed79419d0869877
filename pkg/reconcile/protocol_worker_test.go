package reconcile_test

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// fleetWorker is one process: a reconciler of its own over the shared stores,
// and the way of a message through it as in package worker.
type fleetWorker struct {
	fleet *fleet
	name  string

	ctx    context.Context //nolint:containedctx // it is the process
	cancel context.CancelFunc
	jobs   sync.WaitGroup

	// dead and frozen are written by the simulation, under the network's lock.
	dead, frozen bool
	// skew is how far this worker's clock jumped ahead.
	skew time.Duration
	gate *fakeGate
	// interrupt ends the operations of a worker that drains.
	interrupt context.CancelCauseFunc

	rows       *registry.Registry
	leases     *lease.Leases
	queue      *queue.Queue
	reconciler *reconcile.Reconciler

	mu      sync.Mutex
	tenures []*held
}

// held is a lease that a worker holds, as far as it knows.
type held struct {
	*lease.Lease

	message string
	// over is set when the worker sent the last write of its tenure.
	over bool
}

// handsPerWorker lets one process work on two messages of the tenant at once.
const handsPerWorker = 2

func (f *fleet) newWorker(name string) *fleetWorker {
	w := &fleetWorker{fleet: f, name: name, gate: &fakeGate{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())

	interrupted, interrupt := context.WithCancelCause(context.Background())
	w.interrupt = interrupt

	api := &tableClient{worker: w}
	w.rows = registry.New(api, registry.Config{Table: tableName}, nil)
	w.leases = lease.New(api, tableName, lease.Config{Duration: duration, Margin: margin}, lease.WithClock(w.now))
	w.queue = queue.New(&queueClient{API: f.sqs, worker: w}, queue.Config{URL: f.url, VisibilityTimeout: visibility})
	w.reconciler = &reconcile.Reconciler{
		Config: reconcile.Config{
			Project: "lessor", Buckets: []string{"shard-0"}, Build: "v1.2.3", OperationTimeout: time.Hour,
			Backoff: reconcile.Backoff{Min: backoff, Max: time.Minute},
		},
		Rows: w.rows, Ledger: w.rows, Leases: w, Catalog: f.catalog, Engine: &gatewayEngine{worker: w}, Slots: &fakeSlots{},
		Gate: w.gate, Publisher: f.results, Observer: &fakeObserver{}, Interrupt: interrupted,
	}

	for range handsPerWorker {
		w.jobs.Go(w.receive)
	}

	return w
}

func (w *fleetWorker) now() time.Time {
	w.fleet.network.mu.Lock()
	defer w.fleet.network.mu.Unlock()

	return time.Now().Add(w.skew)
}

// deafened is whether the worker does not notice that its time is up. The
// network's lock is held.
func (w *fleetWorker) deafened() bool { return !w.dead && (w.frozen || w.fleet.course.deaf) }

// Acquire notes the lease, for the check that no two are held at once.
func (w *fleetWorker) Acquire(ctx context.Context, rec tenant.Record, messageID string) (*lease.Lease, error) {
	l, err := w.leases.Acquire(ctx, rec, messageID)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()

		w.tenures = append(w.tenures, &held{Lease: l, message: messageID})
	}

	return l, err
}

// Stale is the worker's own judgement.
func (w *fleetWorker) Stale(rec tenant.Record) bool { return w.leases.Stale(rec) }

// tenure is the one of a lease owner, nil if it is not this worker's.
func (w *fleetWorker) tenure(owner string) *held {
	w.mu.Lock()
	defer w.mu.Unlock()

	for _, h := range w.tenures {
		if h.Token().Owner == owner {
			return h
		}
	}

	return nil
}

// end forgets the leases that a message was worked on under.
func (w *fleetWorker) end(messageID string) {
	w.mu.Lock()
	defer w.mu.Unlock()

	for _, h := range w.tenures {
		h.over = h.over || h.message == messageID
	}
}

func (w *fleetWorker) receive() {
	const retry = 5 * time.Second

	for w.ctx.Err() == nil && w.gate.Closed() == "" {
		messages, err := w.queue.Receive(w.ctx, 1)
		if err != nil {
			w.rest(retry)

			continue
		}

		for _, m := range messages {
			if w.gate.Closed() != "" {
				w.queue.Delay(w.ctx, m, 0)

				continue
			}

			w.handle(m)
		}
	}
}

func (w *fleetWorker) rest(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-timer.C:
	case <-w.ctx.Done():
	}
}

// inHand is a message as the reconciler sees it.
type inHand struct {
	queue.Message

	worker    *fleetWorker
	heartbeat *queue.Heartbeat
	clock     *phase.Clock
}

func (m *inHand) ID() string                       { return m.Message.ID }
func (m *inHand) Clock() *phase.Clock              { return m.clock }
func (m *inHand) Extend(ctx context.Context) error { return m.worker.queue.Extend(ctx, m.Message) }

const troubleDelay = 15 * time.Second

// handle accepts, settles and ends a message, as worker.held does.
func (w *fleetWorker) handle(m queue.Message) {
	h := &inHand{Message: m, worker: w, clock: phase.Start(phase.Receive, time.Now)}
	h.heartbeat = w.queue.Keep(w.ctx, m, func(error) {})

	defer h.heartbeat.Stop()
	defer w.end(m.ID)

	rec, _, err := w.rows.Accept(w.ctx, w.fleet.event(string(m.Body)))
	if err != nil {
		h.giveBack(troubleDelay)

		return
	}

	for {
		outcome, err := w.reconciler.Settle(w.ctx, h, rec)
		w.end(m.ID)

		if err != nil {
			h.giveBack(troubleDelay)

			return
		}

		switch outcome.Action {
		case reconcile.ActionDelete:
			h.heartbeat.Stop()
			w.queue.Delete(w.ctx, m)

			return
		case reconcile.ActionDelay:
			h.giveBack(outcome.Delay)

			return
		case reconcile.ActionDrop:
			return
		case reconcile.ActionWatch:
		}

		next, ok := h.watch(rec)
		if !ok {
			h.giveBack(troubleDelay)

			return
		}

		rec = next
	}
}

func (m *inHand) giveBack(d time.Duration) {
	m.heartbeat.Stop()
	m.worker.queue.Delay(m.worker.ctx, m.Message, d)
}

// watch waits until the lease of another worker is let go or dead.
func (m *inHand) watch(rec tenant.Record) (tenant.Record, bool) {
	const looksPerLease = 4

	for {
		m.worker.rest(duration / looksPerLease)

		next, err := m.worker.rows.Get(m.worker.ctx, rec.ID)
		if err != nil {
			return rec, false
		}

		if next.Lease.Owner == "" || next.Fence != rec.Fence || m.worker.leases.Stale(next) {
			return next, true
		}
	}
}

// tableClient is a worker's way to the table.
type tableClient struct {
	registry.API

	worker *fleetWorker
}

func (c *tableClient) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	out, err := c.worker.fleet.network.ask(ctx, c.worker, callGet, func(ctx context.Context) (any, error) {
		return c.worker.fleet.table.GetItem(ctx, in)
	})
	if err != nil {
		return nil, err
	}

	return out.(*dynamodb.GetItemOutput), nil //nolint:forcetypeassert // it is from above
}

func (c *tableClient) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	kind := updateKind(aws.ToString(in.UpdateExpression))

	out, err := c.worker.fleet.network.ask(ctx, c.worker, kind, func(ctx context.Context) (any, error) {
		return c.worker.fleet.update(ctx, c.worker, kind, in)
	})
	if err != nil {
		return nil, err
	}

	return out.(*dynamodb.UpdateItemOutput), nil //nolint:forcetypeassert // it is from above
}

func updateKind(expression string) callKind {
	for _, k := range []struct {
		part string
		kind callKind
	}{
		{"desired = ", callAccept},
		{"lease_owner = ", callAcquire},
		{"last_outcome = ", callSettle},
		{"fence = :next", callRaise},
		{"REMOVE lease_owner", callRelease},
		{"rvn = ", callRenew},
		{"stack = ", callBegin},
		{"progress = ", callProgress},
		{"result_pending", callNoted},
	} {
		if strings.Contains(expression, k.part) {
			return k.kind
		}
	}

	panic("what does this write? " + expression)
}

// queueClient is a worker's way to the queue.
type queueClient struct {
	queue.API

	worker *fleetWorker
}

func (c *queueClient) ReceiveMessage(
	ctx context.Context, in *sqs.ReceiveMessageInput, _ ...func(*sqs.Options),
) (*sqs.ReceiveMessageOutput, error) {
	out, err := c.worker.fleet.network.ask(ctx, c.worker, callReceive, func(ctx context.Context) (any, error) {
		return c.worker.fleet.receive(ctx, in)
	})
	if err != nil {
		return nil, err
	}

	return out.(*sqs.ReceiveMessageOutput), nil //nolint:forcetypeassert // it is from above
}

func (c *queueClient) ChangeMessageVisibility(
	ctx context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	_, err := c.worker.fleet.network.ask(ctx, c.worker, callExtend, func(ctx context.Context) (any, error) {
		return c.worker.fleet.sqs.ChangeMessageVisibility(ctx, in)
	})
	if err != nil {
		return nil, err
	}

	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

func (c *queueClient) DeleteMessage(
	ctx context.Context, in *sqs.DeleteMessageInput, _ ...func(*sqs.Options),
) (*sqs.DeleteMessageOutput, error) {
	_, err := c.worker.fleet.network.ask(ctx, c.worker, callDelete, func(ctx context.Context) (any, error) {
		return c.worker.fleet.remove(ctx, in)
	})
	if err != nil {
		return nil, err
	}

	return &sqs.DeleteMessageOutput{}, nil
}
