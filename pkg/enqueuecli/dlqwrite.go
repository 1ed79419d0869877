package enqueuecli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

func (a *app) dlqRedriveCommand() *cobra.Command {
	var all, dryRun bool

	cmd := &cobra.Command{
		Use:   "redrive (ID... | --all)",
		Short: "Send dead letters back to the queue of events",
		Long: `Send dead letters back to the queue of events, and delete them here. It is safe:
events that were accepted before change nothing, and what is still invalid comes
back here.`,
		Example: `  enqueue dlq redrive 7d1f1a7e
  enqueue dlq redrive --all --dry-run`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.action(func(ctx context.Context, args []string) error {
			if all == (len(args) > 0) {
				return usageError("usage: enqueue dlq redrive ID..., or enqueue dlq redrive --all",
					"name messages or give --all, one of the two")
			}

			port, err := a.deadLetters(ctx)
			if err != nil {
				return err
			}

			if dryRun {
				return a.showRedrive(ctx, port, args)
			}

			// No ids stand for all.
			done, err := port.Redrive(ctx, args)
			printed := a.printDone("redriven", done, false)

			if err != nil {
				return letterError(err)
			}

			return printed
		}),
	}

	cmd.Flags().BoolVar(&all, "all", false, "every message")
	registerDryRun(cmd, &dryRun, "print the bodies that would be sent and send nothing")

	return cmd
}

// showRedrive prints what a redrive would send.
func (a *app) showRedrive(ctx context.Context, port deadLetters, ids []string) error {
	a.talkf("dry run: nothing is sent")

	var letters []deadLetter

	for _, id := range ids {
		letter, err := port.Show(ctx, id)
		if err != nil {
			return letterError(err)
		}

		letters = append(letters, letter)
	}

	if len(ids) == 0 {
		var err error
		if letters, err = port.List(ctx, defaultDeadLetterLimit); err != nil {
			return letterError(err)
		}
	}

	for _, letter := range letters {
		if err := a.printBody(letter); err != nil {
			return err
		}
	}

	return nil
}

func (a *app) dlqDropCommand() *cobra.Command {
	var yes, dryRun bool

	cmd := &cobra.Command{
		Use:               "drop ID... --yes",
		Short:             "Delete dead letters for good",
		Example:           "  enqueue dlq drop 7d1f1a7e --yes",
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.action(func(ctx context.Context, args []string) error {
			switch {
			case len(args) == 0:
				return usageError("usage: enqueue dlq drop ID... --yes", "enqueue dlq drop needs the ids of messages")
			case !yes && !dryRun:
				return usageError("add --yes, or keep a copy first with `enqueue dlq show "+args[0]+" --output json`",
					"dropping messages needs to be confirmed: they are gone for good")
			}

			port, err := a.deadLetters(ctx)
			if err != nil {
				return err
			}

			if dryRun {
				return a.showDrop(ctx, port, args)
			}

			done, err := port.Drop(ctx, args)
			printed := a.printDone("dropped", done, false)

			if err != nil {
				return letterError(err)
			}

			return printed
		}),
	}

	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "they are meant to be gone")
	registerDryRun(cmd, &dryRun, "say which are there and drop none")

	return cmd
}

func (a *app) showDrop(ctx context.Context, port deadLetters, ids []string) error {
	a.talkf("dry run: nothing is dropped")

	for _, id := range ids {
		if _, err := port.Show(ctx, id); err != nil {
			return letterError(err)
		}
	}

	return a.printDone("dropped", ids, true)
}

// printDone answers redrive and drop: `enqueue help json`.
func (a *app) printDone(what string, ids []string, dryRun bool) error {
	if a.wantsJSON() {
		result := map[string]any{what: append([]string{}, ids...)}
		if dryRun {
			result["dryRun"] = true
		}

		return a.printJSON(result)
	}

	for _, id := range ids {
		if err := a.printf("%s: %s%s\n", id, either(dryRun, "would be ", ""), what); err != nil {
			return err
		}
	}

	if len(ids) == 0 {
		a.talkf("no message was %s", what)
	}

	return nil
}

// letterError says how to find a message that is not there. The port's error
// tells which call failed, and on what.
func letterError(err error) error {
	if errors.Is(err, errAbsent) {
		return &exitError{
			code: exitNotFound, err: err,
			hint: "see `enqueue dlq list`; a message that somebody looks at right now is back in a moment",
		}
	}

	return err
}
