package reconcile

import (
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// ended is an operation that has ended and is not told of yet: the time of its
// record belongs to it.
type ended struct {
	op      engine.Operation
	tier    string
	outcome tenant.Outcome
	result  engine.Result
}

// tell tells of the operation that has ended last, with the time since the one
// before or since the message was received.
func (t *tenure) tell() {
	if t.ended == nil {
		return
	}

	t.Observer.OperationFinished(t.ended.op, t.ended.tier, t.ended.outcome, t.ended.result, t.clock.Take())
	t.ended = nil
}

// during gives the time that do takes to a phase.
func (t *tenure) during(p phase.Phase, do func() error) error {
	t.clock.Enter(p)
	defer t.clock.Enter(phase.Other)

	return do()
}

// publish tells the outside of the last outcome, if it was not told of.
func (t *tenure) publish(rec tenant.Record) error {
	return t.during(phase.Publish, func() error { return t.publishPending(t.ctx, rec) })
}
