package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sethvargo/go-envconfig"

	"github.com/lessor-dev/lessor/pkg/config"
	"github.com/lessor-dev/lessor/pkg/engine"
)

// Exit codes of the worker.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

const usage = `The lessor worker: takes tenant events from SQS and runs one Pulumi stack per tenant.

Usage:
  worker            run until SIGTERM, then drain (a second SIGTERM shortens the drain)
  worker check      validate configuration, catalog, permissions and versions, and exit
  worker version    print the versions of the worker and of what it uses
  worker help       print this text

The worker is configured by the environment only: see the README for the variables.

Examples:
  LESSOR_QUEUE_URL=… LESSOR_CATALOG=catalog.yaml worker check
  LESSOR_LOG_FORMAT=text LESSOR_LOG_LEVEL=debug worker
`

// Main is a worker that knows programs. It does not return.
//
//	func main() { worker.Main(programs.All()) }
func Main(programs engine.Programs) {
	os.Exit(run(programs, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

func run(programs engine.Programs, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	command := ""
	if len(args) > 0 {
		command = args[0]
	}

	switch {
	case len(args) > 1:
		return usageError(stderr, fmt.Sprintf("too many arguments: %q", args[1:]))
	case command == engine.ChildArgument:
		return engine.Child(context.Background(), programs, stdin, stdout)
	case command == "":
		return report(stderr, serve(programs, stderr))
	case command == "check":
		return report(stderr, check(programs, stdout))
	case command == "version":
		return report(stderr, printVersion(stdout))
	case command == "help" || command == "--help" || command == "-h":
		fmt.Fprint(stdout, usage)

		return exitOK
	default:
		return usageError(stderr, fmt.Sprintf("unknown command %q", command))
	}
}

func usageError(stderr io.Writer, problem string) int {
	fmt.Fprintf(stderr, "error: %s\nhint: run `worker help`\n", problem)

	return exitUsage
}

// report prints what stopped the worker. The log is not used, because it may
// be the configuration of the log that is wrong.
func report(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}

	fmt.Fprintf(stderr, "error: %v\n", err)

	return exitFailure
}

// errTerminated is the cause of a drain.
var errTerminated = errors.New("the process was told to stop")

// serve runs the worker until a signal.
func serve(programs engine.Programs, stderr io.Writer) error {
	signals := make(chan os.Signal, signalBuffer)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)

	defer signal.Stop(signals)

	cfg, err := config.LoadWorker(context.Background(), envconfig.OsLookuper())
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}

	a, err := assemble(context.Background(), cfg, programs, stderr)
	if err != nil {
		return err
	}

	ctx, stop := context.WithCancelCause(context.Background())
	defer stop(nil)

	hurry := make(chan struct{}, 1)

	go func() {
		<-signals
		stop(errTerminated)
		<-signals

		hurry <- struct{}{}
	}()

	return a.run(ctx, hurry)
}

// signalBuffer keeps a second signal that comes right after the first.
const signalBuffer = 2
