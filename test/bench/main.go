// Command bench measures what lessor promises, side by side with the plain way,
// and writes docs/performance.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/worker"
	"github.com/lessor-dev/lessor/test/bench/bed"
)

func main() {
	// The child of a worker has the variable no more, but the argument.
	child := len(os.Args) > 1 && os.Args[1] == engine.ChildArgument
	if child || os.Getenv(bed.WorkerVariable) != "" {
		worker.Main(allPrograms())
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	if err := command(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
}

func command(ctx context.Context) error {
	if os.Getenv(bed.PlainVariable) != "" {
		return bed.ServePlain(ctx, allPrograms(), os.Stdin, os.Stdout)
	}

	if os.Getenv(bed.LoopVariable) != "" {
		return bed.ServeLoop(ctx)
	}

	var o options

	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	flags.Usage = func() { usage(flags) }
	flags.StringVar(&o.only, "only", "", "run only these scenarios, separated by commas, and print the report")
	flags.BoolVar(&o.short, "short", false, "check the counts alone, in less than three minutes, and print the report")
	flags.StringVar(&o.out, "out", "docs/performance.md", "file to write the report of a whole run to")
	flags.StringVar(&o.binDir, "bin", ".bin", "directory of the tools, which `make tools build` fills")

	if err := flags.Parse(os.Args[1:]); err != nil {
		return err //nolint:wrapcheck // flag has told what is wrong
	}

	return run(ctx, o, os.Stdout, os.Stderr)
}

func usage(flags *flag.FlagSet) {
	fmt.Fprint(flags.Output(), `bench measures what lessor promises and writes docs/performance.md.

Examples:
  make bench                             everything, into docs/performance.md
  make bench-short                       the counts alone; fails if one is worse than promised
  .bin/bench --only operation,coalesce   two scenarios, onto the terminal

Scenarios:
`)

	for _, s := range scenarios() {
		fmt.Fprintf(flags.Output(), "  %-12s %s\n", s.name, s.title)
	}

	fmt.Fprint(flags.Output(), "\nFlags:\n")
	flags.PrintDefaults()
}
