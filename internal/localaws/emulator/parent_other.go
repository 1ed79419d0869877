//go:build !linux

package emulator

import "syscall"

// dieWithParent has no equivalent outside Linux: there Stop alone ends the
// emulator.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
