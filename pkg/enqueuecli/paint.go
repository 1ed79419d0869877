package enqueuecli

import "io"

const (
	ansiReset  = "\x1b[0m"
	ansiDim    = "\x1b[2m"
	ansiRed    = "\x1b[31m"
	ansiGreen  = "\x1b[32m"
	ansiYellow = "\x1b[33m"
)

// painter colours words where that is wanted.
type painter struct{ on bool }

// painter paints for terminals only, and never against NO_COLOR
// (https://no-color.org) or a terminal that cannot.
func (a *app) painter(w io.Writer) painter {
	noColor, _ := a.lookuper.Lookup("NO_COLOR")
	kind, _ := a.lookuper.Lookup("TERM")

	return painter{on: a.width(w) > 0 && noColor == "" && kind != "dumb"}
}

func (p painter) paint(colour, s string) string {
	if !p.on || s == "" {
		return s
	}

	return colour + s + ansiReset
}

func (p painter) bad(s string) string { return p.paint(ansiRed, s) }

func (p painter) dim(s string) string { return p.paint(ansiDim, s) }

func (p painter) state(s string) string {
	switch s {
	case stateSettled:
		return p.paint(ansiGreen, s)
	case stateFailed, stateAwaitingApproval:
		return p.paint(ansiRed, s)
	}

	return p.paint(ansiYellow, s)
}
