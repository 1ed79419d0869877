package enqueuecli

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	barWidth = 20
	// reminder is after how long a plain line is repeated though nothing
	// changed, so that nobody takes the wait for dead.
	reminder = 30 * time.Second

	eraseLine = "\r\x1b[K"
)

// meter shows how far a wait is: one line that is drawn again and again on a
// terminal, a line per change elsewhere.
type meter struct {
	w     io.Writer
	width int

	drawn  bool
	last   string
	lastAt time.Duration
}

func (a *app) newMeter() *meter {
	return &meter{w: a.stderr, width: a.width(a.stderr)}
}

// progress is what the meter shows.
type progress struct {
	stage

	subject string
}

// progressOf sums up what is waited for.
func progressOf(all []*awaited, now time.Time) progress {
	if len(all) == 1 {
		return progress{subject: all[0].msg.event.Tenant.String(), stage: all[0].stage(now)}
	}

	counts := struct{ done, failed, running int }{}

	for _, w := range all {
		switch {
		case w.verdict == verdictFailed:
			counts.failed++
		case w.verdict != "":
			counts.done++
		case w.accepted && w.rec.Lease.Owner != "":
			counts.running++
		}
	}

	text := fmt.Sprintf("%d of %d done, %d running", counts.done, len(all), counts.running)
	if counts.failed > 0 {
		text += fmt.Sprintf(", %d failed", counts.failed)
	}

	return progress{subject: "events", stage: stage{text: text}}
}

func (m *meter) show(p progress, since time.Duration) {
	p.text, p.detail = printable(p.text), printable(p.detail)

	if m.width > 0 {
		m.draw(p, since)

		return
	}

	text := p.text
	if p.planned > 0 {
		text += fmt.Sprintf(" %d/%d resources", p.done, p.planned)
	}

	if text+p.detail == m.last && since-m.lastAt < reminder {
		return
	}

	m.last, m.lastAt = text+p.detail, since
	_, _ = fmt.Fprintf(m.w, "%s: %s%s%s, %s\n", p.subject, text, p.countdown, p.detail, elapsed(since))
}

func (m *meter) draw(p progress, since time.Duration) {
	line := p.subject + "  " + p.text + p.countdown + p.detail

	if p.planned > 0 {
		filled := min(p.done, p.planned) * barWidth / p.planned
		bar := strings.Repeat("#", filled) + strings.Repeat("-", barWidth-filled)
		line += fmt.Sprintf("  [%s] %d/%d resources", bar, p.done, p.planned)
	}

	m.drawn = true
	_, _ = fmt.Fprint(m.w, eraseLine+fit(line, "  "+elapsed(since), m.width-1))
}

// clear removes the line, so that what follows starts on a clean one.
func (m *meter) clear() {
	if m.drawn {
		_, _ = fmt.Fprint(m.w, eraseLine)
		m.drawn = false
	}
}

// fit cuts a line so that the whole, with its tail, stays on one row: a
// wrapped line could not be drawn again.
func fit(line, tail string, width int) string {
	room := max(0, width-len(tail))
	if utf8.RuneCountInString(line) <= room {
		return line + tail
	}

	runes := []rune(line)

	return string(runes[:max(0, room-1)]) + "…" + tail
}

// elapsed writes a duration as people say it: 1h02m, 3m05s, 12s.
func elapsed(d time.Duration) string {
	d = d.Round(time.Second)

	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60) //nolint:mnd // minutes of an hour
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60) //nolint:mnd // seconds of a minute
	}

	return fmt.Sprintf("%ds", int(d.Seconds()))
}
