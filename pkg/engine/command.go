package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/blang/semver"
)

// command is our own auto.PulumiCommand. Other than the SDK's it
//   - answers for the CLI where the answer is known, so that an operation starts
//     one process and not seven,
//   - gives an interrupted CLI minutes and not ten seconds, since a killed one
//     leaves a lock and forgotten resources behind,
//   - hides the worker's environment,
//   - keeps output in files, so that a CLI whose parent died is not killed by a
//     closed pipe but ends its update and unlocks its stack.
type command struct {
	path    string
	version semver.Version
	environ []string
	temp    string
	// grace is for an interrupt that names none, terminateGrace is the time
	// between the second SIGINT and SIGKILL.
	grace, terminateGrace time.Duration

	phases    *phases
	processes atomic.Int64
	// killed is set once a process did not end by itself.
	killed atomic.Bool
	// ended tells that a process ended.
	ended chan struct{}
	last  atomic.Pointer[exit]
}

// exit is how a CLI process ended.
type exit struct {
	code   int
	signal syscall.Signal
	stderr string
}

// interrupted is the cause with which a child cancels an operation.
type interrupted struct {
	grace time.Duration
	// hurry brings a shorter grace, from now on.
	hurry <-chan time.Duration
}

func (interrupted) Error() string { return ErrInterrupt.Error() }

func (interrupted) Is(target error) bool { return target == ErrInterrupt }

// exitUnknown is the exit code of a process that was not started or was killed.
const exitUnknown = -1

// Version is what the CLI said before the operation was started.
func (c *command) Version() semver.Version { return c.version }

// Run runs the CLI, or answers in its stead.
func (c *command) Run(
	ctx context.Context, workDir string, stdin io.Reader, stdouts, stderrs []io.Writer, env []string, args ...string,
) (out, errOut string, code int, err error) {
	if answer, ok := answerFor(args); ok {
		return answer, "", 0, nil
	}

	if ctx.Err() != nil {
		return "", "", exitUnknown, fmt.Errorf("starting the CLI: %w", context.Cause(ctx))
	}

	stdout, err := newOutputFile(c.temp)
	if err != nil {
		return "", "", exitUnknown, err
	}
	defer stdout.close()

	stderr, err := newOutputFile(c.temp)
	if err != nil {
		return "", "", exitUnknown, err
	}
	defer stderr.close()

	//nolint:gosec,noctx // The path was checked at the start; the context is watched by await, with another grace.
	cmd := exec.Command(c.path, withNonInteractive(args)...)
	cmd.Dir = workDir
	cmd.Env = slices.Concat(onlyPulumi(env), c.environ)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout.file, stderr.file
	cmd.SysProcAttr = newGroup()

	code, err = c.execute(patient(ctx, args), cmd)
	out, errOut = stdout.text(), stderr.text()
	c.last.Store(&exit{code: code, signal: signalOf(cmd), stderr: errOut})
	copyTo(stdouts, out)
	copyTo(stderrs, errOut)

	return out, errOut, code, err
}

// patient keeps an interrupt from commands that end within a second but handle
// no signal: `stack init` and `stack rm` would die of it and leave their lock
// (the CLI catches signals only within an update). The end of the lease and the
// deadline kill them all the same, from outside.
func patient(ctx context.Context, args []string) context.Context {
	if len(args) > 0 && args[0] == "stack" {
		return context.WithoutCancel(ctx)
	}

	return ctx
}

// execute starts the process and waits for it.
func (c *command) execute(ctx context.Context, cmd *exec.Cmd) (int, error) {
	c.phases.cliStarted()
	defer c.phases.cliEnded()

	release, err := startTied(cmd)
	if err != nil {
		return exitUnknown, fmt.Errorf("starting the CLI: %w", err)
	}
	defer release()

	c.processes.Add(1)

	defer func() {
		select {
		case c.ended <- struct{}{}:
		default:
		}
	}()

	if err := c.await(ctx, cmd); err != nil {
		if exitErr, ok := errors.AsType[*exec.ExitError](err); ok {
			return exitErr.ExitCode(), fmt.Errorf("running the CLI: %w", err)
		}

		return exitUnknown, fmt.Errorf("running the CLI: %w", err)
	}

	return 0, nil
}

