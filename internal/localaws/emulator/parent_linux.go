package emulator

import "syscall"

// dieWithParent makes the kernel kill the emulator when this process is killed,
// as a test that times out is, so that none is left behind.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
