package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
)

// newSpareFake makes a runner whose children write down their process ids.
func newSpareFake(t *testing.T) *fake {
	t.Helper()

	self, err := os.Executable()
	require.NoError(t, err)

	dir := t.TempDir()
	script := filepath.Join(dir, "child")
	text := fmt.Sprintf("#!/bin/sh\necho $$ >>%q\nexec %q operation\n", filepath.Join(dir, "started"), self)
	require.NoError(t, os.WriteFile(script, []byte(text), 0o700))

	var f *fake

	// After the runner was closed, which newFake sees to.
	t.Cleanup(func() { f.requireGone(t) })

	f = newFake(t, `[ "$TMPDIR" = "$(dirname "$PWD")/tmp" ] || exit 1; echo "$TMPDIR" >>$DIR/slots`,
		engine.WithCommand(script), engine.WithSpare())
	require.NoError(t, os.Symlink(filepath.Join(dir, "started"), filepath.Join(f.dir, "started")))

	return f
}

// children returns the process ids of all children so far, once there are so many.
func (f *fake) children(t *testing.T, n int) []int {
	t.Helper()

	var pids []int

	require.Eventually(t, func() bool {
		text, err := os.ReadFile(filepath.Join(f.dir, "started"))
		pids = nil

		for field := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(field)
			require.NoError(t, err)

			pids = append(pids, pid)
		}

		return err == nil && len(pids) >= n
	}, time.Minute, 5*time.Millisecond)

	return pids
}

func (f *fake) runs(t *testing.T, slot int) {
	t.Helper()

	res := f.Run(t.Context(), slot, f.operation(plan.StepUp), engine.Watch{})
	require.Nil(t, res.Failure)
	require.True(t, res.Clean)
}

func TestAChildStandsReady(t *testing.T) {
	t.Parallel()

	f := newSpareFake(t)
	f.runs(t, 0)

	spare := f.children(t, 2)[1]
	require.NoError(t, syscall.Kill(spare, 0), "it waits for an order")

	t.Log("it runs the next operation, in whatever slot that has")
	f.runs(t, 3)
	require.Error(t, syscall.Kill(spare, 0), "it has ended with its operation")
	require.Len(t, f.children(t, 3), 3, "and another one took its place")

	slots := strings.Fields(f.file(t, "slots"))
	require.Len(t, slots, 2)
	require.Contains(t, slots[0], "slot-0")
	require.Contains(t, slots[1], "slot-3")
}

func TestASpareThatDied(t *testing.T) {
	t.Parallel()

	f := newSpareFake(t)
	f.runs(t, 0)

	spare := f.children(t, 2)[1]
	require.NoError(t, syscall.Kill(spare, syscall.SIGKILL))
	require.Eventually(t, func() bool { return !living(t, spare) }, time.Minute, time.Millisecond)

	f.runs(t, 0)
	require.Len(t, f.children(t, 4), 4, "one for the operation, and one that stands ready")
}

// living reports whether a process is more than a status that nobody read.
func living(t *testing.T, pid int) bool {
	t.Helper()

	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")

	return err == nil && !strings.Contains(string(stat), ") Z ")
}
