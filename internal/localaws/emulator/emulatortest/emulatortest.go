// Package emulatortest gives contract suites the AWS endpoints to run against.
package emulatortest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"go.uber.org/goleak"

	"github.com/lessor-dev/lessor/internal/localaws/emulator"
)

// EndpointVariable names another endpoint to run the suites against, in place
// of the emulator.
const EndpointVariable = "LESSOR_TEST_ENDPOINT"

const region = "us-east-1"

// Backend is an AWS endpoint to run a suite against.
type Backend struct {
	// Name is for the name of the subtest.
	Name string
	// Config makes the clients. Their connections end with the test.
	Config aws.Config
}

// Remote returns the endpoint to run a suite against beside its fake: the one
// in LESSOR_TEST_ENDPOINT, or an emulator that this test binary shares. With
// -short there is none. A missing emulator fails the test.
func Remote(t *testing.T) (Backend, bool) {
	t.Helper()

	if url := os.Getenv(EndpointVariable); url != "" {
		return Backend{Name: "endpoint", Config: config(t, url)}, true
	}

	if testing.Short() {
		return Backend{}, false
	}

	e, err := shared()
	if err != nil {
		t.Fatal(err)
	}

	return Backend{Name: "emulator", Config: config(t, e.URL())}, true
}

// Binary returns the path of the built emulator, skips with -short, and fails
// the test if it is not built.
func Binary(t *testing.T) string {
	t.Helper()

	if testing.Short() {
		t.Skip("-short runs no other process")
	}

	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}

	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v (%v)", emulator.ErrNoBinary, err)
	}

	return path
}

// Main runs the tests of a package, ends the shared emulator and reports
// goroutines that were left behind, but for those that ignore names. It returns
// the exit status.
func Main(m *testing.M, ignore ...goleak.Option) int {
	code := m.Run()

	processes.mu.Lock()
	defer processes.mu.Unlock()

	if processes.running != nil {
		processes.running.Stop()

		if err := os.RemoveAll(processes.dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}

	if code != 0 {
		return code
	}

	if err := goleak.Find(ignore...); err != nil {
		fmt.Fprintln(os.Stderr, err)

		return 1
	}

	return 0
}

// processes holds the one emulator of this test binary.
var processes struct { //nolint:gochecknoglobals // one process per test binary is the point
	mu      sync.Mutex
	running *emulator.Emulator
	dir     string
	err     error
}

func shared() (*emulator.Emulator, error) {
	processes.mu.Lock()
	defer processes.mu.Unlock()

	if processes.running != nil || processes.err != nil {
		return processes.running, processes.err
	}

	path, err := binary()
	if err == nil {
		processes.dir, err = os.MkdirTemp("", "lessor-emulator-")
	}

	if err == nil {
		processes.running, err = emulator.Start(context.Background(), emulator.Options{Binary: path, Dir: processes.dir})
	}

	processes.err = err

	return processes.running, err
}

func config(t *testing.T, url string) aws.Config {
	t.Helper()

	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		t.Fatal("the default transport is not one of net/http")
	}

	transport = transport.Clone()
	// 50 contenders at once must not wait for each other's connections.
	transport.MaxIdleConnsPerHost = 64

	t.Cleanup(transport.CloseIdleConnections)

	return aws.Config{
		Region:       region,
		BaseEndpoint: aws.String(url),
		Credentials:  credentials.NewStaticCredentialsProvider("test", "test", ""),
		HTTPClient:   &http.Client{Transport: transport},
	}
}

var errNoRoot = errors.New("no go.mod above the working directory")

// binary finds .bin/kumo at the root of the repository.
func binary() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the root of the repository: %w", err)
	}

	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".bin", "kumo"), nil
		}

		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errNoRoot
		}

		dir = parent
	}
}