// await waits for the process. Once ctx ends it interrupts it, does so again
// after a grace, which makes the engine give up what it waits for, and kills it
// in the end.
func (c *command) await(ctx context.Context, cmd *exec.Cmd) error {
	waited := make(chan error, 1)

	go func() { waited <- cmd.Wait() }()

	select {
	case err := <-waited:
		c.note(cmd)

		return err
	case <-ctx.Done():
	}

	cause, ok := errors.AsType[interrupted](context.Cause(ctx))
	if !ok {
		cause = interrupted{grace: c.grace}
	}

	for _, bound := range []time.Duration{cause.grace, c.terminateGrace} {
		// An error means that it ended in the meantime.
		_ = cmd.Process.Signal(syscall.SIGINT)

		if ended, err := within(bound, cause.hurry, waited); ended {
			c.note(cmd)

			return err
		}

		// After the second SIGINT the engine no longer waits for what it began:
		// the state does not tell how that ended.
		c.killed.Store(true)
	}

	_ = cmd.Process.Kill()

	return <-waited
}

// within waits for the end of a process, but no longer than a bound that may
// become shorter.
func within(bound time.Duration, hurry <-chan time.Duration, waited <-chan error) (ended bool, err error) {
	until := time.Now().Add(bound)

	timer := time.NewTimer(bound)
	defer timer.Stop()

	for {
		select {
		case err := <-waited:
			return true, err
		case shorter := <-hurry:
			timer.Reset(min(shorter, time.Until(until)))
		case <-timer.C:
			return false, nil
		}
	}
}

func (c *command) note(cmd *exec.Cmd) {
	if signalOf(cmd) != 0 {
		c.killed.Store(true)
	}
}

func signalOf(cmd *exec.Cmd) syscall.Signal {
	if cmd.ProcessState == nil {
		return 0
	}

	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal()
	}

	return 0
}

// answerFor gives the answers that need no CLI. A stack that is selected but
// does not exist is found missing by the step that follows.
func answerFor(args []string) (string, bool) {
	if len(args) < 2 || args[0] != "stack" {
		return "", false
	}

	switch args[1] {
	case "select":
		return "", true
	case "output":
		return "{}", true
	case "history":
		return "[]", true
	}

	return "", false
}

func withNonInteractive(args []string) []string {
	const flag = "--non-interactive"

	end := slices.Index(args, "--")
	if end < 0 {
		end = len(args)
	}

	if slices.Contains(args[:end], flag) {
		return args
	}

	return append([]string{flag}, args...)
}

// onlyPulumi keeps what the SDK sets for the CLI.
func onlyPulumi(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(variable string) bool {
		return !strings.HasPrefix(variable, "PULUMI_")
	})
}

func copyTo(writers []io.Writer, text string) {
	for _, w := range writers {
		_, _ = io.WriteString(w, text)
	}
}

// outputFile takes what a process writes. It has no name, so it is gone with
// its last holder.
type outputFile struct{ file *os.File }

// maxOutput bounds how much of a process's output is read.
const maxOutput = 256 << 10

func newOutputFile(dir string) (outputFile, error) {
	file, err := os.CreateTemp(dir, "output-")
	if err != nil {
		return outputFile{}, fmt.Errorf("making a file for the CLI's output: %w", err)
	}

	if err := os.Remove(file.Name()); err != nil {
		_ = file.Close()

		return outputFile{}, fmt.Errorf("making a file for the CLI's output: %w", err)
	}

	return outputFile{file: file}, nil
}

// text returns the last part of what was written.
func (o outputFile) text() string {
	size, err := o.file.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}

	from := max(0, size-maxOutput)
	text := make([]byte, size-from)
	n, _ := o.file.ReadAt(text, from)

	return string(text[:n])
}

func (o outputFile) close() { _ = o.file.Close() }
