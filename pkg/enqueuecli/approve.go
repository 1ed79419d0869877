package enqueuecli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func (a *app) approveCommand() *cobra.Command {
	var (
		flags sendFlags
		e     = tenant.Event{Type: tenant.EventApproved}
	)

	cmd := &cobra.Command{
		Use:   "approve TENANT",
		Short: "Let an operation go on that the guard of the tier stopped",
		Long: `Let an operation go on that the guard of the tier stopped, because it would delete
or replace more than that allows. What it would do is printed, and the approval
holds for that alone: if it has become more by the time it runs, it stops again.

With --operation it is sent only if that operation is the one that waits.`,
		Example: `  enqueue approve acme --reason "the cache may go" --wait
  enqueue approve acme --operation 01JQ8M7C4H8K2V5N9T3W6X0Y1Z`,
		Args:              oneTenant,
		ValidArgsFunction: a.completeTenantsThat(awaitsApproval),
		RunE: a.action(func(ctx context.Context, args []string) error {
			return a.submit(ctx, flags, args[0], e, a.approvable)
		}),
	}

	flags.register(cmd)
	cmd.Flags().StringVar(&e.Operation, "operation", "", "the operation that is meant (default the one that waits)")
	cmd.Flags().StringVar(&e.Reason, "reason", "", "why, for people who look later")

	return cmd
}

// approvable names the operation that waits, and says what it would do.
func (a *app) approvable(rec tenant.Record, e *tenant.Event) error {
	if !rec.Exists() {
		return absent(rec, "")
	}

	look := "see `enqueue status " + rec.ID.String() + "`"

	switch {
	case rec.Pending != nil && rec.NeedsWork() && rec.Desired.Approval.Value.Operation == rec.Pending.Operation:
		return fail(exitConflict, "see how it goes with `enqueue status "+rec.ID.String()+" --watch`",
			"operation %s of tenant %s is approved already", rec.Pending.Operation, rec.ID)
	case rec.Pending != nil && rec.NeedsWork():
		return fail(exitConflict, look+", and approve what waits then, if anything does",
			"tenant %s was changed after operation %s was stopped: it is looked at anew", rec.ID, rec.Pending.Operation)
	case !awaitsApproval(rec):
		return fail(exitConflict, look, "nothing of tenant %s waits for approval", rec.ID)
	case e.Operation != "" && e.Operation != rec.Pending.Operation:
		return fail(exitConflict, look+" for what that would do", "operation %s does not wait for approval, but %s does", e.Operation,
			rec.Pending.Operation)
	}

	e.Operation = rec.Pending.Operation
	a.talkf("operation %s of %s, stopped at %s, will go on and:", e.Operation, rec.ID, rec.Pending.At.UTC().Format(time.RFC3339))

	for _, d := range rec.Pending.Report {
		a.talkf("  %s", difference(d))
	}

	return nil
}
