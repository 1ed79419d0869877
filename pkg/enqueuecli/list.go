package enqueuecli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

const defaultListLimit = 500

// listFlags say which tenants are of interest. Empty ones match all.
type listFlags struct {
	phase, tier, region, state string
	unsettled                  bool
	after                      string
	limit                      int
}

func (a *app) listCommand() *cobra.Command {
	var flags listFlags

	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tenants, and whether the fleet is paused",
		Long: `List tenants by id, a line for each, and whether the fleet is paused. The flags
narrow the list down; several together must all hold.

` + statesHelp + `

The table is read as a whole, whatever is listed. If there are more than --limit,
the last line says how to go on.`,
		Example: `  enqueue list --unsettled
  enqueue list --tier enterprise --phase suspended
  enqueue list --state failed --output json | jq -r '.tenants[].tenant'
  enqueue list --limit 100 --after globex`,
		Args: noArguments,
		RunE: a.action(func(ctx context.Context, _ []string) error {
			if err := flags.check(); err != nil {
				return err
			}

			return a.listTenants(ctx, flags)
		}),
	}

	f := cmd.Flags()
	f.StringVar(&flags.phase, "phase", "", "what they shall be: "+strings.Join(phases(), "|"))
	f.StringVar(&flags.tier, "tier", "", "their tier")
	f.StringVar(&flags.region, "region", "", "their region")
	f.StringVar(&flags.state, "state", "", "how their work goes: "+strings.Join(stateNames(), "|"))
	f.BoolVar(&flags.unsettled, "unsettled", false, "only those for which something is left to do")
	f.StringVar(&flags.after, "after", "", "only those after this id")
	f.IntVar(&flags.limit, "limit", defaultListLimit, "how many to list at most")

	complete := func(flag string, values func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)) {
		// It only fails for a flag that is not there, which the tests would see.
		_ = cmd.RegisterFlagCompletionFunc(flag, values)
	}
	complete("phase", cobra.FixedCompletions(phases(), cobra.ShellCompDirectiveNoFileComp))
	complete("state", cobra.FixedCompletions(stateNames(), cobra.ShellCompDirectiveNoFileComp))
	complete("tier", a.completeTiers)
	complete("region", a.completeRegions)

	return cmd
}

func stateNames() []string {
	return []string{
		stateSettled, stateRunning, statePending, stateBackoff, stateHeld, stateFailed, stateAwaiting,
		stateAwaitingApproval, stateAwaitingCutover,
	}
}

func phases() []string {
	return []string{string(tenant.PhaseActive), string(tenant.PhaseSuspended), string(tenant.PhaseAbsent)}
}

func (f listFlags) check() error {
	for _, choice := range []struct {
		flag, value string
		of          []string
	}{{"--phase", f.phase, phases()}, {"--state", f.state, stateNames()}} {
		if choice.value != "" && !slices.Contains(choice.of, choice.value) {
			return usageError("use one of "+strings.Join(choice.of, ", "), "%s is %q", choice.flag, choice.value)
		}
	}

	if f.limit < 1 {
		return usageError("use a positive number", "--limit is %d", f.limit)
	}

	return nil
}

func (f listFlags) match(s status) bool {
	is := func(wanted, value string) bool { return wanted == "" || wanted == value }

	return is(f.phase, string(s.Phase)) && is(f.tier, s.Tier) && is(f.region, s.Region) && is(f.state, s.State) &&
		(!f.unsettled || !s.Settled) && string(s.Tenant) > f.after
}

// fleetList is the documented form of the whole: `enqueue help json`.
type fleetList struct {
	Fleet   fleetStatus `json:"fleet"`
	Tenants []status    `json:"tenants"`
	// After is the id to go on after, if there are more.
	After tenant.ID `json:"after,omitempty"`
}

func (a *app) listTenants(ctx context.Context, flags listFlags) error {
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
	now := a.now()

	err = table.List(ctx, func(rec tenant.Record) bool {
		if s := statusOf(rec, now); flags.match(s) {
			list.add(s, flags.limit)
		}

		return true
	})
	if err != nil {
		return fmt.Errorf("listing the tenants: %w", err)
	}

	list.cut(flags.limit)

	if a.wantsJSON() {
		return a.printJSON(list)
	}

	return a.printFleet(list, now)
}

// add keeps a tenant. The table has no order, so the first ones are known only
// in the end, but no more than twice as many need to be kept.
func (l *fleetList) add(s status, limit int) {
	l.Tenants = append(l.Tenants, s)

	const slack = 2
	if len(l.Tenants) >= slack*(limit+1) {
		l.sort()
		l.Tenants = slices.Delete(l.Tenants, limit+1, len(l.Tenants))
	}
}

func (l *fleetList) cut(limit int) {
	l.sort()

	if len(l.Tenants) > limit {
		l.Tenants = l.Tenants[:limit]
		l.After = l.Tenants[limit-1].Tenant
	}
}

func (l *fleetList) sort() {
	slices.SortFunc(l.Tenants, func(x, y status) int { return cmp.Compare(x.Tenant, y.Tenant) })
}

func (a *app) printFleet(list fleetList, now time.Time) error {
	if list.Fleet.Paused {
		a.talkf("the fleet is paused (%s): no operation starts", list.Fleet.Reason)
	}

	if len(list.Tenants) == 0 {
		a.talkf("there are no such tenants")

		return nil
	}

	err := a.table(func(w io.Writer) {
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

	if list.After != "" {
		a.talkf("there are more: go on with --after %s", list.After)
	}

	return err
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}

	return s
}
