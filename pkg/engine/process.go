package engine

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// process is a child process with its pipes.
type process struct {
	cmd     *exec.Cmd
	session session
	// instructions is the child's stdin, reports its stdout.
	instructions *os.File
	writer       *lineWriter
	reports      *os.File
	stderr       *os.File
	complaint    *complaint
	// listening ends when stderr was read to its end.
	listening sync.WaitGroup
}

// writeBound is how long a child may leave its stdin unread before it counts as
// frozen. Then it gets no more word of the lease and ends itself.
const writeBound = 2 * time.Second

// startBound is how long a child may take to start and to read its order.
const startBound = time.Minute

// childMark is the variable that marks a child. The CLI and what it starts do
// not get it.
const childMark = "LESSOR_OPERATION_CHILD"

// startProcess starts a child that leads a session of its own.
func startProcess(command []string, s slot, lock *os.File) (*process, error) {
	var pipes [3][2]*os.File

	closeAll := func() {
		for _, pair := range pipes {
			for _, file := range pair {
				_ = file.Close()
			}
		}
	}

	for i := range pipes {
		reader, writer, err := os.Pipe()
		if err != nil {
			closeAll()

			return nil, fmt.Errorf("making a pipe: %w", err)
		}

		pipes[i] = [2]*os.File{reader, writer}
	}

	stdin, stdout, stderr := pipes[0], pipes[1], pipes[2]

	//nolint:gosec,noctx // The command is our own; its end is the supervisor's business.
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir = s.Work
	cmd.Env = append(filterEnvironment(os.Environ()), "TMPDIR="+s.Temp, "GOTRACEBACK=single", childMark+"=true")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin[0], stdout[1], stderr[1]
	cmd.ExtraFiles = []*os.File{lock}
	cmd.SysProcAttr = newSession()

	if err := cmd.Start(); err != nil {
		closeAll()

		return nil, fmt.Errorf("starting the child process: %w", err)
	}

	// The child starts nothing before it has its order. Without this the worker
	// is no worse a victim than an operation, and no better.
	_ = offerToOOMKiller(cmd.Process.Pid)

	for _, file := range []*os.File{stdin[0], stdout[1], stderr[1]} {
		_ = file.Close()
	}

	p := &process{
		cmd:          cmd,
		session:      session(cmd.Process.Pid),
		instructions: stdin[1],
		writer:       &lineWriter{to: stdin[1]},
		reports:      stdout[0],
		stderr:       stderr[0],
		complaint:    &complaint{},
	}

	p.listening.Go(func() { p.complaint.readFrom(p.stderr) })

	return p, nil
}

// tell sends a line down the child's stdin and reports whether it got there. A
// child that does not read is dead or frozen, which others notice.
func (p *process) tell(line any, bound time.Duration) bool {
	// Pipes of os.Pipe have deadlines.
	_ = p.instructions.SetWriteDeadline(time.Now().Add(bound))

	return p.writer.write(line) == nil
}

// killLeader ends the child itself.
func (p *process) killLeader() { _ = p.cmd.Process.Signal(syscall.SIGKILL) }

// finish reads how the child ended, which must have ended with its session. Until
// then the kernel gives the session's number to nobody else.
func (p *process) finish() *os.ProcessState {
	_ = p.cmd.Wait()
	_ = p.instructions.Close()
	_ = p.stderr.Close()
	_ = p.reports.Close()

	p.listening.Wait()

	return p.cmd.ProcessState
}

// complaint finds the line with which the Go runtime ends a process. The rest
// of stderr, which may hold anything, is thrown away.
type complaint struct {
	mutex sync.Mutex
	line  []byte
	done  bool
}

const (
	maxComplaint    = 1 << 10
	complaintBuffer = 4 << 10
)

func (c *complaint) readFrom(file *os.File) {
	buffer := make([]byte, complaintBuffer)

	for {
		n, err := file.Read(buffer)
		c.add(buffer[:n])

		if err != nil {
			return
		}
	}
}

func (c *complaint) add(text []byte) {
	c.mutex.Lock()
	defer c.mutex.Unlock()

	for len(text) > 0 && !c.done {
		rest, end := text, false
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			rest, end = text[:i], true
		}

		c.line = append(c.line, rest[:min(len(rest), maxComplaint-len(c.line))]...)
		text = text[len(rest):]

		if !end {
			continue
		}

		text = text[1:]

		if bytes.HasPrefix(c.line, []byte("panic: ")) || bytes.HasPrefix(c.line, []byte("fatal error: ")) {
			c.done = true

			return
		}

		c.line = c.line[:0]
	}
}

// text returns the line, or "".
func (c *complaint) text() string {
	c.mutex.Lock()
	defer c.mutex.Unlock()

	if !c.done {
		return ""
	}

	return string(c.line)
}
