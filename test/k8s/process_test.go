//go:build linux

package k8s_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	root = "../.."
	// patience is for what takes seconds on an idle machine.
	patience  = 5 * time.Minute
	stopGrace = 15 * time.Second
	logTail   = 4 << 10
)

// process is a part of the control plane.
type process struct {
	name, log string
	exited    chan struct{}
}

// start runs a program until the test ends. Only the variables given are in its
// environment, and it dies with the test's process however that ends.
func start(t *testing.T, dir, binary string, environ []string, args ...string) *process {
	t.Helper()

	p := &process{name: filepath.Base(binary), exited: make(chan struct{})}
	p.log = filepath.Join(dir, p.name+".log")

	log, err := os.Create(p.log)
	require.NoError(t, err)

	cmd := exec.Command(binary, args...) //nolint:noctx // a signal ends it

	cmd.Dir, cmd.Env = dir, append([]string{"HOME=" + dir, "TMPDIR=" + dir, "PATH=" + os.Getenv("PATH")}, environ...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}

	started := make(chan error)

	go func() {
		// The kernel takes the end of the thread that forked for the parent's.
		runtime.LockOSThread()

		defer runtime.UnlockOSThread()
		defer close(p.exited)
		defer log.Close()

		err := cmd.Start()
		started <- err

		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()

	require.NoError(t, <-started)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of %s ends:\n%s", p.name, p.tail())
		}

		_ = cmd.Process.Signal(syscall.SIGTERM) // it may be gone already

		select {
		case <-p.exited:
		case <-time.After(stopGrace):
			_ = cmd.Process.Kill()

			<-p.exited
		}
	})

	return p
}

// await waits until ready says so, as long as the process lives.
func (p *process) await(t *testing.T, ready func() bool) {
	t.Helper()

	ended := false
	done := within(t, patience, func() bool {
		select {
		case <-p.exited:
			ended = true
		default:
		}

		return ended || ready()
	})

	require.False(t, ended, "%s ended by itself", p.name)
	require.True(t, done, "%s is not ready", p.name)
}

// within reports whether something becomes true within a time. Unlike require's
// own, it looks from the test's goroutine, where looking may fail the test.
func within(t *testing.T, limit time.Duration, done func() bool) bool {
	t.Helper()

	ticker := time.NewTicker(poll)
	defer ticker.Stop()

	for end := time.Now().Add(limit); time.Now().Before(end); {
		if done() {
			return true
		}

		select {
		case <-ticker.C:
		case <-t.Context().Done():
			return false
		}
	}

	return false
}

func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}

	return string(text[max(0, len(text)-logTail):])
}

// tool finds what `make e2e-k8s` builds.
func tool(t *testing.T, name string) string {
	t.Helper()

	path, err := filepath.Abs(filepath.Join(root, ".bin", name))
	require.NoError(t, err)
	require.FileExists(t, path, "make e2e-k8s builds it")

	return path
}

// run runs a program to its end and returns what it says.
func run(t *testing.T, environ []string, binary string, args ...string) string {
	t.Helper()

	var stderr strings.Builder

	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env, cmd.Stderr = environ, &stderr

	out, err := cmd.Output()
	require.NoError(t, err, "%s %v:\n%s%s", binary, args, out, &stderr)

	return string(out)
}

// freePort is a port on the loopback interface that nothing listens on.
func freePort(t *testing.T) string {
	t.Helper()

	var lc net.ListenConfig

	l, err := lc.Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())

	address, ok := l.Addr().(*net.TCPAddr)
	require.True(t, ok)

	return strconv.Itoa(address.Port)
}
