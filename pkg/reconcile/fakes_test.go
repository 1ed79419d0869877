package reconcile_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/lessor-dev/lessor/pkg/cutover"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// catalog has blueprints by tier; the tenant's parameters are all there are.
type catalog map[string]tenant.Blueprint

func (c catalog) Resolve(spec tenant.Spec) (tenant.Blueprint, error) {
	b, ok := c[spec.Tier]
	if !ok {
		return tenant.Blueprint{}, &tenant.InvalidError{Field: "tier", Message: "there is no such tier", Hint: "use another"}
	}

	b.Parameters = maps.Clone(spec.Parameters)

	return b, nil
}

// act is one operation as the engine performs it.
type act func(ctx context.Context, op engine.Operation, watch engine.Watch) engine.Result

// fakeEngine performs a script, and succeeds when it is over.
type fakeEngine struct {
	mu     sync.Mutex
	script []act
	ops    []engine.Operation
}

func (e *fakeEngine) Run(ctx context.Context, _ int, op engine.Operation, watch engine.Watch) engine.Result {
	e.mu.Lock()
	e.ops = append(e.ops, op)

	next := succeed
	if len(e.script) > 0 {
		next, e.script = e.script[0], e.script[1:]
	}
	e.mu.Unlock()

	return next(ctx, op, watch)
}

func (e *fakeEngine) will(script ...act) {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.script = script
}

func (e *fakeEngine) operations() []engine.Operation {
	e.mu.Lock()
	defer e.mu.Unlock()

	return slices.Clone(e.ops)
}

// steps are those of every operation so far.
func (e *fakeEngine) steps() [][]plan.Step {
	ops := e.operations()
	steps := make([][]plan.Step, 0, len(ops))

	for _, op := range ops {
		steps = append(steps, op.Steps)
	}

	return steps
}

func (e *fakeEngine) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()

	e.ops = nil
}

func endpoint() map[string]json.RawMessage {
	return map[string]json.RawMessage{"endpoint": json.RawMessage(`"https://acme.example.com"`)}
}

func succeed(context.Context, engine.Operation, engine.Watch) engine.Result { return good() }

func good() engine.Result {
	return engine.Result{
		Outputs: endpoint(), Resources: 3, Changes: map[string]int{"create": 3}, StackCreated: true, Clean: true, Processes: 1,
	}
}

// fail is an operation that made the stack and then failed.
func fail(kind tenant.Kind, text string) act {
	return func(context.Context, engine.Operation, engine.Watch) engine.Result {
		return engine.Result{
			Failure:   &tenant.Failure{Kind: kind, Message: text, Hint: "hint", Step: "up"},
			Resources: 1, StackCreated: true, Clean: true,
		}
	}
}

// during has something happen while an operation runs.
func during(happens func(), then act) act {
	return func(ctx context.Context, op engine.Operation, watch engine.Watch) engine.Result {
		happens()

		return then(ctx, op, watch)
	}
}

// reporting reports progress and succeeds.
func reporting(report func(progress func(engine.Progress))) act {
	return func(_ context.Context, _ engine.Operation, watch engine.Watch) engine.Result {
		report(watch.Progress)

		return good()
	}
}

// stop is how an operation was made to end.
type stop struct {
	started chan struct{}
	cause   error
}

func newStop() *stop { return &stop{started: make(chan struct{})} }

// until runs until its context ends, and then fails with kind.
func (s *stop) until(kind tenant.Kind, clean bool) act {
	return func(ctx context.Context, _ engine.Operation, _ engine.Watch) engine.Result {
		close(s.started)
		<-ctx.Done()

		s.cause = context.Cause(ctx)

		return engine.Result{
			Failure: &tenant.Failure{Kind: kind, Message: "stopped"}, Resources: 1, StackCreated: true, Clean: clean,
		}
	}
}

