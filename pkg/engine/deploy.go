package engine

import (
	"errors"
	"fmt"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// panicError is a panic of a program.
type panicError struct {
	program string
	value   any
}

func (e *panicError) Error() string {
	return fmt.Sprintf("program %s panicked: %v", e.program, e.value)
}

// unknownProgramError is a catalog that this build of the worker cannot serve.
type unknownProgramError struct{ program string }

func (e *unknownProgramError) Error() string {
	return fmt.Sprintf("program %q is not built into this worker", e.program)
}

// program makes one Pulumi program of the programs of all topologies.
func (j *job) program(step plan.Step, col *collector) pulumi.RunFunc {
	topologies := topologiesFor(step, j.order.Operation)

	return func(ctx *pulumi.Context) error {
		if err := ctx.RegisterStackTransformation(counting(col)); err != nil {
			return fmt.Errorf("counting resources: %w", err)
		}

		var outputs pulumi.Map

		for _, t := range topologies {
			if j.replayed[t.Generation] {
				outputs = nil

				continue
			}

			t.Fresh = j.fresh(t)

			made, err := j.deploy(ctx, t)
			if err != nil {
				return &topologyError{generation: t.Generation, err: err}
			}

			outputs = made
		}

		// Nothing that a program makes impossible shall have been begun.
		if err := declare(ctx, j.declared); err != nil {
			return err
		}

		for name, output := range outputs {
			ctx.Export(name, output)
		}

		return nil
	}
}

// deploy runs one program. A panic in it is an error like others: only one in
// a goroutine of the SDK ends the process.
func (j *job) deploy(ctx *pulumi.Context, t Topology) (outputs pulumi.Map, err error) {
	program, known := j.programs[t.Program]
	if !known {
		return nil, &unknownProgramError{program: t.Program}
	}

	defer func() {
		if value := recover(); value != nil {
			err = &panicError{program: t.Program, value: value}
		}
	}()

	outputs, err = program.Deploy(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("program %s: %w", t.Program, err)
	}

	return outputs, nil
}

// counting sees every resource as soon as the program declares it, long before
// the engine gets to it.
func counting(col *collector) pulumi.ResourceTransformation {
	return func(args *pulumi.ResourceTransformationArgs) *pulumi.ResourceTransformationResult {
		_, custom := args.Resource.(pulumi.CustomResource)
		col.register(args.Type, custom)

		return nil
	}
}

// programFault keeps the error of a program, of which the CLI only tells the
// text.
type programFault struct {
	mutex sync.Mutex
	err   error
}

func (f *programFault) keep(err error) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()

	f.err = err

	return err
}

func (f *programFault) get() error {
	f.mutex.Lock()
	defer f.mutex.Unlock()

	return f.err
}

// programFailure turns an error of a program into a failure.
func programFailure(err error) *tenant.Failure {
	var (
		parameter *ParameterError
		unknown   *unknownProgramError
		panicked  *panicError
		taken     *TakenError
	)

	failure := &tenant.Failure{Kind: tenant.KindInvalid, Message: oneLine(err.Error())}

	switch {
	case errors.As(err, &parameter):
		failure.Hint = hints[tenant.KindInvalid]
	case errors.As(err, &taken):
		failure.Kind, failure.Hint, failure.Resource = tenant.KindConflict, hintTaken, taken.Name
	case errors.As(err, &unknown):
		failure.Hint = "run workers that have the program, or change the catalog"
	case errors.As(err, &panicked):
		failure.Kind, failure.Hint = tenant.KindUnknown, "correct the program"
	default:
		v := judge(err.Error())
		failure.Kind, failure.Hint = v.kind, v.advice("")
	}

	return failure
}
