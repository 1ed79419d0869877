// Command localaws runs the local stand-in for AWS until it is told to stop; see
// package localaws.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/lessor-dev/lessor/internal/localaws"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)

	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:           "localaws",
		Short:         "A local stand-in for AWS with the fleet's platform in it",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newUp()) //nolint:contextcheck // cobra hands the context to its commands
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)

	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}

	_, _ = fmt.Fprintf(stderr, "error: %v\n", err)
	if errors.Is(err, localaws.ErrNotBuilt) {
		_, _ = fmt.Fprintln(stderr, "hint: run `make tools build`")
	}

	return 1
}
