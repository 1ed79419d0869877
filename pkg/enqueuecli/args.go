package enqueuecli

import (
	"strings"

	"github.com/spf13/cobra"
)

// exactly wants n arguments and says which when they are not there.
func exactly(what string, n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == n {
			return nil
		}

		hint := "usage: " + cmd.UseLine()
		if len(args) > n {
			return usageError(hint, "%s takes %s and nothing more, not %q", cmd.CommandPath(), what, strings.Join(args[n:], " "))
		}

		return usageError(hint, "%s needs %s", cmd.CommandPath(), what)
	}
}

func oneTenant(cmd *cobra.Command, args []string) error {
	return exactly("the tenant's id", 1)(cmd, args)
}

func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}

	return usageError("usage: "+cmd.UseLine(), "%s takes no argument, not %q", cmd.CommandPath(), strings.Join(args, " "))
}

func atMostOneTenant(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}

	return oneTenant(cmd, args)
}
