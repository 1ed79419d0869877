// Package e2e_test runs the fleet as it is deployed: real worker processes, the
// real Pulumi CLI and engine, and real protocols against local mode.
package e2e_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/sethvargo/go-envconfig"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/internal/localaws"
	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/enqueuecli"
	"github.com/lessor-dev/lessor/pkg/worker"
)

// workerVariable makes this test binary a worker, so that the tests need no
// second program that links pulumi-aws. It has no prefix of ours, or the worker
// would warn of it.
const workerVariable = "E2E_WORKER"

// bareVariable makes the worker one that was built with the program pool alone. It
// looks like a variable of AWS, since the children of a worker see no others.
const bareVariable = "AWS_E2E_BARE"

// enqueueVariable makes it the command enqueue.
const enqueueVariable = "E2E_ENQUEUE"

// local is the one environment of all tests: each uses tenants of its own.
var local *localaws.Env //nolint:gochecknoglobals // set once by TestMain

func TestMain(m *testing.M) {
	// The child of a worker has the variable no more, but the argument.
	child := len(os.Args) > 1 && os.Args[1] == engine.ChildArgument
	if child || os.Getenv(workerVariable) != "" {
		all := programs.All()
		maps.Copy(all, testPrograms())

		if os.Getenv(bareVariable) != "" {
			maps.DeleteFunc(all, func(name string, _ engine.Program) bool { return name != programs.NamePool })
		}

		worker.Main(all)
	}

	if os.Getenv(enqueueVariable) != "" {
		os.Exit(enqueuecli.Main(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr, envconfig.OsLookuper()))
	}

	flag.Parse()

	if testing.Short() {
		fmt.Fprintln(os.Stderr, "end-to-end tests need tools and minutes: left out by -short")

		return
	}

	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	dir, err := os.MkdirTemp("", "lessor-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "making a directory:", err)

		return 1
	}
	defer os.RemoveAll(dir)

	local, err = localaws.Start(context.Background(), localaws.Options{
		BinDir: filepath.Join(root(), ".bin"), Dir: filepath.Join(dir, "aws"), Cloud: cloudsim.Options{Now: now},
		Intercept: func(emulator http.Handler) http.Handler { return outputs.watch(denying(emulator)) },
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

// deniedKey is an access key whose role may not use DynamoDB. The emulator knows
// no permissions.
const deniedKey = "denied"

func denying(emulator http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		denied := strings.Contains(r.Header.Get("Authorization"), "Credential="+deniedKey+"/")
		if !denied || !strings.HasPrefix(r.Header.Get("X-Amz-Target"), "DynamoDB_") {
			emulator.ServeHTTP(w, r)

			return
		}

		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"not authorized"}`)
	})
}

// root is the repository.
func root() string {
	_, file, _, _ := runtime.Caller(0) //nolint:dogsled // only the file is of interest

	return filepath.Join(filepath.Dir(file), "..", "..")
}
