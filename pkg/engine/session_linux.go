package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bootTime is a clock that every process of the machine shares, that nobody
// sets, and that goes on while the machine sleeps.
func bootTime() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return 0, fmt.Errorf("reading CLOCK_BOOTTIME: %w", err)
	}

	return time.Duration(now.Nano()), nil
}

// adoptOrphans makes this process the parent of every descendant whose own
// parent dies, so that it can wait for them.
func adoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("becoming a subreaper: %w", err)
	}

	return nil
}

// newSession are the attributes of a process that leads a session of its own.
func newSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// newGroup are the attributes of a CLI process that startTied starts: signals to
// the parent's group do not reach it, and it dies with its parent. Without that
// it could not save its state any more, and nobody would bound what it does to
// the cloud. It must be SIGKILL: the kernel sends the signal once for every
// thread of the parent, and a second SIGINT makes the engine drop what it does.
func newGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// awaitExit returns when the child has ended and leaves its status to be read:
// until then the kernel gives its number to no other process or session.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// member is a process of a session.
type member struct {
	pid, parent int
	zombie      bool
}

// members finds the processes of a session, by /proc: provider plugins make
// process groups of their own, so there is no signal that reaches them all.
func members(session int) ([]member, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil, fmt.Errorf("looking for the processes of a session: %w", err)
	}
	defer proc.Close()

	names, err := proc.Readdirnames(-1)
	if err != nil {
		return nil, fmt.Errorf("looking for the processes of a session: %w", err)
	}

	var found []member

	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}

		if m, sid := readStat(pid); sid == session {
			found = append(found, m)
		}
	}

	return found, nil
}

// readStat reads /proc/<pid>/stat, whose second field is a name in parentheses
// that may hold anything. A process that is gone has the session -1.
func readStat(pid int) (m member, session int) {
	const (
		fieldState = iota
		fieldParent
		fieldGroup
		fieldSession
		fieldCount
	)

	gone := -1

	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return member{}, gone
	}

	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < fieldCount {
		return member{}, gone
	}

	parent, parentErr := strconv.Atoi(string(fields[fieldParent]))
	sid, sessionErr := strconv.Atoi(string(fields[fieldSession]))

	if parentErr != nil || sessionErr != nil {
		return member{}, gone
	}

	state := fields[fieldState][0]

	return member{pid: pid, parent: parent, zombie: state == 'Z' || state == 'X'}, sid
}

// leaderless reports that the process that led the session has ended.
func (s session) leaderless() bool {
	leader, sid := readStat(int(s))

	return sid != int(s) || leader.zombie
}

// reap reads the status of members that ended and that this process adopted.
// The session's leader is left alone: it belongs to an exec.Cmd.
func reap(session int, dead member) {
	if dead.zombie && dead.pid != session && dead.parent == os.Getpid() {
		_, _ = syscall.Wait4(dead.pid, nil, syscall.WNOHANG, nil)
	}
}
