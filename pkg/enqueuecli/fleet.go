package enqueuecli

import (
	"context"

	"github.com/spf13/cobra"
)

// pauseResult is the answer of pause and unpause: `enqueue help json`.
type pauseResult struct {
	Paused bool   `json:"paused"`
	Reason string `json:"reason,omitempty"`
	DryRun bool   `json:"dryRun,omitempty"`
}

func (a *app) pauseCommand() *cobra.Command {
	var (
		reason string
		dryRun bool
	)

	cmd := &cobra.Command{
		Use:   "pause --reason REASON",
		Short: "Let no operation of any tenant start",
		Long: `Let no operation of any tenant start, on any worker. Messages stay in the queue;
operations that run go on to their end.`,
		Example:           `  enqueue pause --reason "AWS incident in eu-west-1"`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.action(func(ctx context.Context, _ []string) error {
			if reason == "" {
				return usageError(`say why: --reason "…"`, "--reason is empty")
			}

			return a.setPaused(ctx, pauseResult{Paused: true, Reason: reason, DryRun: dryRun})
		}),
	}

	cmd.Flags().StringVar(&reason, "reason", "", "why, for whoever wonders")
	registerDryRun(cmd, &dryRun, "say what would happen and pause nothing")
	_ = cmd.MarkFlagRequired("reason")

	return cmd
}

func (a *app) unpauseCommand() *cobra.Command {
	var dryRun bool

	cmd := &cobra.Command{
		Use:               "unpause",
		Short:             "Let operations start again",
		Long:              "Let operations start again. Workers notice within a minute.",
		Example:           "  enqueue unpause",
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.action(func(ctx context.Context, _ []string) error {
			return a.setPaused(ctx, pauseResult{DryRun: dryRun})
		}),
	}

	registerDryRun(cmd, &dryRun, "say what would happen and restart nothing")

	return cmd
}

func (a *app) setPaused(ctx context.Context, want pauseResult) error {
	port, err := a.fleet(ctx)
	if err != nil {
		return err
	}

	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	switch {
	case want.DryRun:
		a.talkf("dry run: nothing is written")
	case want.Paused:
		err = port.Pause(ctx, want.Reason)
	default:
		err = port.Unpause(ctx)
	}

	if err != nil {
		return tableError("writing the state of the fleet", err)
	}

	switch {
	case a.wantsJSON():
		return a.printJSON(want)
	case want.Paused:
		return a.printf("the fleet %s paused (%s)\n", either(want.DryRun, "would be", "is"), printable(want.Reason))
	}

	return a.printf("the fleet %s\n", either(want.DryRun, "would work", "works"))
}
