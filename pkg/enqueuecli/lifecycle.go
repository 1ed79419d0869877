package enqueuecli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func (a *app) provisionCommand() *cobra.Command {
	var (
		flags      sendFlags
		parameters parameterFlags
		e          = tenant.Event{Type: tenant.EventCreated}
		overwrite  bool
	)

	cmd := &cobra.Command{
		Use:   "provision TENANT --tier TIER --region REGION",
		Short: "Create a tenant",
		Long: `Create a tenant in a tier and a region.

A tenant that exists is left alone, unless --overwrite is given: then it is
stated anew, and parameters that are not given are forgotten.

The tenants of some tiers live in a pool, which is a tenant too: of a tier whose
name begins with pool-, with that name and the region as its id. The first one to
need it asks for it and waits; provision it before, and sign-ups take seconds.`,
		Example: `  enqueue provision pool-free-eu-west-1 --tier pool-free --region eu-west-1 --wait
  enqueue provision acme --tier standard --region eu-west-1 --wait
  enqueue provision acme --tier enterprise --region eu-west-1 --set seats=25 --set-json 'zones=["a","b"]'
  enqueue provision acme --tier free --region eu-west-1 --dry-run`,
		Args:              oneTenant,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.action(func(ctx context.Context, args []string) error {
			given, err := parameters.collect(a.stdin)
			if err != nil {
				return err
			}

			e.Parameters = given

			return a.submit(ctx, flags, args[0], e, notYetThere(overwrite))
		}),
	}

	flags.register(cmd)
	parameters.register(cmd.Flags(), false)
	cmd.Flags().StringVar(&e.Tier, "tier", "", "tier of the catalog")
	cmd.Flags().StringVar(&e.Region, "region", "", "AWS region of the tenant's resources")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "state a tenant anew that exists already")
	_ = cmd.MarkFlagRequired("tier")
	_ = cmd.MarkFlagRequired("region")
	_ = cmd.RegisterFlagCompletionFunc("tier", a.completeTiers)
	_ = cmd.RegisterFlagCompletionFunc("region", a.completeRegions)

	return cmd
}

func (a *app) updateCommand() *cobra.Command {
	var (
		flags        sendFlags
		parameters   parameterFlags
		allowMissing bool
	)

	cmd := &cobra.Command{
		Use:   "update TENANT (--set NAME=VALUE | --unset NAME | --parameters-file FILE)...",
		Short: "Change parameters of a tenant",
		Long: `Change parameters of a tenant. Each one given is replaced as a whole, the
others stay. --unset goes back to what the tier says.`,
		Example: `  enqueue update acme --set seats=50 --unset theme --wait
  enqueue update acme --parameters-file parameters.json`,
		Args:              oneTenant,
		ValidArgsFunction: a.completeTenants,
		RunE: a.action(func(ctx context.Context, args []string) error {
			given, err := parameters.collect(a.stdin)
			if err != nil {
				return err
			}

			if len(given) == 0 {
				return usageError("name what changes: --set name=value, --unset name or --parameters-file file",
					"there is nothing to update")
			}

			e := tenant.Event{Type: tenant.EventUpdated, Parameters: given}

			return a.submit(ctx, flags, args[0], e, there(allowMissing))
		}),
	}

	flags.register(cmd)
	parameters.register(cmd.Flags(), true)
	registerAllowMissing(cmd, &allowMissing)

	return cmd
}

func (a *app) tierCommand() *cobra.Command {
	var (
		flags        sendFlags
		parameters   parameterFlags
		allowMissing bool
		acceptLoss   bool
	)

	cmd := &cobra.Command{
		Use:   "tier TENANT TIER",
		Short: "Move a tenant to another tier",
		Long: `Move a tenant to another tier. Parameters can change with it, in one step.

The new tier is made beside the old one, which serves until then. Where the new
tier has a data hook, the change waits for its answer (see ` + "`enqueue confirm`" + `);
then the new tier serves, and the old one stands by for the bake time. Until
that ends, a change back costs nothing; ` + "`enqueue retire`" + ` ends it early.

A tier that keeps data takes a final snapshot when it is left. Where it takes
none, the change is refused unless --accept-data-loss is given.`,
		Example: `  enqueue tier acme enterprise --wait --timeout 1h
  enqueue tier acme free --unset seats --dry-run
  enqueue tier acme free --accept-data-loss`,
		Args: exactly("the tenant's id and the tier", 2), //nolint:mnd // those two
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return a.completeTiers(cmd, args, toComplete)
			}

			return a.completeTenants(cmd, args, toComplete)
		},
		RunE: a.action(func(ctx context.Context, args []string) error {
			given, err := parameters.collect(a.stdin)
			if err != nil {
				return err
			}

			e := tenant.Event{Type: tenant.EventTierChanged, Tier: args[1], Parameters: given, AcceptDataLoss: acceptLoss}

			return a.submit(ctx, flags, args[0], e, elsewhere(allowMissing))
		}),
	}

	flags.register(cmd)
	parameters.register(cmd.Flags(), true)
	cmd.Flags().BoolVar(&acceptLoss, "accept-data-loss", false, "drop the data of the tier that is left, without a final snapshot")
	registerAllowMissing(cmd, &allowMissing)

	return cmd
}

func (a *app) suspendCommand() *cobra.Command {
	return a.phaseCommand(&cobra.Command{
		Use:     "suspend TENANT",
		Short:   "Suspend a tenant: it keeps its data and serves nothing",
		Example: "  enqueue suspend acme --wait",
	}, tenant.EventSuspended, tenant.PhaseSuspended)
}

func (a *app) resumeCommand() *cobra.Command {
	return a.phaseCommand(&cobra.Command{
		Use:     "resume TENANT",
		Short:   "Resume a suspended tenant",
		Example: "  enqueue resume acme --wait",
	}, tenant.EventResumed, tenant.PhaseActive)
}

func (a *app) phaseCommand(cmd *cobra.Command, kind tenant.EventType, phase tenant.Phase) *cobra.Command {
	var (
		flags        sendFlags
		allowMissing bool
	)

	cmd.Args = oneTenant
	cmd.ValidArgsFunction = a.completeTenants
	cmd.RunE = a.action(func(ctx context.Context, args []string) error {
		return a.submit(ctx, flags, args[0], tenant.Event{Type: kind}, notYet(phase, allowMissing))
	})

	flags.register(cmd)
	registerAllowMissing(cmd, &allowMissing)

	return cmd
}

func registerAllowMissing(cmd *cobra.Command, into *bool) {
	cmd.Flags().BoolVar(into, "allow-missing", false, "send it even if the tenant is not known (yet)")
}
