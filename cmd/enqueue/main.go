// Command enqueue sends tenant events to the fleet and shows what became of
// them: see `enqueue --help`, or docs/enqueue.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/sethvargo/go-envconfig"

	"github.com/lessor-dev/lessor/pkg/enqueuecli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal, a second one ends the program the hard way.
	context.AfterFunc(ctx, stop)

	os.Exit(enqueuecli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, envconfig.OsLookuper()))
}
