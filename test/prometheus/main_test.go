// Package prometheus_test lets a real Prometheus scrape real workers that do
// work in local mode, and asks it what the alerts and the dashboard ask.
package prometheus_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/internal/localaws"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/pkg/worker"
)

const (
	root = "../.."
	// workerVariable makes this test binary a worker.
	workerVariable = "PROMETHEUS_TEST_WORKER"
)

const catalog = `version: 1
tiers:
  free: {program: outputs}
  broken: {program: broken, maxAttempts: 1}
`

//nolint:gochecknoglobals // set once by TestMain
var (
	// prometheus is the path of the server, "" if it is not installed.
	prometheus string
	// local is the stand-in for AWS.
	local *localaws.Env
)

func TestMain(m *testing.M) {
	// The child of a worker has the variable no more, but the argument.
	child := len(os.Args) > 1 && os.Args[1] == engine.ChildArgument
	if child || os.Getenv(workerVariable) != "" {
		worker.Main(programs())
	}

	flag.Parse()

	if testing.Short() {
		fmt.Fprintln(os.Stderr, "Prometheus on a fleet needs tools and a minute: left out by -short")

		return
	}

	var err error
	if prometheus, err = exec.LookPath("prometheus"); err != nil {
		os.Exit(m.Run())
	}

	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "lessor-prometheus-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "making a directory:", err)

		return 1
	}
	defer os.RemoveAll(dir)

	path := filepath.Join(dir, "catalog.yaml")
	if err := os.WriteFile(path, []byte(catalog), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "writing the catalog:", err)

		return 1
	}

	local, err = localaws.Start(context.Background(), localaws.Options{
		BinDir: filepath.Join(root, ".bin"), Dir: filepath.Join(dir, "aws"), Catalog: path,
	})
	if err != nil {
		fmt.Fprintf(os.Stderr, "starting local mode: %v\nhint: run `make tools`\n", err)

		return 1
	}

	code := m.Run()

	if err := local.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "stopping local mode:", err)

		return 1
	}

	return code
}

// program makes nothing but outputs.
type program func() (pulumi.Map, error)

func (program) Check(tenant.Parameters) error { return nil }

func (p program) Deploy(*pulumi.Context, engine.Topology) (pulumi.Map, error) { return p() }

func programs() engine.Programs {
	return engine.Programs{
		"outputs": program(func() (pulumi.Map, error) {
			return pulumi.Map{"endpoint": pulumi.String("https://example.com")}, nil
		}),
		"broken": program(func() (pulumi.Map, error) {
			return nil, errors.New("RequestError: send request failed: dial tcp: connection refused")
		}),
	}
}
