package engine

import (
	"context"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/engine/stategate"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// job is one operation inside its child process.
type job struct {
	order    order
	programs Programs
	command  *command
	notify   func(Progress)
	phases   *phases

	state state
	// gate is the state, unless that is the plain backend.
	gate      *stategate.Gate
	workspace auto.Workspace
	stack     auto.Stack
	result    Result
	// known are the resources of the state as the operation found it.
	known []checkpoint.Resource
	// previewed is what the step before found, if that was a preview.
	previewed *collector
	// fault is the error of the program in the last call of the CLI.
	fault error
	// replayed are the generations of topologies that are declared from the state
	// and not by their programs, declared is what of them.
	replayed map[int]bool
	declared []declaration
	// diagnostics are the errors of the steps that failed.
	diagnostics []diagnostic
	// unproven is set if it is not certain that a tenant that was to go is gone.
	unproven bool
	// resources is how many the state holds as far as this job knows.
	resources int
}

const (
	// noColor keeps escape sequences out of messages.
	noColor = "never"
	// userAgent tells in the stack's history who made an update.
	userAgent = "lessor"
	// unknownResources stands in Result.Resources where nobody counted.
	unknownResources = -1
)

// call is one step as it is given to the CLI.
type call struct {
	step plan.Step
	// refresh makes the CLI refresh first, in the same process.
	refresh bool
}

// calls joins a refresh with the step after it where the CLI can do both.
func calls(steps []plan.Step) []call {
	var joined []call

	for i := 0; i < len(steps); i++ {
		next := call{step: steps[i]}

		if steps[i] == plan.StepRefresh && i+1 < len(steps) && refreshesItself(steps[i+1]) {
			i++
			next = call{step: steps[i], refresh: true}
		}

		joined = append(joined, next)
	}

	return joined
}

func refreshesItself(step plan.Step) bool {
	switch step {
	case plan.StepUp, plan.StepPrepareDelete, plan.StepDestroy:
		return true
	case plan.StepRefresh, plan.StepPreview, plan.StepCutover, plan.StepRemove, plan.StepPurge:
	}

	return false
}

// run makes every step until one fails.
func (j *job) run(ctx context.Context) Result {
	j.result.StackCreated = j.state.Exists()
	j.result.Resources = unknownResources
	j.resources = j.order.Operation.Resources

	failure := j.steps(ctx)
	if failure != nil && ctx.Err() != nil {
		failure.Kind, failure.Hint = tenant.KindInterrupted, hints[tenant.KindInterrupted]
	}

	if failure != nil {
		j.reopen(ctx)
	}

	j.result.Failure = failure
	j.result.Processes = int(j.command.processes.Load())
	j.result.Clean = !j.command.killed.Load() && !j.unproven

	if j.gate != nil {
		j.concludeState()
	}

	return j.result
}

func (j *job) steps(ctx context.Context) *tenant.Failure {
	if failure := j.recover(ctx); failure != nil {
		failure.Step = string(stepRecover)

		return failure
	}

	for _, c := range calls(j.order.Operation.Steps) {
		if failure := j.make(ctx, c); failure != nil {
			failure.Step = string(c.step)

			return failure
		}
	}

	if slices.Contains(j.order.Operation.Steps, plan.StepRemove) {
		return nil
	}

	// Resources that nobody knows are worth a word, but no failure: what was
	// asked for is there.
	arns, failure := j.orphans(ctx)
	j.result.Orphans = arns

	if failure != nil {
		j.result.Complaints = append(j.result.Complaints, "looking for orphans: "+failure.Message)
	}

	return nil
}

// concludeState says what the gate knows of the operation. A write that was
// refused outweighs whatever the CLI said: it may end with success although its
// last write never landed.
func (j *job) concludeState() {
	j.result.StackCreated = j.gate.Exists()
	j.result.Repairs = append(j.gate.Repairs(), j.result.Repairs...)
	j.result.Complaints = append(j.result.Complaints, j.gate.Complaints()...)

	refused := j.gate.Err()
	if refused == nil {
		return
	}

	step := ""
	if j.result.Failure != nil {
		step = j.result.Failure.Step
	}

	failure := *failureOf(refused)
	failure.Step = step
	j.result.Failure, j.result.Clean, j.result.Refused = &failure, false, failure.Kind
}

func (j *job) make(ctx context.Context, c call) *tenant.Failure {
	if ctx.Err() != nil {
		return &tenant.Failure{Message: "interrupted before the step began"}
	}

	if slices.Contains(plan.Steps(), c.step) {
		j.notify(Progress{Step: c.step, Planned: j.resources})
	}

	switch c.step {
	case plan.StepPrepareDelete:
		return j.prepareDelete(ctx, c)
	case plan.StepUp:
		if failure := j.guard(ctx, c); failure != nil {
			return failure
		}

		return j.up(ctx, c)
	case plan.StepPreview:
		return j.preview(ctx)
	case plan.StepRefresh:
		return j.refresh(ctx)
	case plan.StepDestroy:
		return j.destroy(ctx, c)
	case plan.StepRemove:
		return j.remove(ctx)
	case plan.StepPurge:
		return j.purge(ctx)
	case plan.StepCutover:
		// It is not for the engine.
	}

	return &tenant.Failure{Kind: tenant.KindInvalid, Message: "unknown step " + string(c.step), Hint: "the plan is newer than this worker"}
}

// absent reports whether there is no stack, so that nothing is to be done.
func (j *job) absent() bool {
	if j.state.Exists() {
		return false
	}

	j.setResources(0)

	return true
}

func (j *job) setResources(n int) { j.result.Resources, j.result.Types, j.resources = n, nil, n }

func (j *job) count(col *collector) {
	if j.result.Changes == nil {
		j.result.Changes = map[string]int{}
	}

	for op, n := range col.changes {
		j.result.Changes[op] += n
	}
}

func (j *job) message() string { return "lessor operation " + j.order.Operation.ID }
