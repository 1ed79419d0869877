package enqueuecli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	defaultTimeout = 30 * time.Minute
	// callTimeout bounds one call to the table or the queue, retries of the
	// SDK included.
	callTimeout = 30 * time.Second
)

// waitFlags are the flags of commands that can see their work through.
type waitFlags struct {
	wait    bool
	timeout time.Duration
	set     *pflag.FlagSet
}

func (f *waitFlags) register(cmd *cobra.Command) {
	f.set = cmd.Flags()
	cmd.Flags().BoolVarP(&f.wait, "wait", "w", false, "wait until the work is done, and show how far it is")
	cmd.Flags().DurationVar(&f.timeout, "timeout", defaultTimeout, "with --wait: how long")
}

func (f *waitFlags) check() error {
	if f.timeout <= 0 {
		return usageError("give a duration such as 10m", "--timeout must be above zero, not %s", f.timeout)
	}

	return nil
}

// sendFlags are the flags of commands that make an event.
type sendFlags struct {
	waitFlags

	dryRun bool
	id     string
}

func (f *sendFlags) register(cmd *cobra.Command) {
	f.waitFlags.register(cmd)
	registerDryRun(cmd, &f.dryRun, "print the exact message and send nothing")
	cmd.Flags().StringVar(&f.id, "id", "",
		"id of the event; a second event of the same id changes nothing (default a new ULID)")
}

func registerDryRun(cmd *cobra.Command, into *bool, usage string) {
	cmd.Flags().BoolVarP(into, "dry-run", "n", false, usage)
}

// guard refuses an event that makes no sense for the tenant as it is, and
// completes one that says what only the row knows.
type guard func(rec tenant.Record, e *tenant.Event) error

// submit makes a message of an event, sends it and waits for it as the flags
// say.
func (a *app) submit(ctx context.Context, flags sendFlags, name string, e tenant.Event, check guard) error {
	if err := flags.check(); err != nil {
		return err
	}

	id, err := tenant.ParseID(name)
	if err != nil {
		return err
	}

	order, err := a.settings().order()
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

	e.Tenant, e.ID = id, flags.id
	if e.ID == "" {
		e.ID = a.newID()
	} else if accepted(rec.Desired, e.ID) {
		return a.repeat(ctx, flags, table, e)
	}

	if err := check(rec, &e); err != nil {
		return err
	}

	msg, err := a.compose(e, rec, order)
	if err != nil {
		return err
	}

	return a.dispatch(ctx, flags, table, rec, msg)
}

// dispatch prints or sends one message.
func (a *app) dispatch(ctx context.Context, flags sendFlags, table rows, rec tenant.Record, msg message) error {
	if flags.dryRun {
		a.talkf("dry run: nothing is sent")

		return a.printf("%s\n", msg.body)
	}

	queue, err := a.sender(ctx)
	if err != nil {
		return err
	}

	messageID, err := send(ctx, queue, msg)
	if err != nil {
		return err
	}

	w := newAwaited(msg, messageID, foresee(rec, msg.event))

	if rec.Hold != "" && msg.event.Type != tenant.EventNudged {
		a.talkf("warning: %s is on hold (%s): nothing starts before `enqueue unhold %s`", rec.ID, rec.Hold, rec.ID)
	}

	if flags.wait {
		return a.await(ctx, flags.timeout, table, []*awaited{w})
	}

	return a.printReceipts(w)
}

// repeat answers a second use of the same id. The first event is accepted, so
// another one would only cost work.
func (a *app) repeat(ctx context.Context, flags sendFlags, table rows, e tenant.Event) error {
	a.talkf("event %s was accepted before: nothing is sent", e.ID)

	if flags.dryRun {
		return nil
	}

	w := newAwaited(message{event: e}, "", verdictDuplicate)

	if flags.wait {
		return a.await(ctx, flags.timeout, table, []*awaited{w})
	}

	return a.printReceipts(w)
}

func readRow(ctx context.Context, table rows, id tenant.ID) (tenant.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	rec, err := table.Get(ctx, id)
	if err != nil {
		return tenant.Record{}, tableError("reading the row of "+id.String(), err)
	}

	return rec, nil
}

// tableError tells a table that cannot be reached from one that answers with
// an error.
func tableError(doing string, err error) error {
	if hintFor(err) == hintNoAnswer {
		doing = "the table of tenants is not reachable: " + doing
	}

	return fmt.Errorf("%s: %w", doing, err)
}

func send(ctx context.Context, queue sender, msg message) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()

	id, err := queue.Send(ctx, msg.body)
	if err != nil {
		return "", fmt.Errorf("sending %s for %s: %w", event.TypeName(msg.event.Type), msg.event.Tenant, err)
	}

	return id, nil
}

// receipt is the answer of a command that sends: `enqueue help json`.
type receipt struct {
	Tenant    tenant.ID `json:"tenant"`
	Type      string    `json:"type"`
	EventID   string    `json:"eventId"`
	MessageID string    `json:"messageId,omitempty"`
	Result    verdict   `json:"result"`
	Sequence  int64     `json:"sequence,omitempty"`
	Seconds   float64   `json:"seconds,omitempty"`
	Status    *status   `json:"status,omitempty"`
}

func (a *app) receiptOf(w *awaited) receipt {
	r := receipt{
		Tenant:    w.msg.event.Tenant,
		Type:      event.TypeName(w.msg.event.Type),
		EventID:   w.msg.event.ID,
		MessageID: w.messageID,
		Result:    w.result(),
		Sequence:  w.target,
		Seconds:   w.took.Seconds(),
	}

	if w.seen {
		s := statusOf(w.rec, a.now())
		r.Status = &s
	}

	return r
}

// printReceipts prints one document, or one line for each of several.
func (a *app) printReceipts(all ...*awaited) error {
	for _, w := range all {
		r := a.receiptOf(w)

		var err error

		switch {
		case !a.wantsJSON():
			err = a.printReceipt(w, r)
		case len(all) == 1:
			err = a.printJSON(r)
		default:
			err = a.printLine(r)
		}

		if err != nil {
			return err
		}
	}

	return nil
}

// resources is how many there are, if the last operation could tell.
func resources(last *tenant.Outcome) string {
	if last == nil || last.Resources < 0 {
		return ""
	}

	return fmt.Sprintf(", %d resources", last.Resources)
}

// reports is true of an event whose sender wants to read a report.
func reports(t tenant.EventType) bool {
	return t == tenant.EventReprovision || t == tenant.EventRefresh || t == tenant.EventPreview
}

func (a *app) printReceipt(w *awaited, r receipt) error {
	var err error

	switch r.Result {
	case verdictSettled, verdictFailed:
		err = a.printf("%s: %s, sequence %d%s, %s\n", r.Tenant, a.painter(a.stdout).state(string(r.Result)), r.Sequence,
			resources(w.rec.Last), elapsed(w.took))
	case verdictSent, verdictDuplicate, verdictStale, verdictKept:
		err = a.printf("%s: %s %s, event %s\n", r.Tenant, r.Type, r.Result, r.EventID)
	}

	if err != nil {
		return err
	}

	// The report is what a preview or a refresh was asked for.
	if reports(w.msg.event.Type) && r.Result == verdictSettled && w.rec.Last != nil {
		return a.printReport(w.rec.Last.Report)
	}

	return nil
}
