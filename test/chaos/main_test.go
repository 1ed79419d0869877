// Package chaos_test lets a fleet of real workers run under a steady flow of
// events while it is killed, frozen, cut off and lied to, and then proves from
// the outside that nothing was lost, left behind or mixed up. What happens when
// is a function of a seed.
package chaos_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"testing"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/worker"
)

// workerVariable makes this test binary a worker. It has no prefix of ours, or
// the worker would warn of it.
const workerVariable = "CHAOS_WORKER"

func TestMain(m *testing.M) {
	// The child of a worker has the variable no more, but the argument.
	child := len(os.Args) > 1 && os.Args[1] == engine.ChildArgument
	if child || os.Getenv(workerVariable) != "" {
		all := programs.All()
		maps.Copy(all, chaosPrograms())

		worker.Main(all)
	}

	flag.Parse()

	if testing.Short() {
		fmt.Fprintln(os.Stderr, "chaos needs tools and minutes: only the checks of its checker run with -short")
	}

	os.Exit(m.Run())
}
