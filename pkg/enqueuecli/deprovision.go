package enqueuecli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func (a *app) deprovisionCommand() *cobra.Command {
	var (
		flags        sendFlags
		e            = tenant.Event{Type: tenant.EventDeleted}
		consent      consentFlags
		allowMissing bool
	)

	cmd := &cobra.Command{
		Use:   "deprovision TENANT --confirm TENANT",
		Short: "Delete a tenant and everything it has",
		Long: `Delete a tenant and everything it has. There is no way back.

A tier that keeps data takes a final snapshot first. Where it takes none, or
with --accept-data-loss, the data is gone for good; a tier that would lose data
refuses the deletion without that flag.`,
		Example: `  enqueue deprovision acme --confirm acme --reason "contract ended" --wait
  enqueue deprovision acme --yes --accept-data-loss`,
		Args:              oneTenant,
		ValidArgsFunction: a.completeTenants,
		RunE: a.action(func(ctx context.Context, args []string) error {
			if err := consent.check(args[0], flags.dryRun); err != nil {
				return err
			}

			return a.submit(ctx, flags, args[0], e, spokenOf(allowMissing))
		}),
	}

	flags.register(cmd)
	consent.register(cmd)
	cmd.Flags().StringVar(&e.Reason, "reason", "", "why, for people who look later")
	cmd.Flags().BoolVar(&e.AcceptDataLoss, "accept-data-loss", false, "delete data without a final snapshot")
	registerAllowMissing(cmd, &allowMissing)

	return cmd
}

// consentFlags are how somebody says that they mean it. There is no prompt:
// the same line works for people and in scripts.
type consentFlags struct {
	confirm string
	yes     bool
}

func (f *consentFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.confirm, "confirm", "", "the tenant's id once more, to show that it is meant")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "in place of --confirm")
}

func (f *consentFlags) check(id string, dryRun bool) error {
	switch {
	case f.confirm != "" && f.confirm != id:
		return usageError("both must name the same tenant", "--confirm names %q, but the tenant to delete is %q", f.confirm, id)
	case f.confirm == id || f.yes || dryRun:
		return nil
	}

	return usageError("add --confirm "+id+" (or --yes), or look at the message with --dry-run",
		"deleting tenant %s needs to be confirmed", id)
}
