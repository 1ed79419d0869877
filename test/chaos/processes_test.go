package chaos_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// process is one line of the process table.
type process struct {
	pid, parent, session int
	state                byte
	command              []string
}

// operation reports whether it is the child that runs one operation.
func (p process) operation() bool { return len(p.command) == 2 && p.command[1] == engine.ChildArgument }

func (p process) cli() bool { return len(p.command) > 0 && filepath.Base(p.command[0]) == "pulumi" }

func (p process) zombie() bool { return p.state == 'Z' || p.state == 'X' }

// processes reads the process table. What ends meanwhile is left out.
func processes() []process {
	names, _ := filepath.Glob("/proc/[0-9]*")

	var all []process

	for _, name := range names {
		stat, err := os.ReadFile(filepath.Join(name, "stat"))
		if err != nil {
			continue
		}

		// The name of the program stands in parentheses and may hold anything.
		fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
		if len(fields) < 4 {
			continue
		}

		p := process{state: fields[0][0]}
		p.pid, _ = strconv.Atoi(filepath.Base(name))
		p.parent, _ = strconv.Atoi(fields[1])
		p.session, _ = strconv.Atoi(fields[3])

		if command, err := os.ReadFile(filepath.Join(name, "cmdline")); err == nil {
			p.command = strings.Split(strings.TrimRight(string(command), "\x00"), "\x00")
		}

		all = append(all, p)
	}

	return all
}

// operationsOf are the children of a worker that run operations.
func operationsOf(all []process, worker int) []process {
	return slices.DeleteFunc(slices.Clone(all), func(p process) bool {
		return p.parent != worker || !p.operation() || p.zombie()
	})
}

// tree is a worker with the sessions of all of its operations.
func tree(all []process, worker int) []int {
	pids := []int{worker}

	for _, child := range operationsOf(all, worker) {
		for _, p := range all {
			if p.session == child.pid && !p.zombie() {
				pids = append(pids, p.pid)
			}
		}
	}

	return pids
}

// signalTree sends a signal to all of a tree until there is nothing new in it.
func signalTree(worker int, sig syscall.Signal) []int {
	var reached []int

	for {
		fresh := slices.DeleteFunc(tree(processes(), worker), func(pid int) bool { return slices.Contains(reached, pid) })
		if len(fresh) == 0 {
			return reached
		}

		for _, pid := range fresh {
			// An error means that it ended in the meantime.
			_ = syscall.Kill(pid, sig)
		}

		reached = append(reached, fresh...)
	}
}

// using are the other processes that were started with a directory in their
// environment, as all of a fleet are.
func using(dir string) []process {
	return slices.DeleteFunc(processes(), func(p process) bool {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))

		return err != nil || p.pid == os.Getpid() || p.zombie() || !bytes.Contains(environ, []byte(dir))
	})
}
