package programs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The programs of the shipped catalog, by the names that it uses.
const (
	NamePool   = "pool"
	NameBridge = "bridge"
	NameSilo   = "silo"
	NameShared = "shared"
)

// All returns the programs of the shipped catalog. The map is the caller's own.
func All() engine.Programs {
	return engine.Programs{NamePool: Pool(), NameBridge: Bridge(), NameSilo: Silo(), NameShared: Shared()}
}

// New makes a program of a function. P is a struct whose json tags name the
// parameters; defaults returns what holds for those that neither tier nor tenant
// sets. The tags bounds, form and required of its fields are checked first, and
// Describe tells them. validate judges the whole and returns an *engine.ParameterError for each
// problem, joined; nil accepts everything that P can hold.
func New[P any](
	defaults func() P,
	validate func(P) error,
	deploy func(ctx *pulumi.Context, topology engine.Topology, parameters P) (pulumi.Map, error),
) engine.Program {
	return program[P]{defaults: defaults, validate: validate, deploy: deploy}
}

type program[P any] struct {
	defaults func() P
	validate func(P) error
	deploy   func(*pulumi.Context, engine.Topology, P) (pulumi.Map, error)
	summary  string
	outputs  []Output
}

// routing are the outputs of every program, and those of one.
func routing(own ...Output) []Output {
	return append([]Output{
		{OutputIsolation, "The program: pool, bridge or silo; shared for what others share."},
		{OutputServing, "Whether the tenant is served: false while it is suspended."},
		{OutputRegion, "Where the tenant is."},
	}, own...)
}

// Check implements engine.Program.
func (p program[P]) Check(parameters tenant.Parameters) error {
	_, err := p.decode(parameters)

	return err
}

// Deploy implements engine.Program.
func (p program[P]) Deploy(ctx *pulumi.Context, topology engine.Topology) (pulumi.Map, error) {
	parameters, err := p.decode(topology.Parameters)
	if err != nil {
		return nil, err
	}

	return p.deploy(ctx, topology, parameters)
}

func (p program[P]) decode(parameters tenant.Parameters) (P, error) {
	decoded := p.defaults()

	if err := engine.Decode(parameters, &decoded); err != nil {
		return decoded, err
	}

	problems := []error{checkTags(decoded)}
	if p.validate != nil {
		problems = append(problems, p.validate(decoded))
	}

	return decoded, errors.Join(problems...)
}

// problem refuses a parameter.
func problem(name, format string, args ...any) error {
	return &engine.ParameterError{Name: name, Problem: fmt.Sprintf(format, args...)}
}

// between refuses a number that is out of bounds.
func between(name string, n, low, high int) error {
	if n < low || n > high {
		return problem(name, "%d is not between %d and %d", n, low, high)
	}

	return nil
}

// distinct refuses a list with something twice.
func distinct(name string, list []string) error {
	for i, item := range list {
		if slices.Contains(list[:i], item) {
			return problem(name, "%s is named twice", item)
		}
	}

	return nil
}
