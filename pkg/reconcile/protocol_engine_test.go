package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// absent is the content of a checkpoint without resources.
const absent = "absent"

// checkpoint is a version of the tenant's state. Version 0 is no object at all.
type checkpoint struct {
	etag    int
	fence   int64
	content string
	// whole is false while an operation is under way.
	whole bool
}

// deployed is the content of a checkpoint after an up.
func deployed(generation int, phase tenant.Phase, tier string, parameters tenant.Parameters) string {
	encoded, err := json.Marshal([]any{generation, phase, tier, parameters})
	if err != nil {
		panic(err)
	}

	return string(encoded)
}

// errPrecondition is S3's 412.
var errPrecondition = errors.New("the checkpoint has another ETag")

// put is a conditional write of the state, at the store.
func (f *fleet) put(fence int64, seen int, content string, whole bool) (checkpoint, error) {
	if f.state.etag != seen && !f.course.noIfMatch {
		return checkpoint{}, errPrecondition
	}

	f.requiref(fence >= f.state.fence, "a write of fence %d landed after one of fence %d", fence, f.state.fence)
	f.requiref(fence >= f.recorded, "a write of fence %d landed after fence %d recorded its result", fence, f.recorded)

	f.etags++
	f.state = checkpoint{etag: f.etags, fence: fence, content: content, whole: whole}

	return f.state, nil
}

// fate is how an operation goes.
type fate struct {
	failure *tenant.Failure
	// after is how many writes of state succeed before the failure.
	after int
	took  time.Duration
}

// gatewayEngine changes the state as the state gateway lets an operation do it:
// one GET, a fencing write unless the predecessor let go clean, conditional
// writes on the version seen last, and none after the lease's deadline.
type gatewayEngine struct{ worker *fleetWorker }

// Run performs an operation.
func (e *gatewayEngine) Run(ctx context.Context, _ int, op engine.Operation, watch engine.Watch) engine.Result {
	r := &operationRun{gatewayEngine: e, ctx: ctx, op: op, watch: watch, clean: op.CleanPredecessor}
	failure := r.work()

	return engine.Result{
		Failure: failure, Resources: 1, StackCreated: r.seen.etag > 0, Clean: r.clean, Outputs: endpoint(), Processes: 1,
	}
}

type operationRun struct {
	*gatewayEngine

	ctx   context.Context //nolint:containedctx // it is the operation
	op    engine.Operation
	watch engine.Watch
	seen  checkpoint
	clean bool
}

func failing(kind tenant.Kind, format string, args ...any) *tenant.Failure {
	return &tenant.Failure{Kind: kind, Message: fmt.Sprintf(format, args...)}
}

// work follows DESIGN 6.
func (r *operationRun) work() *tenant.Failure {
	if failure := r.get(); failure != nil {
		return failure
	}

	if !r.clean {
		if failure := r.fence(); failure != nil {
			return failure
		}
	}

	out, err := r.ask(callFate, func(context.Context) (any, error) { return r.worker.fleet.drawFate(r.op), nil })
	if err != nil {
		return r.stopped()
	}

	goes := out.(fate) //nolint:forcetypeassert // it is from above

	r.watch.Progress(engine.Progress{Step: r.op.Steps[0], Done: 1, Planned: 2})

	want := content(r.op)
	if !slices.Contains(r.op.Steps, plan.StepUp) && !slices.Contains(r.op.Steps, plan.StepDestroy) {
		// It only looks.
		return goes.failure
	}

	writes := []bool{false, true} // partial, whole

	if r.seen.whole && r.seen.content == want || r.seen.etag == 0 && want == absent {
		writes = nil
	}

	for i, whole := range writes {
		if goes.failure != nil && i == goes.after {
			return goes.failure
		}

		r.passes(goes.took)

		if failure := r.write(want, whole); failure != nil {
			return failure
		}
	}

	return goes.failure
}

// content is what the state holds after the operation.
func content(op engine.Operation) string {
	if !slices.Contains(op.Steps, plan.StepUp) {
		return absent
	}

	t := op.Topologies[len(op.Topologies)-1]

	return deployed(t.Generation, t.Phase, t.Tier, t.Parameters)
}

func (r *operationRun) ask(kind callKind, do func(context.Context) (any, error)) (any, error) {
	return r.worker.fleet.network.ask(r.ctx, r.worker, kind, do)
}

// passes lets the cloud take its time.
func (r *operationRun) passes(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()

	if r.worker.fleet.course.deaf {
		<-timer.C

		return
	}

	select {
	case <-timer.C:
	case <-r.ctx.Done():
	}
}

// get reads the checkpoint; one stamped with a higher fence ends the operation.
func (r *operationRun) get() *tenant.Failure {
	out, err := r.ask(callStateGet, func(context.Context) (any, error) { return r.worker.fleet.state, nil })
	if err != nil {
		return r.stopped()
	}

	r.seen = out.(checkpoint) //nolint:forcetypeassert // it is from above

	if r.seen.fence > r.op.Fence && !r.worker.fleet.course.noStamp {
		return failing(tenant.KindLeaseLost, "fence %d wrote the state", r.seen.fence)
	}

	return nil
}

// fence puts back what was read, so that no write of an older owner can land.
func (r *operationRun) fence() *tenant.Failure {
	if r.worker.fleet.course.skipFencingWrite {
		return nil
	}

	for {
		content, whole := r.seen.content, r.seen.whole
		if r.seen.etag == 0 {
			content, whole = absent, true
		}

		failure := r.write(content, whole)
		if failure == nil {
			r.clean = true

			return nil
		}

		if failure.Kind != tenant.KindConflict {
			return failure
		}
	}
}

// write makes one checkpoint write. After a 412 it has read again.
func (r *operationRun) write(content string, whole bool) *tenant.Failure {
	fleet := r.worker.fleet

	if !fleet.course.deaf && (r.ctx.Err() != nil || !r.worker.now().Before(r.watch.LeaseUntil())) {
		return r.stopped()
	}

	fence, seen := r.op.Fence, r.seen.etag

	out, err := r.ask(callStatePut, func(context.Context) (any, error) { return fleet.put(fence, seen, content, whole) })

	switch {
	case err == nil:
		r.seen = out.(checkpoint) //nolint:forcetypeassert // it is from above

		return nil
	case errors.Is(err, errPrecondition):
		if failure := r.get(); failure != nil {
			return failure
		}

		return failing(tenant.KindConflict, "somebody else wrote the state")
	default:
		// It may land yet.
		r.clean = false

		return r.stopped()
	}
}

// stopped is the failure of an operation whose call got no answer.
func (r *operationRun) stopped() *tenant.Failure {
	if errors.Is(context.Cause(r.ctx), engine.ErrInterrupt) {
		return failing(tenant.KindInterrupted, "the worker drains")
	}

	if r.ctx.Err() != nil || !r.worker.now().Before(r.watch.LeaseUntil()) {
		return failing(tenant.KindLeaseLost, "the lease is over")
	}

	return failing(tenant.KindTransient, "S3 did not answer")
}
