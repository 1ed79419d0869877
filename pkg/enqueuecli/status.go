package enqueuecli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func (a *app) statusCommand() *cobra.Command {
	var waiting waitFlags

	cmd := &cobra.Command{
		Use:   "status TENANT",
		Short: "Show what a tenant shall be, what it is, and how its work goes",
		Long: `Show what a tenant shall be, what it is, and how its work goes. ` + "`enqueue list`" + `
shows all of them.

States: settled, running, pending (waits for a worker), backoff (waits to try
again), held, failed (given up on until the next event), awaiting-creation.

With --wait it waits until nothing is left to do.`,
		Example: `  enqueue status acme
  enqueue status acme --output json | jq -r .outputs.endpoint
  enqueue status acme --wait --timeout 10m`,
		Args:              namedTenant,
		ValidArgsFunction: a.completeTenants,
		RunE: a.action(func(ctx context.Context, args []string) error {
			if err := waiting.check(); err != nil {
				return err
			}

			return a.showTenant(ctx, waiting, args[0])
		}),
	}

	waiting.register(cmd)

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
	id, err := tenant.ParseID(name)
	if err != nil {
		return err
	}

	table, err := a.rows(ctx)
	if err != nil {
		return err
	}

	rec, err := readRow(ctx, table, id)
	if err != nil {
		return err
	}

	if !rec.Exists() {
		return absent(rec, "")
	}

	var waitErr error

	if waiting.wait {
		// A nudge states no fact: it stands for whatever is left to do.
		w := newAwaited(message{event: tenant.Event{Type: tenant.EventNudged, Tenant: id}}, "", verdictSent)
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

	s := statusOf(rec, a.now())
	s.Fleet = a.fleetIfPaused(ctx)

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
