package enqueuecli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func (a *app) statusCommand() *cobra.Command {
	var (
		waiting waitFlags
		watch   bool
	)

	cmd := &cobra.Command{
		Use:   "status TENANT",
		Short: "Show what a tenant shall be, what it is, and how its work goes",
		Long: `Show what a tenant shall be, what it is, and how its work goes. ` + "`enqueue list`" + `
shows all of them.

` + statesHelp + `

With --wait it waits until nothing is left to do. With --watch it goes on to show
what changes, until ctrl-C or --timeout ends it: in place on a terminal, a line or
a block for each change elsewhere, a document on one line with --output json.`,
		Example: `  enqueue status acme
  enqueue status acme --output json | jq -r .outputs.endpoint
  enqueue status acme --wait --timeout 10m
  enqueue status acme --watch`,
		Args:              namedTenant,
		ValidArgsFunction: a.completeTenants,
		RunE: a.action(func(ctx context.Context, args []string) error {
			if err := waiting.check(); err != nil {
				return err
			}

			if watch && waiting.wait {
				return usageError("--wait ends when nothing is left to do, --watch does not", "give --wait or --watch, not both")
			}

			if watch {
				if !waiting.set.Changed("timeout") {
					waiting.timeout = 0
				}

				return a.watchTenant(ctx, waiting.timeout, args[0])
			}

			return a.showTenant(ctx, waiting, args[0])
		}),
	}

	waiting.register(cmd)
	cmd.Flags().Lookup("timeout").Usage = "with --wait: how long; with --watch: for how long, without end if it is not given"
	cmd.Flags().BoolVar(&watch, "watch", false, "go on to show what changes, until ctrl-C or --timeout")

	return cmd
}

// namedTenant tells who wants all of them where to look.
func namedTenant(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usageError("name one, or see all of them with `enqueue list`", "%s needs the tenant's id", cmd.CommandPath())
	}

	return oneTenant(cmd, args)
}

func (a *app) showTenant(ctx context.Context, waiting waitFlags, name string) error {
	table, rec, err := a.known(ctx, name)
	if err != nil {
		return err
	}

	var waitErr error

	if waiting.wait {
		// A nudge states no fact: it stands for whatever is left to do.
		w := newAwaited(message{event: tenant.Event{Type: tenant.EventNudged, Tenant: rec.ID}}, "", verdictSent)
		if !w.observe(rec) {
			a.warnPaused(ctx)

			meter := a.newMeter()
			waitErr = a.watch(ctx, waiting.timeout, table, []*awaited{w}, meter)
			meter.clear()
		}

		rec = w.rec
		if waitErr == nil {
			waitErr = worst([]*awaited{w})
		}
	}

	s := a.statusNow(ctx, rec)

	if a.wantsJSON() {
		err = a.printJSON(s)
	} else {
		err = a.printStatus(s)
	}

	if err != nil {
		return err
	}

	return waitErr
}

func (a *app) statusNow(ctx context.Context, rec tenant.Record) status {
	s := statusOf(rec, a.now())
	s.Fleet = a.fleetIfPaused(ctx)

	return s
}

// fleetIfPaused explains a tenant on which nobody works. Not knowing is no
// reason to fail.
func (a *app) fleetIfPaused(ctx context.Context) *fleetStatus {
	port, err := a.fleet(ctx)
	if err != nil {
		return nil
	}

	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	state, err := port.State(ctx)
	if err != nil || !state.Paused {
		return nil
	}

	s := fleetStatusOf(state)

	return &s
}
