package engine

import (
	"context"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/optdestroy"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optrefresh"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optup"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func (j *job) up(ctx context.Context, c call) *tenant.Failure {
	if failure := j.open(ctx); failure != nil {
		return failure
	}

	// What was previewed is no more.
	j.previewed = nil
	col := newCollector(c.step, 0, j.notify)
	options := []optup.Option{
		optup.Parallel(j.order.Settings.Parallel), optup.SuppressProgress(), optup.SuppressOutputs(), optup.Color(noColor),
		optup.UserAgent(userAgent), optup.Message(j.message()), optup.ShowSecrets(false), optup.EventStreams(col.stream),
	}

	if c.refresh {
		options = append(options, optup.Refresh())
	}

	failure := j.execute(ctx, col, j.program(c.step, col), func(ctx context.Context) error {
		_, err := j.stack.Up(ctx, options...)

		return err //nolint:wrapcheck // execute turns it into a failure.
	})
	j.count(col)

	if failure != nil {
		return failure
	}

	outputs, err := exportable(col.outputs)
	if err != nil {
		return &tenant.Failure{Kind: tenant.KindInvalid, Message: err.Error(), Hint: "let the program export less"}
	}

	// What a refresh before it found is not to be seen any more.
	j.result.Report = append(j.result.Report, col.report()...)
	j.result.Outputs = outputs
	j.setPresent(col.present)

	return nil
}

func (j *job) preview(ctx context.Context) *tenant.Failure {
	col, failure := j.look(ctx, false)
	if failure != nil {
		return failure
	}

	j.previewed = col
	j.tell(col)

	return nil
}

// look has the CLI find out what an up would change.
func (j *job) look(ctx context.Context, refresh bool) (*collector, *tenant.Failure) {
	if failure := j.open(ctx); failure != nil {
		return nil, failure
	}

	col := newCollector(plan.StepPreview, 0, j.notify)
	options := []optpreview.Option{
		optpreview.Parallel(j.order.Settings.Parallel), optpreview.SuppressProgress(), optpreview.Color(noColor),
		optpreview.UserAgent(userAgent), optpreview.Message(j.message()), optpreview.EventStreams(col.stream),
	}

	if refresh {
		options = append(options, optpreview.Refresh())
	}

	failure := j.execute(ctx, col, j.program(plan.StepPreview, col), func(ctx context.Context) error {
		_, err := j.stack.Preview(ctx, options...)

		return err //nolint:wrapcheck // execute turns it into a failure.
	})

	return col, failure
}

// tell reports what a preview found. What it counts was not done, so it is no
// change.
func (j *job) tell(previewed *collector) {
	j.result.Report = append(j.result.Report, previewed.report()...)
	j.setPresent(previewed.present)
}

func (j *job) refresh(ctx context.Context) *tenant.Failure {
	if j.absent() {
		return nil
	}

	if failure := j.find(ctx); failure != nil {
		return failure
	}

	col := newCollector(plan.StepRefresh, j.resources, j.notify)

	failure := j.execute(ctx, col, nil, func(ctx context.Context) error {
		_, err := j.stack.Refresh(ctx,
			optrefresh.Parallel(j.order.Settings.Parallel), optrefresh.SuppressProgress(), optrefresh.Color(noColor),
			optrefresh.UserAgent(userAgent), optrefresh.Message(j.message()), optrefresh.ShowSecrets(false),
			optrefresh.EventStreams(col.stream))

		return err //nolint:wrapcheck // execute turns it into a failure.
	})
	j.count(col)

	if failure != nil {
		return failure
	}

	j.result.Report = append(j.result.Report, col.report()...)
	j.setPresent(col.present)

	return nil
}

func (j *job) destroy(ctx context.Context, c call) *tenant.Failure {
	if j.absent() {
		return nil
	}

	if failure := j.find(ctx); failure != nil {
		return failure
	}

	col := newCollector(plan.StepDestroy, j.resources, j.notify)
	options := []optdestroy.Option{
		optdestroy.Parallel(j.order.Settings.Parallel), optdestroy.SuppressProgress(), optdestroy.Color(noColor),
		optdestroy.UserAgent(userAgent), optdestroy.Message(j.message()), optdestroy.ShowSecrets(false),
		// One resource that cannot be deleted is no reason to pay for the others.
		optdestroy.ContinueOnError(), optdestroy.EventStreams(col.stream),
	}

	if c.refresh {
		options = append(options, optdestroy.Refresh())
	}

	failure := j.execute(ctx, col, nil, func(ctx context.Context) error {
		_, err := j.stack.Destroy(ctx, options...)

		return err //nolint:wrapcheck // execute turns it into a failure.
	})
	j.count(col)

	if failure == nil {
		j.setResources(0)
		j.result.Outputs = nil
	}

	return failure
}

// remove makes sure that nothing is left and forgets the stack.
func (j *job) remove(ctx context.Context) *tenant.Failure {
	if failure := j.proveGone(ctx); failure != nil {
		return failure
	}

	if j.gate != nil {
		if err := j.gate.Remove(ctx); err != nil {
			return failureOf(err)
		}
	}

	j.setResources(0)

	return nil
}

// purge removes what the state bucket still has of a stack that was removed.
func (j *job) purge(ctx context.Context) *tenant.Failure {
	if j.gate != nil {
		if err := j.gate.Purge(ctx); err != nil {
			return failureOf(err)
		}
	}

	j.setResources(0)

	return nil
}
