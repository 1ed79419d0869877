package enqueuecli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const defaultDeadLetterLimit = 100

func (a *app) dlqCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dlq",
		Short: "Look after messages that no worker could make use of",
		Long: `Look after messages that no worker could make use of. Each carries the reason
why it was set aside; most will not get better by themselves.

Messages are looked at by receiving them, so one may be missing from a list for
a moment while somebody else looks at it.`,
		Example: "  enqueue dlq list\n  enqueue dlq show 7d1f1a7e\n  enqueue dlq redrive --all",
		Args:    noSuchCommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}

	cmd.AddCommand(a.dlqListCommand(), a.dlqShowCommand(), a.dlqRedriveCommand(), a.dlqDropCommand())

	return cmd
}

// deadLetterView is the documented form of a dead letter: `enqueue help json`.
type deadLetterView struct {
	ID           string     `json:"id"`
	ReasonCode   string     `json:"reasonCode,omitempty"`
	Reason       string     `json:"reason,omitempty"`
	Tenant       string     `json:"tenant,omitempty"`
	Type         string     `json:"type,omitempty"`
	OriginalID   string     `json:"originalMessageId,omitempty"`
	SentAt       *time.Time `json:"sentAt,omitempty"`
	ReceiveCount int        `json:"receiveCount"`
	// Body is text, since it may be anything. Lists leave it out.
	Body string `json:"body,omitempty"`
}

func viewOf(d deadLetter) deadLetterView {
	// The body may be no event at all; what can be read of it is a help.
	var peek struct {
		Subject string `json:"subject"`
		Type    string `json:"type"`
	}

	_ = json.Unmarshal(d.Body, &peek)

	return deadLetterView{
		ID: d.ID, ReasonCode: d.ReasonCode, Reason: d.Reason, Tenant: peek.Subject, Type: peek.Type,
		OriginalID: d.OriginalID, SentAt: instant(d.SentAt), ReceiveCount: d.ReceiveCount,
	}
}

func (a *app) dlqListCommand() *cobra.Command {
	var limit int

	cmd := &cobra.Command{
		Use:               "list",
		Short:             "List dead letters and why they are here",
		Example:           "  enqueue dlq list\n  enqueue dlq list --output json | jq -r '.messages[].reason'",
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.action(func(ctx context.Context, _ []string) error {
			port, err := a.deadLetters(ctx)
			if err != nil {
				return err
			}

			letters, err := port.List(ctx, limit)
			if err != nil {
				return letterError(err)
			}

			return a.printDeadLetters(letters)
		}),
	}

	cmd.Flags().IntVar(&limit, "limit", defaultDeadLetterLimit, "how many to list at most")

	return cmd
}

func (a *app) printDeadLetters(letters []deadLetter) error {
	views := make([]deadLetterView, 0, len(letters))
	for _, d := range letters {
		views = append(views, viewOf(d))
	}

	if a.wantsJSON() {
		return a.printJSON(map[string]any{"messages": views})
	}

	if len(views) == 0 {
		a.talkf("there are no dead letters")

		return nil
	}

	return a.table(func(w io.Writer) {
		_, _ = fmt.Fprintln(w, "ID\tSENT\tTENANT\tCODE\tREASON")

		for _, v := range views {
			cells := []string{v.ID, timeCell(v.SentAt), v.Tenant, v.ReasonCode, v.Reason}
			for i, cell := range cells {
				cells[i] = orDash(printable(cell))
			}

			_, _ = fmt.Fprintln(w, strings.Join(cells, "\t"))
		}
	})
}

func timeCell(t *time.Time) string {
	if t == nil {
		return ""
	}

	return t.Format(time.RFC3339)
}

func (a *app) dlqShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Show a dead letter with its reason and its body",
		Example:           "  enqueue dlq show 7d1f1a7e\n  enqueue dlq show 7d1f1a7e --output json | jq -r .body",
		Args:              exactly("the message's id", 1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.action(func(ctx context.Context, args []string) error {
			port, err := a.deadLetters(ctx)
			if err != nil {
				return err
			}

			letter, err := port.Show(ctx, args[0])
			if err != nil {
				return letterError(err)
			}

			return a.printDeadLetter(letter)
		}),
	}
}

func (a *app) printDeadLetter(letter deadLetter) error {
	v := viewOf(letter)

	if a.wantsJSON() {
		v.Body = string(letter.Body)

		return a.printJSON(v)
	}

	err := a.table(func(w io.Writer) {
		line := func(name, value string) {
			if value != "" {
				_, _ = fmt.Fprintf(w, "%s\t%s\n", name, printable(value))
			}
		}

		line("id", v.ID)
		line("code", v.ReasonCode)
		line("reason", v.Reason)
		line("tenant", v.Tenant)
		line("type", v.Type)
		line("original id", v.OriginalID)
		line("sent", timeCell(v.SentAt))
		line("received", fmt.Sprintf("%d times", v.ReceiveCount))
	})
	if err != nil {
		return err
	}

	if err := a.printf("\n"); err != nil {
		return err
	}

	return a.printBody(letter)
}

// printBody writes a body as it is, but not to a terminal: it may hold
// anything.
func (a *app) printBody(letter deadLetter) error {
	body := string(letter.Body)
	if a.width(a.stdout) > 0 {
		body = printableLines(body)
	}

	return a.printf("%s\n", body)
}
