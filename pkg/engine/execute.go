package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// hangBound is how long the SDK may take to return once the CLI has ended. It
// waits for the program, which may never end.
const hangBound = 10 * time.Second

var errProgramHangs = errors.New("the program went on after the CLI had ended")

// execute makes one call of the SDK and gathers what is known of its failure.
func (j *job) execute(ctx context.Context, col *collector, program pulumi.RunFunc, run func(context.Context) error) *tenant.Failure {
	var fault programFault

	j.workspace.SetProgram(nil)

	if program != nil {
		j.workspace.SetProgram(func(ctx *pulumi.Context) error {
			j.phases.cliRuns()

			return fault.keep(program(ctx))
		})
	}

	col.saw = j.phases.saw

	done := make(chan struct{})
	collected := make(chan struct{})

	go func() {
		defer close(collected)

		col.collect(done)
	}()

	err := j.await(ctx, run)

	close(done)
	<-collected

	j.fault = fault.get()

	if err == nil {
		return nil
	}

	j.diagnostics = append(j.diagnostics, col.diagnostics...)

	return j.explain(err, col, j.fault)
}

// await runs an SDK call, but not for ever: the SDK waits for the program.
func (j *job) await(ctx context.Context, run func(context.Context) error) error {
	// A process that ended before this call says nothing of it.
	select {
	case <-j.command.ended:
	default:
	}

	returned := make(chan error, 1)

	go func() { returned <- run(ctx) }()

	select {
	case err := <-returned:
		return err
	case <-j.command.ended:
	}

	select {
	case err := <-returned:
		return err
	case <-time.After(hangBound):
		return errProgramHangs
	}
}

func (j *job) explain(err error, col *collector, fault error) *tenant.Failure {
	if fault != nil {
		return programFailure(fault)
	}

	last := j.command.last.Load()
	if last == nil || errors.Is(err, errProgramHangs) || errors.Is(err, ErrInterrupt) {
		return &tenant.Failure{Kind: tenant.KindUnknown, Message: oneLine(err.Error()), Hint: hints[tenant.KindUnknown]}
	}

	fallback := fmt.Sprintf("the Pulumi CLI ended with code %d", last.code)
	if last.signal != 0 {
		fallback = "the Pulumi CLI was ended by signal: " + last.signal.String()
	}

	return classify(evidence{diagnostics: col.diagnostics, stderr: last.stderr, fallback: fallback})
}

// topologiesFor sets what a step demands of every topology. A final snapshot is
// named only to prepare a deletion: before that, its name would change with
// every operation, and with it the resource.
func topologiesFor(step plan.Step, op Operation) []Topology {
	var set []Topology

	prepare := step == plan.StepPrepareDelete
	if prepare {
		set = slices.Clone(op.Leaving)
	}

	leaving := len(set)
	set = append(set, op.Topologies...)

	for i := range set {
		set[i].Parameters = maps.Clone(set[i].Parameters)

		if prepare && (leaving == 0 || i < leaving) {
			set[i].Protect = false

			continue
		}

		set[i].FinalSnapshot = ""
	}

	return set
}
