package enqueuecli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// clearScreen also moves to its first line.
const clearScreen = "\x1b[H\x1b[J"

// watchTenant shows a tenant until ctx is over, or the timeout if that is above
// zero. Neither is an error: nothing was waited for.
func (a *app) watchTenant(ctx context.Context, timeout time.Duration, name string) error {
	table, rec, err := a.known(ctx, name)
	if err != nil {
		return err
	}

	if timeout > 0 {
		var cancel context.CancelFunc

		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}

	shown, failures := a.newView(), 0

	for {
		if err := shown.hold(ctx, a.statusNow(ctx, rec), pollMax); err != nil || ctx.Err() != nil {
			return err
		}

		newest, err := readRow(ctx, table, rec.ID)

		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			rec, failures = newest, 0
		default:
			failures++
			if failures >= maxReadFailures {
				return err
			}
		}
	}
}

// view shows a tenant again and again.
type view struct {
	app           *app
	width, height int

	// last is what was shown, and rest is that without the progress of the
	// operation.
	last, rest string
}

func (a *app) newView() *view {
	return &view{app: a, width: a.width(a.stdout), height: a.height(a.stdout)}
}

// hold shows a status for a while, and on a terminal keeps its clocks going.
func (v *view) hold(ctx context.Context, s status, while time.Duration) error {
	for while > 0 {
		if err := v.show(s); err != nil {
			return err
		}

		slice := min(while, time.Second)
		while -= slice

		timer := time.NewTimer(slice)
		select {
		case <-ctx.Done():
			timer.Stop()

			return nil
		case <-timer.C:
		}
	}

	return nil
}

func (v *view) show(s status) error {
	if !v.app.wantsJSON() && v.width > 0 {
		return v.draw(s)
	}

	first := v.last == ""
	last, rest := essence(s)

	if last == v.last {
		return nil
	}

	progressed := rest == v.rest
	v.last, v.rest = last, rest

	switch {
	case v.app.wantsJSON():
		return v.app.printLine(s)
	case progressed && s.Operation != nil:
		o := s.Operation

		return v.app.printf("%s %s: %s %d/%d resources\n", v.app.now().UTC().Format(time.RFC3339), o.ID, o.Step, o.Done, o.Planned)
	case !first:
		if err := v.app.printf("\n%s\n", v.app.now().UTC().Format(time.RFC3339)); err != nil {
			return err
		}
	}

	return v.app.printStatus(s)
}

// essence is a status without what changes all the time, and that without the
// progress of the operation.
func essence(s status) (all, rest string) {
	s.UpdatedAt = nil

	if s.Lease != nil {
		held := *s.Lease
		held.Until = nil
		s.Lease = &held
	}

	if s.Operation != nil {
		running := *s.Operation
		running.UpdatedAt = time.Time{}
		s.Operation = &running
	}

	all = encoded(s)
	s.Operation = nil

	return all, encoded(s)
}

// encoded cannot fail for what came out of a row.
func encoded(s status) string {
	text, _ := json.Marshal(s) //nolint:errchkjson // see above

	return string(text)
}

// draw fills the screen anew.
func (v *view) draw(s status) error {
	var block strings.Builder

	w := tabwriter.NewWriter(&block, 0, 0, columnPadding, ' ', 0)
	v.app.statusLines(s)(w)

	if err := w.Flush(); err != nil {
		return fmt.Errorf("laying out the status: %w", err)
	}

	lines := strings.Split(strings.TrimSuffix(block.String(), "\n"), "\n")
	for i, line := range lines {
		// Colours take no room, and the one line that has some is short.
		if !strings.Contains(line, "\x1b") {
			lines[i] = fit(line, "", v.width-1)
		}
	}

	// One line is for the clock, and one for the cursor.
	const own = 2
	if room := max(1, v.height-own); v.height > 0 && len(lines) > room {
		lines = append(lines[:room-1], "…")
	}

	clock := v.app.painter(v.app.stdout).dim(v.app.now().UTC().Format(time.RFC3339) + ", ctrl-C ends")

	return v.app.printf("%s%s\n%s\n", clearScreen, strings.Join(lines, "\n"), clock)
}
