package enqueuecli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

const defaultListLimit = 500

func (a *app) statusCommand() *cobra.Command {
	var (
		waiting waitFlags
		limit   int
	)

	cmd := &cobra.Command{
		Use:   "status [TENANT]",
		Short: "Show what a tenant shall be, what it is, and how its work goes",
		Long: `Show what a tenant shall be, what it is, and how its work goes. Without a
tenant: the fleet, and a line for every tenant.

States: settled, running, pending (waits for a worker), backoff (waits to try
again), held, failed (given up on until the next event), awaiting-creation.

With --wait it waits until nothing is left to do.`,
		Example: `  enqueue status acme
  enqueue status acme --output json | jq -r .outputs.endpoint
  enqueue status acme --wait --timeout 10m
  enqueue status`,
		Args:              atMostOneTenant,
		ValidArgsFunction: a.completeTenants,
		RunE: a.action(func(ctx context.Context, args []string) error {
			if err := waiting.check(); err != nil {
				return err
			}

			if len(args) == 0 {
				if waiting.wait {
					return usageError("name one: enqueue status TENANT --wait", "--wait needs a tenant")
				}

				return a.listTenants(ctx, limit)
			}

			return a.showTenant(ctx, waiting, args[0])
		}),
	}

	waiting.register(cmd)
	cmd.Flags().IntVar(&limit, "limit", defaultListLimit, "without a tenant: how many to list at most")

	return cmd
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

// fleetList is the documented form of the whole: `enqueue help json`.
type fleetList struct {
	Fleet   fleetStatus `json:"fleet"`
	Tenants []status    `json:"tenants"`
}

func (a *app) listTenants(ctx context.Context, limit int) error {
	port, err := a.fleet(ctx)
	if err != nil {
		return err
	}

	table, err := a.rows(ctx)
	if err != nil {
		return err
	}

	state, err := port.State(ctx)
	if err != nil {
		return tableError("reading the state of the fleet", err)
	}

	list := fleetList{Fleet: fleetStatusOf(state), Tenants: []status{}}
	cut := false
	now := a.now()

	err = table.List(ctx, func(rec tenant.Record) bool {
		if cut = len(list.Tenants) >= limit; cut {
			return false
		}

		list.Tenants = append(list.Tenants, statusOf(rec, now))

		return true
	})
	if err != nil {
		return fmt.Errorf("listing the tenants: %w", err)
	}

	slices.SortFunc(list.Tenants, func(x, y status) int { return cmp.Compare(x.Tenant, y.Tenant) })

	if cut {
		a.talkf("there are more than %d tenants: see the others with --limit", limit)
	}

	if a.wantsJSON() {
		return a.printJSON(list)
	}

	return a.printFleet(list, now)
}

func (a *app) printFleet(list fleetList, now time.Time) error {
	if list.Fleet.Paused {
		a.talkf("the fleet is paused (%s): no operation starts", list.Fleet.Reason)
	}

	if len(list.Tenants) == 0 {
		a.talkf("there are no tenants")

		return nil
	}

	return a.table(func(w io.Writer) {
		_, _ = fmt.Fprintln(w, "TENANT\tTIER\tPHASE\tSTATE\tDESIRED\tAPPLIED\tRESOURCES\tCHANGED")

		for _, s := range list.Tenants {
			resources := "-"
			if s.Last != nil && s.Last.Resources != nil {
				resources = strconv.Itoa(*s.Last.Resources)
			}

			changed := "-"
			if s.UpdatedAt != nil {
				changed = elapsed(now.Sub(*s.UpdatedAt)) + " ago"
			}

			_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", s.Tenant, orDash(s.Tier), s.Phase, s.State,
				s.Sequence.Desired, s.Sequence.Applied, resources, changed)
		}
	})
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}

	return s
}
