package enqueuecli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const (
	groupLifecycle  = "lifecycle"
	groupRequests   = "requests"
	groupOperations = "operations"
)

const rootLong = `enqueue sends tenant events to a fleet of lessor workers and shows what became
of them.

An event says what a tenant shall be; the workers make it so. A command that
sends is done once the queue has the message: add --wait to see it through.`

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "enqueue",
		Short: "Send tenant events to the fleet and see what became of them",
		Long:  rootLong,
		Example: `  enqueue provision acme --tier standard --region eu-west-1 --wait
  enqueue status acme
  enqueue tier acme enterprise --wait`,
		SilenceErrors:      true,
		SilenceUsage:       true,
		DisableSuggestions: true,
		Args:               noSuchCommand,
		RunE:               func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		CompletionOptions:  cobra.CompletionOptions{DisableDefaultCmd: true},
	}

	a.flags.register(root.PersistentFlags())
	_ = root.RegisterFlagCompletionFunc("output", words(outputText, outputJSON))
	_ = root.RegisterFlagCompletionFunc("event-order", words("time", "sequence"))

	root.AddGroup(
		&cobra.Group{ID: groupLifecycle, Title: "What a tenant shall be:"},
		&cobra.Group{ID: groupRequests, Title: "Work that changes no fact:"},
		&cobra.Group{ID: groupOperations, Title: "Running the fleet:"},
	)
	addTo(root, groupLifecycle, a.provisionCommand(), a.updateCommand(), a.tierCommand(), a.suspendCommand(),
		a.resumeCommand(), a.deprovisionCommand(), a.sendCommand())
	addTo(root, groupRequests, a.reprovisionCommand(), a.refreshCommand(), a.previewCommand(), a.approveCommand(),
		a.confirmCommand(), a.retireCommand())
	addTo(root, groupOperations, a.statusCommand(), a.listCommand(), a.holdCommand(), a.unholdCommand(), a.pauseCommand(),
		a.unpauseCommand(), a.dlqCommand(), a.orphansCommand())
	root.AddCommand(a.versionCommand(), completionCommand())
	root.AddCommand(topics()...)
	root.SetHelpCommand(helpCommand())

	return root
}

func addTo(parent *cobra.Command, group string, commands ...*cobra.Command) {
	for _, cmd := range commands {
		cmd.GroupID = group
		parent.AddCommand(cmd)
	}
}

// noSuchCommand refuses words that are no command, and guesses what was meant.
func noSuchCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}

	hint := "see `" + cmd.CommandPath() + " --help`"
	// Zero would make cobra guess nothing.
	cmd.SuggestionsMinimumDistance = max(cmd.SuggestionsMinimumDistance, suggestionDistance)

	if guesses := cmd.SuggestionsFor(args[0]); len(guesses) > 0 {
		hint = "did you mean `" + cmd.CommandPath() + " " + strings.Join(guesses, "` or `"+cmd.CommandPath()+" ") + "`?"
	}

	return usageError(hint, "unknown command %q for %q", args[0], cmd.CommandPath())
}

const suggestionDistance = 2

func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [command or topic]",
		Short:   "Explain a command or a topic",
		Example: "  enqueue help provision\n  enqueue help exit-codes",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
			target, _, err := cmd.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}

			var names []string

			for _, sub := range target.Commands() {
				if !sub.Hidden && strings.HasPrefix(sub.Name(), prefix) {
					names = append(names, fmt.Sprintf("%s\t%s", sub.Name(), sub.Short))
				}
			}

			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			target, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = noSuchCommand(target, rest)
			}

			if err != nil {
				return err
			}

			return target.Help()
		},
	}
}

// topics are help pages that belong to no command. Cobra lists commands that
// cannot be run as topics.
func topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "Exit codes", Long: exitCodesHelp},
		{Use: "environment", Short: "Environment variables", Long: environmentHelp},
		{Use: "json", Short: "The form of --output json", Long: jsonHelp},
	}
}

const environmentHelp = `Every setting is a flag or an environment variable; the flag wins.

  LESSOR_QUEUE_URL              queue of events; for all that sends
  LESSOR_DEAD_LETTER_QUEUE_URL  dead-letter queue; for dlq
  LESSOR_TABLE                  table of tenants (default lessor-tenants)
  LESSOR_EVENT_ORDER            how the fleet orders facts: time (default) or
                                sequence; must be what the workers have
  LESSOR_CATALOG                catalog file; only to complete names of tiers
  LESSOR_REGIONS                allowed regions; to complete them, and where
                                orphans looks besides those of the tenants
  NO_COLOR                      any value: no colours

AWS_REGION, AWS_PROFILE, AWS_ENDPOINT_URL and the other variables of the AWS
SDK mean what they always mean.

What the credentials must allow:

  sqs:SendMessage on the queue, dynamodb:GetItem on the table
                                everything that sends, except send without
                                --wait, which needs no table
  dynamodb:GetItem, Scan        status
  dynamodb:UpdateItem           hold, unhold, pause, unpause
  sqs:ReceiveMessage, ChangeMessageVisibility, DeleteMessage
                                dlq, on the dead-letter queue
  dynamodb:GetItem, Scan, s3:GetObject on the state buckets, tag:GetResources,
  kms:DescribeKey, sts:AssumeRole on the roles of tiers
                                orphans; a tier's role needs tag:GetResources and
                                kms:DescribeKey itself`
