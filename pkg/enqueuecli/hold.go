package enqueuecli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// holdResult is the answer of hold: `enqueue help json`.
type holdResult struct {
	Tenant tenant.ID `json:"tenant"`
	Hold   string    `json:"hold"`
	DryRun bool      `json:"dryRun,omitempty"`
}

func (a *app) holdCommand() *cobra.Command {
	var (
		reason string
		dryRun bool
	)

	cmd := &cobra.Command{
		Use:   "hold TENANT --reason REASON",
		Short: "Let no operation of a tenant start",
		Long: `Let no operation of a tenant start. Events are still accepted, and the work they
ask for is done after unhold. An operation that runs goes on to its end.`,
		Example:           `  enqueue hold acme --reason "restoring its database by hand"`,
		Args:              oneTenant,
		ValidArgsFunction: a.completeTenants,
		RunE: a.action(func(ctx context.Context, args []string) error {
			return a.hold(ctx, args[0], reason, dryRun)
		}),
	}

	cmd.Flags().StringVar(&reason, "reason", "", "why, for whoever wonders")
	registerDryRun(cmd, &dryRun, "say what would be held and hold nothing")
	_ = cmd.MarkFlagRequired("reason")

	return cmd
}

func (a *app) hold(ctx context.Context, name, reason string, dryRun bool) error {
	if reason == "" {
		return usageError(`say why: --reason "…"`, "--reason is empty")
	}

	table, rec, err := a.known(ctx, name)
	if err != nil {
		return err
	}

	if rec.Lease.Owner != "" {
		a.talkf("an operation of %s runs: it goes on to its end, and none starts after it", rec.ID)
	}

	if dryRun {
		a.talkf("dry run: nothing is held")
	} else if err := table.SetHold(ctx, rec.ID, reason); err != nil {
		return fmt.Errorf("holding %s: %w", rec.ID, err)
	}

	if a.wantsJSON() {
		return a.printJSON(holdResult{Tenant: rec.ID, Hold: reason, DryRun: dryRun})
	}

	return a.printf("%s: %s hold (%s)\n", rec.ID, either(dryRun, "would be on", "on"), printable(reason))
}

func (a *app) unholdCommand() *cobra.Command {
	var flags sendFlags

	cmd := &cobra.Command{
		Use:   "unhold TENANT",
		Short: "Let operations of a tenant start again",
		Long: `Let operations of a tenant start again, and send a message that makes a worker
look at it. With --wait it waits until nothing is left to do.`,
		Example:           "  enqueue unhold acme --wait",
		Args:              oneTenant,
		ValidArgsFunction: a.completeTenants,
		RunE: a.action(func(ctx context.Context, args []string) error {
			return a.unhold(ctx, flags, args[0])
		}),
	}

	flags.waitFlags.register(cmd)
	registerDryRun(cmd, &flags.dryRun, "print the message, lift no hold and send nothing")

	return cmd
}

func (a *app) unhold(ctx context.Context, flags sendFlags, name string) error {
	if err := flags.check(); err != nil {
		return err
	}

	table, rec, err := a.known(ctx, name)
	if err != nil {
		return err
	}

	msg, err := a.compose(tenant.Event{Type: tenant.EventNudged, Tenant: rec.ID, ID: a.newID()}, rec, event.OrderTime)
	if err != nil {
		return err
	}

	if rec.Hold == "" {
		a.talkf("%s was not on hold: workers are told once more", rec.ID)
	}

	if !flags.dryRun {
		// Opened first: what is wrong with the queue must not come to light
		// between the two halves.
		if _, err := a.sender(ctx); err != nil {
			return err
		}

		if err := table.ClearHold(ctx, rec.ID); err != nil {
			return fmt.Errorf("lifting the hold of %s: %w", rec.ID, err)
		}

		if rec.Hold != "" {
			a.talkf("the hold of %s is lifted", rec.ID)
		}
	}

	err = a.dispatch(ctx, flags, table, rec, msg)
	if _, known := errors.AsType[*exitError](err); err == nil || known {
		return err
	}

	return &exitError{code: exitFailure, err: err, hint: "no worker was told yet: run `enqueue unhold " + rec.ID.String() + "` again"}
}

// known reads a row that must be there.
func (a *app) known(ctx context.Context, name string) (rows, tenant.Record, error) {
	id, err := tenant.ParseID(name)
	if err != nil {
		return nil, tenant.Record{}, err
	}

	table, err := a.rows(ctx)
	if err != nil {
		return nil, tenant.Record{}, err
	}

	rec, err := readRow(ctx, table, id)
	if err != nil {
		return nil, tenant.Record{}, err
	}

	if !rec.Exists() {
		return nil, tenant.Record{}, absent(rec, "")
	}

	return table, rec, nil
}
