package enqueuecli

import (
	"context"
	"io"
	"time"

	"github.com/sethvargo/go-envconfig"
	"github.com/spf13/cobra"
)

type (
	Connector   = connector
	Settings    = settings
	Sender      = sender
	Rows        = rows
	Fleet       = fleet
	FleetState  = fleetState
	DeadLetters = deadLetters
	DeadLetter  = deadLetter
	Cloud       = cloud
	States      = states
	Place       = place
)

var ErrAbsent = errAbsent

// Load reads a configuration struct, as the real ports do.
func (s settings) Load(ctx context.Context, into any) error { return s.load(ctx, into) }

// Region and Role are where a Cloud looks, and as whom.
func (p place) Region() string { return p.region }

func (p place) Role() string { return p.role }

// Need is an error if a variable has no value.
func (s settings) Need(env string) error { return s.need(env) }

// World is what a run of the command line needs in a test.
type World struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Env            map[string]string
	Connector      Connector
	Now            func() time.Time
	NewID          func() string
	Width, Height  int
}

func (w World) app() *app {
	return &app{
		stdin: w.Stdin, stdout: w.Stdout, stderr: w.Stderr,
		lookuper: envconfig.MapLookuper(w.Env),
		connect:  w.Connector,
		now:      w.Now,
		newID:    w.NewID,
		width:    func(io.Writer) int { return w.Width },
		height:   func(io.Writer) int { return w.Height },
		version:  "v1.2.3",
	}
}

// Run is Main in a world of the test's making.
func Run(ctx context.Context, w World, args ...string) int { return w.app().run(ctx, args) }

// Root is the tree of commands.
func Root() *cobra.Command { return World{}.app().rootCommand() }

var (
	Elapsed       = elapsed
	Fit           = fit
	TerminalWidth = terminalWidth
)
