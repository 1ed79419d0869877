package enqueuecli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func (a *app) sendCommand() *cobra.Command {
	var (
		waiting waitFlags
		dryRun  bool
		file    string
	)

	cmd := &cobra.Command{
		Use:   "send -f FILE",
		Short: "Send events from a file, exactly as they are",
		Long: `Send events from a file, exactly as they are: one event, or one event per line.

Every event is checked before the first one is sent. Sending a file again is
safe: events that were accepted before change nothing.`,
		Example: `  enqueue send -f event.json --wait
  enqueue suspend acme --dry-run | enqueue send -f -`,
		Args:              noArguments,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: a.action(func(ctx context.Context, _ []string) error {
			if err := waiting.check(); err != nil {
				return err
			}

			content, err := readInput(file, a.stdin)
			if err != nil {
				return err
			}

			order, err := a.settings().order()
			if err != nil {
				return err
			}

			messages, err := checkAll(content, inputName(file), event.NewDecoder(order, a.now))
			if err != nil {
				a.talkf("nothing is sent")

				return err
			}

			if dryRun {
				return a.showAll(messages)
			}

			return a.sendAll(ctx, waiting, messages)
		}),
	}

	waiting.register(cmd)
	registerDryRun(cmd, &dryRun, "check the events, print them and send nothing")
	cmd.Flags().StringVarP(&file, "file", "f", "", "file of events, - for standard input")
	_ = cmd.MarkFlagRequired("file")

	return cmd
}

// showAll is the dry run.
func (a *app) showAll(messages []message) error {
	a.talkf("dry run: nothing is sent")

	for _, m := range messages {
		if err := a.printf("%s\n", m.body); err != nil {
			return err
		}
	}

	return nil
}

// sendAll needs the table only to wait.
func (a *app) sendAll(ctx context.Context, waiting waitFlags, messages []message) error {
	queue, err := a.sender(ctx)
	if err != nil {
		return err
	}

	foreseen := make([]verdict, len(messages))

	var table rows

	if waiting.wait {
		if table, err = a.rows(ctx); err != nil {
			return err
		}

		if foreseen, err = foreseeAll(ctx, table, messages); err != nil {
			return err
		}
	}

	sent := make([]*awaited, 0, len(messages))

	for i, m := range messages {
		id, err := send(ctx, queue, m)
		if err != nil {
			return partlySent(a.printReceipts(sent...), err, m, i, len(messages))
		}

		w := newAwaited(m, id, verdictSent)
		if waiting.wait {
			w.foreseen = foreseen[i]
		}

		sent = append(sent, w)
	}

	if waiting.wait {
		return a.await(ctx, waiting.timeout, table, sent)
	}

	return a.printReceipts(sent...)
}

// partlySent says where sending stopped.
func partlySent(printing, err error, m message, sent, of int) error {
	if printing != nil || of == 1 {
		return errors.Join(printing, err)
	}

	return &exitError{
		code: exitFailure,
		err:  fmt.Errorf("%d of %d events are sent, the one in line %d is not: %w", sent, of, m.line, err),
		hint: strings.TrimPrefix(hintFor(err)+"; send the file again: what was accepted before changes nothing", "; "),
	}
}

// foreseeAll says what each event will change. Events of one tenant build on
// each other.
func foreseeAll(ctx context.Context, table rows, messages []message) ([]verdict, error) {
	known := map[tenant.ID]tenant.Record{}
	out := make([]verdict, len(messages))

	for i, m := range messages {
		id := m.event.Tenant

		rec, ok := known[id]
		if !ok {
			var err error
			if rec, err = readRow(ctx, table, id); err != nil {
				return nil, err
			}
		}

		out[i] = foresee(rec, m.event)
		rec.Desired, _ = tenant.Apply(rec.Desired, m.event)
		known[id] = rec
	}

	return out, nil
}

// document is one JSON value of a file and the line where it begins.
type document struct {
	body []byte
	line int
}

// checkAll reads every event of a file, or says what is wrong with each that
// is none.
func checkAll(content []byte, file string, decoder *event.Decoder) ([]message, error) {
	documents := split(content)
	if len(documents) == 0 {
		return nil, fail(exitValidation, "see `enqueue provision acme --tier free --region eu-west-1 --dry-run` for an event",
			"%s holds no event", file)
	}

	var (
		messages []message
		problems []string
		hints    []string
	)

	for _, d := range documents {
		e, err := decoder.Decode(d.body)
		if err == nil {
			messages = append(messages, message{event: e, body: d.body, line: d.line})

			continue
		}

		problem := err.Error()

		if invalid, ok := errors.AsType[*event.InvalidError](err); ok {
			problem = withoutHint(invalid).Error()

			if invalid.Hint != "" {
				hints = append(hints, invalid.Hint)
			}
		}

		problems = append(problems, fmt.Sprintf("%s, line %d: %s", file, d.line, problem))
	}

	if len(problems) == 0 {
		return messages, nil
	}

	hint := ""
	if len(hints) > 0 {
		hint = hints[0]
	}

	if len(problems) == 1 {
		return nil, fail(exitValidation, hint, "%s", problems[0])
	}

	return nil, fail(exitValidation, hint, "%d of %d events are invalid:\n  %s", len(problems), len(documents),
		strings.Join(problems, "\n  "))
}

// split finds the documents of a file: one per line if the first line is one,
// else values one after the other, each over as many lines as it likes. What
// cannot be read is a document too, for the decoder to refuse.
func split(content []byte) []document {
	first, _, _ := bytes.Cut(bytes.TrimSpace(content), []byte("\n"))
	if json.Valid(first) {
		return splitLines(content)
	}

	var out []document

	for offset := 0; ; {
		offset += len(content[offset:]) - len(bytes.TrimLeft(content[offset:], " \t\r\n"))
		if offset == len(content) {
			return out
		}

		line := 1 + bytes.Count(content[:offset], []byte("\n"))
		stream := json.NewDecoder(bytes.NewReader(content[offset:]))

		var value json.RawMessage
		if err := stream.Decode(&value); err != nil {
			return append(out, document{body: bytes.TrimSpace(content[offset:]), line: line})
		}

		out = append(out, document{body: value, line: line})
		offset += int(stream.InputOffset())
	}
}

func splitLines(content []byte) []document {
	var out []document

	for i, line := range bytes.Split(content, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			out = append(out, document{body: line, line: i + 1})
		}
	}

	return out
}
