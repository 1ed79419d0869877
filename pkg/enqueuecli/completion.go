package enqueuecli

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	// completionTimeout and completionLimit keep the shell quick.
	completionTimeout = 2 * time.Second
	completionLimit   = 200
)

func completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}

	return &cobra.Command{
		Use:   "completion (bash|zsh|fish|powershell)",
		Short: "Print the completion script of a shell",
		Long: `Print the completion script of a shell. It completes commands, flags, tenants
(from the table), tiers (from the catalog in LESSOR_CATALOG) and regions (from
LESSOR_REGIONS).`,
		Example: `  source <(enqueue completion bash)
  enqueue completion zsh > "${fpath[1]}/_enqueue"
  enqueue completion fish > ~/.config/fish/completions/enqueue.fish
  enqueue completion powershell | Out-String | Invoke-Expression`,
		Args:      cobra.MatchAll(exactly("the name of a shell", 1), cobra.OnlyValidArgs),
		ValidArgs: shells,
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()

			var err error

			switch args[0] {
			case "bash":
				err = root.GenBashCompletionV2(out, true)
			case "zsh":
				err = root.GenZshCompletion(out)
			case "fish":
				err = root.GenFishCompletion(out, true)
			default:
				err = root.GenPowerShellCompletionWithDesc(out)
			}

			return classify(cmd.Context(), err)
		},
	}
}

// words completes to a fixed list.
func words(all ...string) cobra.CompletionFunc {
	return cobra.FixedCompletions(all, cobra.ShellCompDirectiveNoFileComp)
}

// completeTenants completes to any tenant.
func (a *app) completeTenants(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	return a.tenantsThat(cmd, args, prefix, func(tenant.Record) bool { return true })
}

// completeTenantsThat completes to those tenants for which a command makes sense.
func (a *app) completeTenantsThat(fit func(tenant.Record) bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		return a.tenantsThat(cmd, args, prefix, fit)
	}
}

// tenantsThat reads ids from the table. A shell in which it does not work is left
// in peace.
func (a *app) tenantsThat(
	cmd *cobra.Command, args []string, prefix string, fit func(tenant.Record) bool,
) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}

	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}

	ctx, cancel := context.WithTimeout(parent, completionTimeout)
	defer cancel()

	table, err := a.rows(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}

	var ids []string

	// What was read until an error is worth having.
	_ = table.List(ctx, func(rec tenant.Record) bool {
		if strings.HasPrefix(rec.ID.String(), prefix) && fit(rec) {
			ids = append(ids, rec.ID.String())
		}

		return len(ids) < completionLimit
	})

	slices.Sort(ids)

	return ids, cobra.ShellCompDirectiveNoFileComp
}

// completeTiers reads the names of the tiers and judges nothing: workers load
// the catalog in full.
func (a *app) completeTiers(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	path, _ := a.lookuper.Lookup(envCatalog)
	if path == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}

	content, err := os.ReadFile(path)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}

	var catalog struct {
		Tiers map[string]any `yaml:"tiers"`
	}

	if err := yaml.Unmarshal(content, &catalog); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}

	tiers := make([]string, 0, len(catalog.Tiers))
	for tier := range catalog.Tiers {
		tiers = append(tiers, tier)
	}

	slices.Sort(tiers)

	return tiers, cobra.ShellCompDirectiveNoFileComp
}

func (a *app) completeRegions(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	list, _ := a.lookuper.Lookup(envRegions)

	regions := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })

	return regions, cobra.ShellCompDirectiveNoFileComp
}
