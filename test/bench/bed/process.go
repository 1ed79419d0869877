package bed

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	kibibyte = 1 << 10
	// ticks a second is what the kernel counts processor time in, on every
	// architecture that Go runs on with Linux: man 5 proc, _SC_CLK_TCK.
	ticks = 100
)

// CPU is the processor time of a process and of all its descendants that have
// ended and were waited for.
func CPU(pid int) (time.Duration, error) {
	// Behind the name, which may hold anything: utime, stime, cutime and cstime
	// are fields 14 to 17 of man 5 proc, and the state is field 3.
	const first, last = 14 - 3, 17 - 3

	fields, err := statOf(pid)
	if err != nil {
		return 0, err
	}

	var sum int64

	for _, field := range fields[first : last+1] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("reading the processor time of %d: %w", pid, err)
		}

		sum += n
	}

	return time.Duration(sum) * time.Second / ticks, nil
}

// statOf are the fields of a process's status from the state on.
func statOf(pid int) ([]string, error) {
	const fewest = 20

	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, fmt.Errorf("reading the status of a process: %w", err)
	}

	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < fewest {
		return nil, fmt.Errorf("reading the status of %d: %w", pid, os.ErrInvalid)
	}

	return fields, nil
}

// Memory is what a process holds.
type Memory struct {
	// Proportional is its share of all memory that it uses (PSS), Anonymous what
	// of its memory no file backs: what cannot be dropped and read again.
	Proportional, Anonymous int64
}

// MemoryOf measures one process.
func MemoryOf(pid int) (Memory, error) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return Memory{}, fmt.Errorf("reading the memory of a process: %w", err)
	}

	var m Memory

	for line := range bytes.Lines(text) {
		name, rest, _ := bytes.Cut(line, []byte(":"))

		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(rest)), " kB"), 10, 64)
		if err != nil {
			continue // the first line is an address
		}

		switch string(name) {
		case "Pss":
			m.Proportional = n * kibibyte
		case "Anonymous":
			m.Anonymous = n * kibibyte
		}
	}

	return m, nil
}

// descendants are a process's children, their children and so on, without those
// that have not become a program of their own yet: until then they use the memory
// of their parent, which would count twice.
func descendants(pid int) []int {
	entries, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}

	children, parents := map[int][]int{}, map[int]int{}

	for _, entry := range entries {
		child, err := strconv.Atoi(filepath.Base(entry))
		if err != nil {
			continue
		}

		fields, err := statOf(child)
		if err != nil {
			continue // it has ended
		}

		if parent, err := strconv.Atoi(fields[1]); err == nil {
			children[parent], parents[child] = append(children[parent], child), parent
		}
	}

	var all []int

	for next := children[pid]; len(next) > 0; next = next[1:] {
		if commandOf(next[0]) == commandOf(parents[next[0]]) {
			continue
		}

		all = append(all, next[0])
		next = append(next, children[next[0]]...)
	}

	return all
}

// commandOf is the command line of a process. It is read from its memory, so that
// it tells whose that is.
func commandOf(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil {
		return ""
	}

	return string(text)
}
