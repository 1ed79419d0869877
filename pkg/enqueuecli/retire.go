package enqueuecli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func (a *app) retireCommand() *cobra.Command {
	var (
		flags sendFlags
		e     = tenant.Event{Type: tenant.EventRetire}
	)

	cmd := &cobra.Command{
		Use:   "retire TENANT",
		Short: "Remove what a tier change replaced, before its bake time ends",
		Long: `Remove what a tier change replaced, before its bake time ends, or after an
operation failed that kept it. There is no way back to it: a change back to its
tier makes everything anew. What will be removed is printed.`,
		Example: `  enqueue retire acme --reason "customer signed off the move" --wait
  enqueue retire acme --dry-run`,
		Args:              oneTenant,
		ValidArgsFunction: a.completeTenantsThat(standsBy),
		RunE: a.action(func(ctx context.Context, args []string) error {
			return a.submit(ctx, flags, args[0], e, a.retirable)
		}),
	}

	flags.register(cmd)
	cmd.Flags().StringVar(&e.Reason, "reason", "", "why, for people who look later")

	return cmd
}

// retirable says what will be removed.
func (a *app) retirable(rec tenant.Record, _ *tenant.Event) error {
	look := "see `enqueue status " + rec.ID.String() + "`"

	switch {
	case !rec.Exists():
		return absent(rec, "")
	case rec.Change != nil && !standsBy(rec):
		return fail(exitConflict, "the change can still be called off: `enqueue tier "+rec.ID.String()+" "+servingTier(rec)+"`",
			"the change of tenant %s to tier %s is not done yet: there is nothing to retire", rec.ID, rec.Change.Other.Spec.Tier)
	case rec.Change == nil:
		return fail(exitConflict, look, "nothing of tenant %s stands by: there is nothing to retire", rec.ID)
	}

	old := rec.Change.Other
	a.talkf("what tier %s (t%d) made of %s on %s will be removed%s", old.Spec.Tier, old.Generation, rec.ID,
		old.At.UTC().Format(time.DateOnly), remains(rec))

	return nil
}

// remains is what becomes of the data of what is removed.
func remains(rec tenant.Record) string {
	old := rec.Change.Other.Blueprint

	switch {
	case old.FinalSnapshot && !rec.Desired.Spec().AcceptDataLoss:
		return "; a final snapshot of its data stays"
	case old.FinalSnapshot, old.DataLoss, old.Protect:
		return ", and its data with it"
	}

	return ""
}