// fakeHook takes requests, or fails as it is told.
type fakeHook struct {
	mu       sync.Mutex
	requests []cutover.Request
	failure  error
	// asked is called with every request that was taken, if it is set.
	asked func(cutover.Request)
}

func (h *fakeHook) Ask(_ context.Context, _ tenant.Hook, request cutover.Request) error {
	h.mu.Lock()
	h.requests = append(h.requests, request)
	failure, asked := h.failure, h.asked
	h.mu.Unlock()

	if failure == nil && asked != nil {
		asked(request)
	}

	return failure
}

func (h *fakeHook) last() cutover.Request {
	h.mu.Lock()
	defer h.mu.Unlock()

	return h.requests[len(h.requests)-1]
}

// fakeSlots has a slot for everybody.
type fakeSlots struct {
	mu  sync.Mutex
	n   int
	err error
	// onTake is called while somebody waits for the slot.
	onTake func()
}

func (s *fakeSlots) Take(context.Context) (int, error) {
	if s.onTake != nil {
		s.onTake()
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if s.err != nil {
		return 0, s.err
	}

	s.n++

	return s.n, nil
}

func (s *fakeSlots) Give(int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.n--
}

func (s *fakeSlots) taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.n
}

type fakeGate struct {
	mu     sync.Mutex
	reason reconcile.Reason
}

func (g *fakeGate) Closed() reconcile.Reason {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.reason
}

func (g *fakeGate) set(reason reconcile.Reason) {
	g.mu.Lock()
	defer g.mu.Unlock()

	g.reason = reason
}

// fakePublisher keeps what reached the target.
type fakePublisher struct {
	mu     sync.Mutex
	err    error
	events []result.Event
}

func (p *fakePublisher) Publish(_ context.Context, e result.Event) error {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.err != nil {
		return p.err
	}

	p.events = append(p.events, e)

	return nil
}

func (p *fakePublisher) breaks(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.err = err
}

func (p *fakePublisher) published() []result.Event {
	p.mu.Lock()
	defer p.mu.Unlock()

	return slices.Clone(p.events)
}

func (p *fakePublisher) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.events = nil
}

// fakeObserver keeps what it was told.
type fakeObserver struct {
	mu        sync.Mutex
	takeovers []bool
	finished  []tenant.Outcome
	times     []phase.Times
	started   []string
	troubles  []string
	published []error
	lost      []error
	busy      int
}

func (o *fakeObserver) LeaseAcquired(_ tenant.ID, _ registry.Token, tookOver bool) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.takeovers = append(o.takeovers, tookOver)
}

func (o *fakeObserver) LeaseBusy() {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.busy++
}

func (o *fakeObserver) LeaseLost(_ tenant.ID, _ registry.Token, cause error) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.lost = append(o.lost, cause)
}

func (o *fakeObserver) Published(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.published = append(o.published, err)
}

func (o *fakeObserver) OperationStarted(op engine.Operation, _ int64, tier string) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.started = append(o.started, tier+" "+op.ID)
}

func (o *fakeObserver) OperationFinished(
	_ engine.Operation, _ string, outcome tenant.Outcome, _ engine.Result, times phase.Times,
) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.finished = append(o.finished, outcome)
	o.times = append(o.times, times)
}

func (*fakeObserver) HookAsked(tenant.ID, tenant.Change, error) {}

func (o *fakeObserver) Trouble(_ tenant.ID, doing string, _ error) {
	o.mu.Lock()
	defer o.mu.Unlock()

	o.troubles = append(o.troubles, doing)
}

// message is in hand, and may be somebody else's by now.
type message struct {
	id   string
	lost error
	// clock is made when it is first asked for.
	clock *phase.Clock
}

func (m *message) ID() string                   { return m.id }
func (m *message) Extend(context.Context) error { return m.lost }

func (m *message) Clock() *phase.Clock {
	if m.clock == nil {
		m.clock = phase.Start(phase.Receive, time.Now)
	}

	return m.clock
}
