package enqueuecli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/sethvargo/go-envconfig"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Main runs one command line, given without the name of the program, and
// returns its exit code. Cancelling ctx is what ctrl-C does.
func Main(
	ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, lookuper envconfig.Lookuper,
) int {
	a := &app{
		stdin:    stdin,
		stdout:   stdout,
		stderr:   stderr,
		lookuper: lookuper,
		connect:  awsConnector{},
		now:      time.Now,
		newID:    func() string { return ulid.Make().String() },
		width:    terminalWidth,
		height:   terminalHeight,
		version:  buildVersion(),
	}

	return a.run(ctx, args)
}

// app is one run of the command line and what it needs of the world.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	lookuper       envconfig.Lookuper
	connect        connector
	now            func() time.Time
	newID          func() string
	// width is how many columns a writer has, 0 if it is no terminal.
	width func(io.Writer) int
	// height is how many lines it has then, 0 if nobody knows.
	height  func(io.Writer) int
	version string

	flags globalFlags
}

func (a *app) run(ctx context.Context, args []string) int {
	root := a.rootCommand() //nolint:contextcheck // cobra hands it to the commands
	// A nil slice would make cobra read the arguments of the process.
	root.SetArgs(append([]string{}, args...))
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)

	cmd, err := root.ExecuteContextC(ctx)

	return a.report(cmd, err)
}

// report tells of an error and returns the exit code.
func (a *app) report(cmd *cobra.Command, err error) int {
	if err == nil {
		return exitDone
	}

	exit, ok := errors.AsType[*exitError](err)
	if !ok {
		// Commands classify their errors, so this one is cobra's: it could
		// not make sense of the command line.
		exit = &exitError{code: exitUsage, err: err, hint: "see `" + cmd.CommandPath() + " --help`"}
	}

	paint := a.painter(a.stderr)
	a.say(paint.bad("error:") + " " + printableLines(strings.TrimSpace(err.Error())))

	if exit.hint != "" {
		a.say(paint.dim("hint:") + " " + printable(exit.hint))
	}

	return exit.code
}

// talkf writes a line for people.
func (a *app) talkf(format string, args ...any) { a.say(printable(fmt.Sprintf(format, args...))) }

// say writes a line. A closed standard error is no reason to fail.
func (a *app) say(line string) { _, _ = io.WriteString(a.stderr, line+"\n") }

// action is the body of a command; its errors get their exit code here.
func (*app) action(body func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx := cmd.Context()

		return classify(ctx, body(ctx, args))
	}
}

func terminalWidth(w io.Writer) int {
	width, _ := terminalSize(w)

	return width
}

func terminalHeight(w io.Writer) int {
	_, height := terminalSize(w)

	return height
}

func terminalSize(w io.Writer) (width, height int) {
	file, ok := w.(*os.File)
	if !ok {
		return 0, 0
	}

	width, height, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0, 0
	}

	return width, height
}
