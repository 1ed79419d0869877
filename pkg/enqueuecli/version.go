package enqueuecli

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

const develVersion = "devel"

// buildVersion is the module's version, or the commit of a build from a tree.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return develVersion
	}

	return info.Main.Version
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this program",
		Example: "  enqueue version\n  enqueue version --output json",
		Args:    noArguments,
		RunE: a.action(func(context.Context, []string) error {
			if a.wantsJSON() {
				return a.printJSON(map[string]string{"version": a.version, "go": runtime.Version()})
			}

			return a.printf("enqueue %s (%s)\n", a.version, runtime.Version())
		}),
	}
}
