package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// stateBackend opens a stack's state to the CLI.
type stateBackend interface {
	// open returns the backend's URL for the CLI, and what to call when the
	// operation has ended: its error means that not every write of the state
	// was answered.
	open(ctx context.Context, op Operation) (url string, done func() error, err error)
}

// plainBackend lets the CLI talk to the bucket itself.
type plainBackend struct{ getenv func(string) string }

func (b plainBackend) open(_ context.Context, op Operation) (url string, done func() error, err error) {
	return backendURL(op.Stack, "", b.getenv), func() error { return nil }, nil
}

// missingPattern is what the CLI says of a stack without a checkpoint.
var missingPattern = regexp.MustCompile(`no stack named .*found`)

// prepare writes Pulumi.yaml, with the project that the row recorded.
func (j *job) prepare(ctx context.Context) error {
	settings := j.order.Settings

	ws, err := auto.NewLocalWorkspace(ctx,
		auto.Pulumi(j.command),
		auto.WorkDir(settings.Slot.Work),
		auto.PulumiHome(settings.Slot.Home),
		auto.SecretsProvider(settings.SecretsProvider),
		auto.Project(workspace.Project{
			Name:    projectName(j.order.Operation),
			Runtime: workspace.NewProjectRuntimeInfo("go", nil),
		}))
	if err != nil {
		return fmt.Errorf("preparing the workspace: %w", err)
	}

	j.workspace = ws

	return nil
}

// find makes the stack ready without asking whether it exists.
func (j *job) find(ctx context.Context) *tenant.Failure {
	stack, err := auto.SelectStack(ctx, j.order.Operation.Stack.Name, j.workspace)
	if err != nil {
		return &tenant.Failure{Kind: tenant.KindUnknown, Message: oneLine(err.Error()), Hint: hints[tenant.KindUnknown]}
	}

	j.stack = stack

	return nil
}

// open makes the stack ready. A stack that the row does not know is created,
// unless it exists: then an earlier worker died before it could record it. A
// stack that the row knows is never created, or an accident with its state
// would end in a second set of resources.
func (j *job) open(ctx context.Context) *tenant.Failure {
	if j.result.StackCreated {
		return j.find(ctx)
	}

	col := newCollector("", 0, j.notify)

	var exists bool

	failure := j.execute(ctx, col, nil, func(ctx context.Context) error {
		stack, err := auto.NewStack(ctx, j.order.Operation.Stack.Name, j.workspace)
		if exists = err != nil && auto.IsCreateStack409Error(err); exists {
			return nil
		}

		j.stack = stack

		return err //nolint:wrapcheck // execute turns it into a failure.
	})
	if failure != nil {
		return failure
	}

	j.result.StackCreated = true

	if exists {
		return j.find(ctx)
	}

	return nil
}

// projectName is the project of the stack.
func projectName(op Operation) tokens.PackageName { return tokens.PackageName(op.Stack.Project) }

var errNoStack = errors.New("the operation names no stack")
