package engine

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strconv"
)

// procMeter reads the memory of a session's processes from /proc.
type procMeter struct {
	session session
	// root is /proc.
	root string
}

func newMeter(s session) meter { return procMeter{session: s, root: "/proc"} }

func (m procMeter) list() []int {
	found, err := members(int(m.session))
	if err != nil {
		return nil
	}

	var pids []int

	for _, f := range found {
		if !f.zombie {
			pids = append(pids, f.pid)
		}
	}

	return pids
}

func (m procMeter) resident(pid int) int64 {
	resident, _ := m.statm(pid)

	return resident
}

// proportional falls back to the memory that a process certainly does not
// share, where the kernel or a sandbox shows no PSS or shows it to nobody else.
func (m procMeter) proportional(pid int) int64 {
	// The second file is the longer form of the first, which older kernels and
	// some sandboxes do not have.
	for _, name := range []string{"smaps_rollup", "smaps"} {
		if pss, ok := m.pss(pid, name); ok {
			return pss
		}
	}

	resident, shared := m.statm(pid)

	return max(0, resident-shared)
}

// pss adds up the lines "Pss:" of a file.
func (m procMeter) pss(pid int, name string) (int64, bool) {
	const kibibyte = 1 << 10

	text, err := os.ReadFile(m.path(pid, name))
	if err != nil {
		return 0, false
	}

	var (
		total int64
		found bool
	)

	for line := range bytes.Lines(text) {
		value, ok := bytes.CutPrefix(line, []byte("Pss:"))
		if !ok {
			continue
		}

		n, err := strconv.ParseInt(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(value), []byte("kB")))), 10, 54)
		if err != nil {
			return 0, false
		}

		total += n * kibibyte
		found = true
	}

	return total, found
}

// statm returns what a process has in memory, and how much of that are files
// and memory that could be shared.
func (m procMeter) statm(pid int) (resident, shared int64) {
	const (
		fieldResident = 1
		fieldShared   = 2
	)

	text, err := os.ReadFile(m.path(pid, "statm"))
	if err != nil {
		return 0, 0
	}

	fields := bytes.Fields(text)
	if len(fields) <= fieldShared {
		return 0, 0
	}

	size := int64(os.Getpagesize())
	pages := func(field []byte) int64 {
		n, err := strconv.ParseInt(string(field), 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64/size {
			return 0
		}

		return n * size
	}

	return pages(fields[fieldResident]), pages(fields[fieldShared])
}

func (m procMeter) path(pid int, name string) string {
	return filepath.Join(m.root, strconv.Itoa(pid), name)
}

const (
	// oomStep makes the kernel's OOM killer choose an operation: its processes
	// count as if they had half of the memory more than they have.
	oomStep = 500
	// oomMost is what the kernel allows. A pod without requests has it already.
	oomMost = 1000
)

// offerToOOMKiller marks a process, and what it will start, as a better victim
// than this one. No right is needed for that. Where the control group is killed
// as a whole (memory.oom.group, which Kubernetes sets for containers unless the
// kubelet's singleProcessOOMKill is on) it is no help: there the memory watch
// has to come first.
func offerToOOMKiller(pid int) error {
	name := "/proc/" + strconv.Itoa(pid) + "/oom_score_adj"

	text, err := os.ReadFile(name)
	if err != nil {
		return err //nolint:wrapcheck // The caller goes on without it.
	}

	now, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		return err //nolint:wrapcheck // As above.
	}

	//nolint:wrapcheck // As above.
	return os.WriteFile(name, strconv.AppendInt(nil, int64(min(now+oomStep, oomMost)), 10), privateFile)
}
