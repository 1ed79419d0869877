//go:build !linux

package engine

import (
	"syscall"
	"time"
)

// Other systems are for developers' machines alone. There a session cannot be
// listed: ending an operation reaches the child's process group only, and a
// provider plugin lives on until it notices that its CLI is gone.

func bootTime() (time.Duration, error) { return time.Duration(time.Now().UnixNano()), nil }

func adoptOrphans() error { return nil }

func newSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func newGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// awaitExit polls, since there is no way to wait without reading the status.
func awaitExit(pid int) {
	const interval = 20 * time.Millisecond

	for syscall.Kill(pid, 0) == nil {
		var status syscall.WaitStatus
		if got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); got != 0 || err != nil {
			return
		}

		time.Sleep(interval)
	}
}

type member struct {
	pid, parent int
	zombie      bool
}

func members(session int) ([]member, error) {
	if syscall.Kill(-session, 0) != nil {
		return nil, nil
	}

	return []member{{pid: -session}}, nil
}

// leaderless cannot tell: the child that does not read its order tells.
func (session) leaderless() bool { return false }

func reap(int, member) {}
