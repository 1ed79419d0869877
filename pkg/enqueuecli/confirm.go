package enqueuecli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func (a *app) confirmCommand() *cobra.Command {
	var (
		flags sendFlags
		e     = tenant.Event{Type: tenant.EventCutoverConfirmed}
	)

	cmd := &cobra.Command{
		Use:   "confirm TENANT --token TOKEN",
		Short: "Answer a tier change that waits for its data",
		Long: `Answer a tier change that waits for its data, in place of the data hook: the data
is in the new tier, which serves from now on. With --refuse it cannot get there,
and the tenant stays in its tier.

The token is what the hook was given; --token - reads it from standard input,
which keeps it out of the shell's history. It is checked before anything is sent.`,
		Example: `  enqueue confirm acme --token 6JZ3Q2M5TW7Y4XKD6VQH2C5N3A --wait
  enqueue confirm acme --token - --refuse --reason "3 of 41 tables differ" < token`,
		Args:              oneTenant,
		ValidArgsFunction: a.completeTenantsThat(asksHook),
		RunE: a.action(func(ctx context.Context, args []string) error {
			if e.Token == standardInput {
				content, err := readInput(e.Token, a.stdin)
				if err != nil {
					return err
				}

				e.Token = strings.TrimSpace(string(content))
			}

			return a.submit(ctx, flags, args[0], e, a.confirmable)
		}),
	}

	flags.register(cmd)
	cmd.Flags().StringVar(&e.Token, "token", "", "what the hook was given, - for standard input")
	cmd.Flags().BoolVar(&e.Refused, "refuse", false, "the data cannot follow")
	cmd.Flags().StringVar(&e.Reason, "reason", "", "why, for people who look later")
	_ = cmd.MarkFlagRequired("token")

	return cmd
}

// confirmable refuses what the tier change would not listen to.
func (a *app) confirmable(rec tenant.Record, e *tenant.Event) error {
	look := "see `enqueue status " + rec.ID.String() + "`"

	switch {
	case !rec.Exists():
		return absent(rec, "")
	case !asksHook(rec):
		return fail(exitConflict, look, "no tier change of tenant %s waits for its data", rec.ID)
	case !slices.Contains(rec.Change.Tokens, tenant.TokenDigest(e.Token)):
		return fail(exitConflict, "use the token of the newest request to the hook; "+look,
			"the token is not of the tier change of tenant %s that waits", rec.ID)
	}

	tier := rec.Change.Other.Spec.Tier

	if e.Refused {
		a.talkf("%s will stay in tier %s, and what was made of tier %s is removed", rec.ID, servingTier(rec), tier)
	} else {
		a.talkf("%s will be served by tier %s from now on", rec.ID, tier)
	}

	return nil
}
