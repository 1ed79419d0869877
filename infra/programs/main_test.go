package programs_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/internal/localaws"
	"github.com/lessor-dev/lessor/pkg/engine"
)

// local is the stand-in for AWS that the tests of this package share, nil with
// -short.
var local *localaws.Env //nolint:gochecknoglobals // set once by TestMain

// withoutPrograms is the argument of a child process of a worker that was built
// without any program.
const withoutPrograms = "without-programs"

// TestMain is also the child process of the operations that the tests run.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == engine.ChildArgument {
		os.Exit(engine.Child(context.Background(), programs.All(), os.Stdin, os.Stdout))
	}

	if len(os.Args) == 2 && os.Args[1] == withoutPrograms {
		os.Exit(engine.Child(context.Background(), engine.Programs{}, os.Stdin, os.Stdout))
	}

	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if testing.Short() {
		return m.Run()
	}

	stop, err := startLocal()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)

		return 1
	}

	code := m.Run()

	if err := stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)

		return 1
	}

	return code
}

func startLocal() (func() error, error) {
	dir, err := os.MkdirTemp("", "lessor-programs-")
	if err != nil {
		return nil, err
	}

	local, err = localaws.Start(context.Background(), localaws.Options{BinDir: filepath.Join("..", "..", ".bin"), Dir: dir})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}

	for _, variable := range local.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return nil, errors.Join(err, local.Stop(), os.RemoveAll(dir))
		}
	}

	return func() error { return errors.Join(local.Stop(), os.RemoveAll(dir)) }, nil
}
