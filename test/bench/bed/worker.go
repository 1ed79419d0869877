package bed

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// WorkerVariable makes this program a worker.
const WorkerVariable = "BENCH_WORKER"

// Worker is a running worker.
type Worker struct {
	PID   int
	Admin string

	cmd    *exec.Cmd
	log    *logBuffer
	exited chan error
}

// Start runs one more worker and returns once it is ready. variables come after
// those of the fleet.
func (f *Fleet) Start(ctx context.Context, variables ...string) (*Worker, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}

	w := &Worker{Admin: "http://" + address, log: &logBuffer{}, exited: make(chan error, 1)}
	w.cmd = exec.Command(f.options.Binary) //nolint:gosec,noctx // it is this program or another of ours, and ends by a signal
	w.cmd.Env = append(append([]string{}, f.environ...), append(variables, "LESSOR_ADMIN_ADDRESS="+address)...)
	w.cmd.Stderr = w.log

	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting a worker: %w", err)
	}

	w.PID = w.cmd.Process.Pid

	go func() { w.exited <- w.cmd.Wait() }()

	f.Workers = append(f.Workers, w)
	err = w.ready(ctx)

	return w, err
}

func (w *Worker) ready(ctx context.Context) error {
	const often = 20 * time.Millisecond

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	ticker := time.NewTicker(often)
	defer ticker.Stop()

	for {
		select {
		case err := <-w.exited:
			w.exited <- err

			return fmt.Errorf("the worker ended: %w\n%s", err, w.Tail())
		case <-ctx.Done():
			return fmt.Errorf("waiting for a worker: %w\n%s", context.Cause(ctx), w.Tail())
		case <-ticker.C:
		}

		if _, err := w.get(ctx, "/readyz"); err == nil {
			return nil
		}
	}
}

// get reads a page of the worker.
func (w *Worker) get(ctx context.Context, path string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.Admin+path, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("asking a worker: %w", err)
	}

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking a worker: %w", err)
	}
	defer res.Body.Close()

	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("asking a worker: %s", res.Status)
	}

	body, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, fmt.Errorf("asking a worker: %w", err)
	}

	return body, nil
}

// interrupt asks the worker to drain. An error means that it has ended.
func (w *Worker) interrupt() { _ = w.cmd.Process.Signal(syscall.SIGTERM) }

// drained waits for the end of a worker that was asked to drain.
func (w *Worker) drained() error {
	select {
	case err := <-w.exited:
		w.exited <- err

		return err
	case <-time.After(patience):
		return fmt.Errorf("draining a worker: %w\n%s", w.cmd.Process.Kill(), w.Tail())
	}
}

// Kill ends the worker as a dying machine would.
func (w *Worker) Kill() error {
	if err := w.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("killing a worker: %w", err)
	}

	w.exited <- <-w.exited

	return nil
}

// KillAll ends the worker with everything that it started.
func (w *Worker) KillAll() error {
	children := descendants(w.PID)

	if err := w.Kill(); err != nil {
		return err
	}

	for _, pid := range children {
		// An error means that it has ended by itself.
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}

	return nil
}

// Line is what the worker logs of operations.
//
//nolint:tagliatelle // these are the names in its log
type Line struct {
	Message     string             `json:"msg"`
	Time        time.Time          `json:"time"`
	Tenant      string             `json:"tenant_id"`
	OperationID string             `json:"operation_id"`
	Kind        string             `json:"kind"`
	Processes   int                `json:"processes"`
	Phases      map[string]float64 `json:"phases"`
}

// Lines are the lines of the log with a message.
func (w *Worker) Lines(message string) []Line {
	const longest = 1 << 20

	var found []Line

	lines := bufio.NewScanner(bytes.NewReader(w.log.bytes()))
	lines.Buffer(nil, longest)

	for lines.Scan() {
		var line Line
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == message {
			found = append(found, line)
		}
	}

	return found
}

// Tail is the end of the log.
func (w *Worker) Tail() string {
	const limit = 8 << 10

	all := w.log.bytes()

	return string(all[max(0, len(all)-limit):])
}

// logBuffer collects a log that is read while it grows.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.buf.Write(p) //nolint:wrapcheck // it never fails
}

func (b *logBuffer) bytes() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()

	return bytes.Clone(b.buf.Bytes())
}

func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig

	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}

	return l.Addr().String(), l.Close()
}
