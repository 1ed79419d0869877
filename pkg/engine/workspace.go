package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/common/workspace"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

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

// open makes the stack ready, and creates it if there is none. The gate knows
// whether there is: one that is missing by accident is no stack to create, or
// the accident would end in a second set of resources.
func (j *job) open(ctx context.Context) *tenant.Failure {
	if j.state.Exists() || j.result.StackCreated {
		return j.find(ctx)
	}

	col := newCollector("", 0, j.notify)

	failure := j.execute(ctx, col, nil, func(ctx context.Context) error {
		stack, err := auto.NewStack(ctx, j.order.Operation.Stack.Name, j.workspace)
		j.stack = stack

		return err //nolint:wrapcheck // execute turns it into a failure.
	})
	if failure != nil {
		return failure
	}

	j.result.StackCreated = true

	return nil
}

// projectName is the project of the stack.
func projectName(op Operation) tokens.PackageName { return tokens.PackageName(op.Stack.Project) }

var errNoStack = errors.New("the operation names no stack")
