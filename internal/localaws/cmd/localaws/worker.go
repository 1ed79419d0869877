package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	workerLog = "worker.log"
	tailLines = 20
)

// workerProcess is a worker that runs beside local mode.
type workerProcess struct {
	cmd    *exec.Cmd
	exited chan error
	log    string
	admin  string
}

var errWorker = errors.New("the worker ended by itself")

func startWorker(ctx context.Context, binary, dir string, environ []string) (*workerProcess, error) {
	admin, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}

	w := &workerProcess{exited: make(chan error, 1), log: filepath.Join(dir, workerLog), admin: "http://" + admin}

	log, err := os.OpenFile(w.log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, privateFile)
	if err != nil {
		return nil, fmt.Errorf("opening the worker's log: %w", err)
	}
	defer log.Close()

	// Not CommandContext: it shall drain, not be killed. A group of its own
	// keeps the terminal's Ctrl-C from it, which would count as a second signal.
	w.cmd = exec.Command(binary) //nolint:noctx // see above
	w.cmd.Env = slices.Concat(os.Environ(), environ, []string{"LESSOR_ADMIN_ADDRESS=" + admin, "LESSOR_LOG_FORMAT=text"})
	w.cmd.Stderr = log
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}

	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the worker: %w; run `make build`", err)
	}

	go func() { w.exited <- w.cmd.Wait() }()

	return w, nil
}

// runUntil waits for the end of ctx and then for the worker to drain. Another
// Ctrl-C shortens the drain.
func (w *workerProcess) runUntil(ctx context.Context, out io.Writer) error {
	select {
	case err := <-w.exited:
		return fmt.Errorf("%w (%w); its log ends:\n%s", errWorker, orClean(err), tail(w.log))
	case <-ctx.Done():
	}

	_, _ = fmt.Fprintln(out, "draining the worker; Ctrl-C again shortens that")

	again := make(chan os.Signal, 1)
	signal.Notify(again, os.Interrupt, syscall.SIGTERM)

	defer signal.Stop(again)

	for {
		if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("stopping the worker: %w", err)
		}

		select {
		case err := <-w.exited:
			if err != nil {
				return fmt.Errorf("draining the worker: %w; its log is %s", err, w.log)
			}

			return nil
		case <-again:
		}
	}
}

var errExitZero = errors.New("with exit code 0")

func orClean(err error) error {
	if err == nil {
		return errExitZero
	}

	return err
}

func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig

	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}

	if err := l.Close(); err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}

	return l.Addr().String(), nil
}

func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}

	lines := strings.Split(strings.TrimSpace(string(text)), "\n")

	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}
