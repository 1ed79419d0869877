package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// session is the session that a child leads, with everything it started: the
// CLI, provider plugins, and what programs start.
type session int

const (
	// sessionPoll is how often a session that was killed is looked at.
	sessionPoll = 5 * time.Millisecond
	// sessionBound is how long a killed process may take to end: one that hangs
	// in the kernel is given up on.
	sessionBound = time.Minute
)

var errSessionLives = errors.New("processes of an ended operation do not end")

// alive returns the processes that have not ended, without the leader and
// without this process, and reads the status of those that have.
func (s session) alive() ([]int, error) {
	found, err := members(int(s))
	if err != nil {
		return nil, err
	}

	var pids []int

	for _, m := range found {
		switch {
		case m.zombie:
			reap(int(s), m)
		case m.pid != int(s) && m.pid != os.Getpid():
			pids = append(pids, m.pid)
		}
	}

	return pids, nil
}

// kill ends every process of the session but the leader and this one, and
// returns when there is none left. It looks again and again, since a process
// may start another just before it dies.
func (s session) kill() error {
	deadline := time.Now().Add(sessionBound)

	tick := time.NewTicker(sessionPoll)
	defer tick.Stop()

	for {
		pids, err := s.alive()
		if err != nil {
			return err
		}

		if len(pids) == 0 {
			return nil
		}

		for _, pid := range pids {
			// An error means that it ended in the meantime.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}

		if time.Now().After(deadline) {
			return fmt.Errorf("%w: %v", errSessionLives, pids)
		}

		<-tick.C
	}
}

// startTied starts a process with the attributes of newGroup. release must be
// called when it has ended. The kernel takes the end of the thread that starts a
// process for the end of its parent. A thread of Go ends only if a goroutine
// that is locked to it does, as one of a program may, so this one gets a thread
// that nobody else can have.
func startTied(cmd *exec.Cmd) (release func(), err error) {
	ended, started := make(chan struct{}), make(chan error)

	go func() {
		runtime.LockOSThread()

		defer runtime.UnlockOSThread()

		started <- cmd.Start()

		<-ended
	}()

	if err := <-started; err != nil {
		close(ended)

		return nil, err
	}

	return func() { close(ended) }, nil
}

// endOwnSession kills the session that this process leads, and this process
// with it.
func endOwnSession() {
	self := os.Getpid()

	// Nothing could be done about an error.
	_ = session(self).kill()
	_ = syscall.Kill(self, syscall.SIGKILL)
}
