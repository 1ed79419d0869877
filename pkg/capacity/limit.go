package capacity

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// ErrUnknown says that neither a control group nor the machine tells how much
// memory there is.
var ErrUnknown = errors.New("LESSOR_MEMORY_LIMIT: the memory limit cannot be found out here; set it, for example to 4Gi")

// SourceOverride is the source of a limit that was configured.
const SourceOverride = "LESSOR_MEMORY_LIMIT"

const sourceMachine = "memory of the machine"

// hierarchy is how one version of control groups shows limits.
type hierarchy struct {
	name  string
	root  string
	files []string
}

func version1() hierarchy {
	return hierarchy{name: "cgroup v1", root: "sys/fs/cgroup/memory", files: []string{"memory.limit_in_bytes"}}
}

// version2 counts memory.high too: beyond it the kernel stalls every process
// of the group, which is no way to run an operation.
func version2() hierarchy {
	return hierarchy{name: "cgroup v2", root: "sys/fs/cgroup", files: []string{"memory.max", "memory.high"}}
}

// Limit finds out how much memory this process may use and who says so: the
// override if there is one, else the lowest limit of its control group and all
// groups around it, else what the machine has. fsys is os.DirFS("/").
func Limit(fsys fs.FS, override Bytes) (limit Bytes, source string, err error) {
	if override > 0 {
		return override, SourceOverride, nil
	}

	limit, source = math.MaxInt64, ""

	if total, ok := machine(fsys); ok {
		limit, source = total, sourceMachine
	}

	h, group := memberOf(fsys)

	// Inside a container /proc may show the group's path on the host, which is
	// not there; the container's own group is then at the root.
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) {
		for _, file := range h.files {
			if n, ok := read(fsys, path.Join(h.root, dir, file)); ok && n < limit {
				limit, source = n, fmt.Sprintf("%s of %s %s", file, h.name, dir)
			}
		}

		if dir == "/" {
			break
		}
	}

	if source == "" {
		return 0, "", ErrUnknown
	}

	return limit, source, nil
}

// memberOf finds the group of this process that has the memory controller.
// Where both versions are mounted that is the first one's.
func memberOf(fsys fs.FS) (h hierarchy, group string) {
	h, group = version2(), "/"

	data, err := fs.ReadFile(fsys, "proc/self/cgroup")
	if err != nil {
		return h, group
	}

	for line := range strings.Lines(string(data)) {
		// hierarchy-ID:controller-list:path, of which only the path may have colons.
		const parts = 3

		fields := strings.SplitN(strings.TrimSpace(line), ":", parts)
		if len(fields) != parts {
			continue
		}

		for controller := range strings.SplitSeq(fields[1], ",") {
			if controller == "memory" {
				return version1(), fields[2]
			}
		}

		if fields[0] == "0" && fields[1] == "" {
			group = fields[2]
		}
	}

	return h, group
}

// read reads a limit. "max", and the huge number that version 1 has for it, is
// none.
func read(fsys fs.FS, name string) (Bytes, bool) {
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return 0, false
	}

	n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)

	const unlimited = math.MaxInt64 >> 1

	return Bytes(n), err == nil && n > 0 && n < unlimited
}

// machine reads how much memory the machine has.
func machine(fsys fs.FS) (Bytes, bool) {
	data, err := fs.ReadFile(fsys, "proc/meminfo")
	if err != nil {
		return 0, false
	}

	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		value, ok := strings.CutPrefix(lines.Text(), "MemTotal:")
		if !ok {
			continue
		}

		n, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 54)

		return Bytes(n * kibi), err == nil && n > 0
	}

	return 0, false
}
