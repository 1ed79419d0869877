package bed

import (
	"bytes"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Group is a control group that bounds the memory of all processes in it, as that
// of a container does.
type Group struct {
	bed   *Bed
	dir   string
	files groupFiles
}

// groupFiles are those of one version of control groups.
type groupFiles struct{ limit, highest, events string }

// See https://docs.kernel.org/admin-guide/cgroup-v1/memory.html and
// https://docs.kernel.org/admin-guide/cgroup-v2.html.
func filesOfVersion1() groupFiles {
	return groupFiles{limit: "memory.limit_in_bytes", highest: "memory.max_usage_in_bytes", events: "memory.oom_control"}
}

func filesOfVersion2() groupFiles {
	return groupFiles{limit: "memory.max", highest: "memory.peak", events: "memory.events"}
}

// NewGroup makes a control group below that of this process. Most people may not
// do that, and then it fails.
func (b *Bed) NewGroup(limit int64) (*Group, error) {
	const private = 0o700

	parent, files, err := ownGroup()
	if err != nil {
		return nil, err
	}

	g := &Group{bed: b, dir: filepath.Join(parent, fmt.Sprintf("%s-%d", b.Name("lessor-bench"), os.Getpid())), files: files}

	if err := os.Mkdir(g.dir, private); err != nil {
		return nil, fmt.Errorf("making a control group: %w", err)
	}

	// Where the controller is not passed on, the file is not there.
	if err := os.WriteFile(filepath.Join(g.dir, files.limit), strconv.AppendInt(nil, limit, 10), 0); err != nil {
		_ = os.Remove(g.dir)

		return nil, fmt.Errorf("bounding a control group: %w", err)
	}

	return g, nil
}

// ownGroup finds where groups can be made: below the one of this process, or
// beside it with version 2, where a group has either processes or groups in it.
func ownGroup() (dir string, files groupFiles, err error) {
	const root = "/sys/fs/cgroup"

	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", files, fmt.Errorf("finding the control group: %w", err)
	}

	for line := range strings.Lines(string(text)) {
		_, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, group, _ := strings.Cut(rest, ":")

		switch controllers {
		case "memory":
			return filepath.Join(root, "memory", group), filesOfVersion1(), nil
		case "":
			dir, files = filepath.Join(root, path.Dir(group)), filesOfVersion2()
		}
	}

	if dir == "" {
		return "", files, fmt.Errorf("finding the control group: %w", os.ErrNotExist)
	}

	return dir, files, nil
}

// Wrap makes a program that enters the group and goes on as binary, in the same
// process.
func (g *Group) Wrap(binary string) (string, error) {
	const executable = 0o700

	name := filepath.Join(g.bed.Dir, g.bed.Name("grouped"))
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%q || exit\nexec %q \"$@\"\n", filepath.Join(g.dir, "cgroup.procs"), binary)

	if err := os.WriteFile(name, []byte(script), executable); err != nil {
		return "", fmt.Errorf("writing the way into the control group: %w", err)
	}

	return name, nil
}

// Highest is the most memory that the group had, in bytes. Files that were read
// and can be dropped are in it.
func (g *Group) Highest() (int64, error) {
	text, err := os.ReadFile(filepath.Join(g.dir, g.files.highest))
	if err != nil {
		return 0, fmt.Errorf("reading the memory of a control group: %w", err)
	}

	n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading the memory of a control group: %w", err)
	}

	return n, nil
}

// Killed is how many processes the kernel has ended for want of memory.
func (g *Group) Killed() (int, error) {
	text, err := os.ReadFile(filepath.Join(g.dir, g.files.events))
	if err != nil {
		return 0, fmt.Errorf("reading the events of a control group: %w", err)
	}

	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "oom_kill "); found {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				return 0, fmt.Errorf("reading the events of a control group: %w", err)
			}

			return n, nil
		}
	}

	return 0, fmt.Errorf("reading the events of a control group: no oom_kill: %w", os.ErrNotExist)
}

// Close removes the group, whose processes have ended.
func (g *Group) Close() error {
	const (
		attempts = 50
		apart    = 20 * time.Millisecond
	)

	again := time.NewTicker(apart)
	defer again.Stop()

	// The kernel lets go of a process a little after its end.
	err := os.Remove(g.dir)

	for range attempts {
		if err == nil {
			return nil
		}

		<-again.C

		err = os.Remove(g.dir)
	}

	return fmt.Errorf("removing a control group: %w", err)
}
