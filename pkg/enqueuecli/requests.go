package enqueuecli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func (a *app) reprovisionCommand() *cobra.Command {
	return a.requestCommand(&cobra.Command{
		Use:   "reprovision TENANT",
		Short: "Read what is there and apply once more, even if nothing changed",
		Long: `Read what is there and apply once more, even if nothing changed. It repairs
drift, picks up a new build of the programs, and tries again what was given up
on.`,
		Example: `  enqueue reprovision acme --reason "security group was edited by hand" --wait`,
	}, tenant.EventReprovision)
}

func (a *app) refreshCommand() *cobra.Command {
	return a.requestCommand(&cobra.Command{
		Use:     "refresh TENANT",
		Short:   "Report drift: what is there against what was made",
		Example: "  enqueue refresh acme --wait\n  enqueue refresh acme --wait --output json | jq .status.last.report",
	}, tenant.EventRefresh)
}

func (a *app) previewCommand() *cobra.Command {
	return a.requestCommand(&cobra.Command{
		Use:     "preview TENANT",
		Short:   "Report what an operation would change, and change nothing",
		Example: "  enqueue preview acme --wait",
	}, tenant.EventPreview)
}

func (a *app) requestCommand(cmd *cobra.Command, kind tenant.EventType) *cobra.Command {
	var (
		flags sendFlags
		e     = tenant.Event{Type: kind}
	)

	cmd.Args = oneTenant
	cmd.ValidArgsFunction = a.completeTenants
	cmd.RunE = a.action(func(ctx context.Context, args []string) error {
		return a.submit(ctx, flags, args[0], e, notGone)
	})

	flags.register(cmd)
	cmd.Flags().StringVar(&e.Reason, "reason", "", "why, for people who look later")

	return cmd
}
