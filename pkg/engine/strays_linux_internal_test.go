package engine

import (
	"bufio"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stray starts a process in a session whose leader has ended, or has not.
func stray(t *testing.T, workDir string, leaderLives bool) int {
	t.Helper()

	script := "sleep 600 >/dev/null & echo $!"
	if leaderLives {
		script += "; exec sleep 600 >/dev/null"
	}

	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = []string{"PATH=/bin:/usr/bin", "TMPDIR=" + workDir + "/w0/slot-0/tmp"}
	cmd.SysProcAttr = newSession()

	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())

	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)

	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)

	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })

	if !leaderLives {
		require.NoError(t, cmd.Wait())

		return pid
	}

	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})

	return pid
}

// gone reports whether a process has ended, even if nobody has read its status.
func gone(pid int) bool {
	m, sid := readStat(pid)

	return sid < 0 || m.zombie
}

func TestStraysOfDeadOperationsAreEnded(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	left := stray(t, dir, false)
	led := stray(t, dir, true)
	foreign := stray(t, dir+"-other", false)

	endStrays(dir)

	require.Eventually(t, func() bool { return gone(left) }, 10*time.Second, sessionPoll)
	require.False(t, gone(led), "an operation that runs is not touched")
	require.False(t, gone(foreign), "nor what works elsewhere")
}
