// Package emulator runs the AWS emulator kumo as a process of its own. It is
// never linked in: its state is global to a process, it has data races, and a
// crash of it must not take a worker or a test along.
package emulator

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	host         = "127.0.0.1"
	logName      = "emulator.log"
	logTailBytes = 2 << 10
	// startTimeout is generous: a loaded machine takes seconds to map the binary.
	startTimeout = 30 * time.Second
	probeEvery   = 25 * time.Millisecond
	probeTimeout = 2 * time.Second
	stopGrace    = 5 * time.Second
	// startAttempts covers a free port that somebody else took meanwhile.
	startAttempts = 3
)

// ErrNoBinary is wrapped by Start if the emulator was never built.
var ErrNoBinary = errors.New("the emulator is not built: run `make tools`")

// Options say how to run the emulator.
type Options struct {
	// Binary is the path of the built emulator.
	Binary string
	// Dir takes the log. Nothing else is kept: the emulator's data lives and
	// dies with the process.
	Dir string
	// Port is the loopback port, 0 for a free one.
	Port int
}

// Emulator is a running emulator.
type Emulator struct {
	url     string
	process *os.Process
	exited  chan struct{}
	stop    func()
}

// Start runs the emulator and returns once it answers. ctx bounds the start
// alone; the emulator runs until Stop, and on Linux it dies with this process.
func Start(ctx context.Context, o Options) (*Emulator, error) {
	if _, err := os.Stat(o.Binary); err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNoBinary, err)
	}

	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()

	var err error

	for range startAttempts {
		var e *Emulator
		if e, err = start(ctx, o); err == nil {
			return e, nil
		}

		if o.Port != 0 || !errors.Is(err, errExited) {
			break
		}
	}

	return nil, fmt.Errorf("starting the emulator: %w", err)
}

// URL is the endpoint for every service.
func (e *Emulator) URL() string { return e.url }

// Stop ends the emulator and waits until it is gone. It may be called again.
func (e *Emulator) Stop() { e.stop() }

// Exited is closed when the process has ended, for whatever reason.
func (e *Emulator) Exited() <-chan struct{} { return e.exited }

var errExited = errors.New("it exited at once")

func start(ctx context.Context, o Options) (*Emulator, error) {
	port := o.Port
	if port == 0 {
		var err error
		if port, err = freePort(ctx); err != nil {
			return nil, err
		}
	}

	logPath := filepath.Join(o.Dir, logName)

	log, err := os.Create(logPath)
	if err != nil {
		return nil, fmt.Errorf("opening its log: %w", err)
	}
	defer log.Close() // the process has a descriptor of its own

	// Not CommandContext: the process outlives the start, and Stop ends it.
	cmd := exec.Command(o.Binary, "serve", "--host", host, "--port", strconv.Itoa(port)) //nolint:gosec,noctx // our own binary

	cmd.Env = append(os.Environ(), "KUMO_LOG_LEVEL=error", "KUMO_DATA_DIR=", "KUMO_INIT_DIR=")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = dieWithParent()

	e := &Emulator{url: "http://" + net.JoinHostPort(host, strconv.Itoa(port)), exited: make(chan struct{})}
	if err := e.run(cmd); err != nil {
		return nil, err
	}

	if err := e.awaitHealth(ctx); err != nil {
		e.Stop()

		return nil, fmt.Errorf("%w; its log ends: %s", err, tail(logPath))
	}

	return e, nil
}

// run starts the process from a thread that lives as long as the process does,
// because the kernel takes the death of that thread for the parent's.
func (e *Emulator) run(cmd *exec.Cmd) error {
	started := make(chan error)

	go func() {
		runtime.LockOSThread()

		defer runtime.UnlockOSThread()
		defer close(e.exited)

		err := cmd.Start()
		started <- err

		if err == nil {
			_ = cmd.Wait() // how it ended is in its log
		}
	}()

	if err := <-started; err != nil {
		return fmt.Errorf("running %s: %w", cmd.Path, err)
	}

	e.process = cmd.Process
	e.stop = sync.OnceFunc(e.end)

	return nil
}

func (e *Emulator) end() {
	_ = e.process.Signal(syscall.SIGTERM) // it may be gone already

	select {
	case <-e.exited:
	case <-time.After(stopGrace):
		_ = e.process.Kill()
		<-e.exited
	}
}

func (e *Emulator) awaitHealth(ctx context.Context) error {
	client := &http.Client{Timeout: probeTimeout, Transport: &http.Transport{DisableKeepAlives: true}}

	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()

	for {
		if e.healthy(ctx, client) {
			return nil
		}

		select {
		case <-ticker.C:
		case <-e.exited:
			return errExited
		case <-ctx.Done():
			return fmt.Errorf("it does not answer at %s: %w", e.url, context.Cause(ctx))
		}
	}
}

func (e *Emulator) healthy(ctx context.Context, client *http.Client) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, e.url+"/health", http.NoBody)
	if err != nil {
		return false
	}

	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()

	return resp.StatusCode == http.StatusOK
}

func freePort(ctx context.Context) (int, error) {
	var lc net.ListenConfig

	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, fmt.Errorf("finding a free port: %w", err)
	}
	defer l.Close()

	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("finding a free port: %w", net.UnknownNetworkError(l.Addr().Network()))
	}

	return addr.Port, nil
}

func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}

	if len(text) > logTailBytes {
		text = text[len(text)-logTailBytes:]
	}

	return string(text)
}
