package engine_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
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

// playWorker is a worker with one operation, whose lease is never renewed, in a
// process of its own, which can be killed.
func playWorker(dir, lease string) int {
	left, err := time.ParseDuration(lease)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)

		return 2
	}

	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)

		return 2
	}

	cfg := validConfig(dir)
	cfg.Pulumi, cfg.InterruptGrace = scriptIn(dir), time.Hour

	runner, err := engine.NewRunner(context.Background(), cfg,
		engine.WithCommand(self, "operation"), engine.WithPlugins(nil), engine.WithPlainState())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)

		return 2
	}

	until := time.Now().Add(left)

	runner.Run(context.Background(), 3, (&fake{}).operation(plan.StepDestroy), engine.Watch{LeaseUntil: func() time.Time { return until }})

	return 0
}

// killable is a worker that was started to be killed.
type killable struct {
	*fake

	cmd *exec.Cmd
}

func startKillable(t *testing.T, script string, lease time.Duration) *killable {
	t.Helper()

	self, err := os.Executable()
	require.NoError(t, err)

	k := &killable{fake: writeFake(t, script)}
	k.cmd = exec.CommandContext(t.Context(), self, "worker", k.dir, lease.String())
	k.cmd.Stderr = os.Stderr
	require.NoError(t, k.cmd.Start())
	k.awaitFile(t, "up")

	return k
}

// kill ends the worker, and more processes at the same time.
func (k *killable) kill(t *testing.T, more ...string) {
	t.Helper()

	pids := make([]int, 0, 1+len(more))
	pids = append(pids, k.cmd.Process.Pid)

	for _, name := range more {
		pid, err := strconv.Atoi(strings.TrimSpace(k.file(t, name)))
		require.NoError(t, err)

		pids = append(pids, pid)
	}

	// Nobody gets a turn in between to react to the end of another.
	for _, pid := range pids {
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	}

	for _, pid := range pids {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}

	require.Error(t, k.cmd.Wait())
}

// awaitGone waits until nothing lives that was started in the directory, and
// nothing holds its lock, which every process of an operation inherits.
func (k *killable) awaitGone(t *testing.T, bound time.Duration) {
	t.Helper()

	lock, err := os.Open(filepath.Join(k.dir, "work", "w0", "lock"))
	require.NoError(t, err)

	defer lock.Close()

	require.Eventually(t, func() bool {
		return len(processesIn(t, k.dir)) == 0 && syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
	}, bound, 20*time.Millisecond)
}

// requireHeir demands that the next worker takes the directory of the dead one
// over and clears it.
func (k *killable) requireHeir(t *testing.T) {
	t.Helper()

	cfg := validConfig(k.dir)
	cfg.Pulumi = k.script
	newRunner(t, cfg)

	entries, err := os.ReadDir(filepath.Join(k.dir, "work"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "a dead worker's directory is used again")
	requireNoFiles(t, filepath.Join(k.dir, "work"))
}

const (
	// noted begins a script that notes who is who.
	noted = `echo $PPID >$DIR/child; echo $$ >$DIR/cli
`
	politely = noted + `trap 'touch $DIR/interrupted; exit 1' INT; touch $DIR/up; while :; do sleep 0.02; done`
	deafly   = noted + `trap '' INT TERM; touch $DIR/up; while :; do sleep 0.02; done`
)

func TestAKilledWorker(t *testing.T) {
	t.Parallel()

	t.Run("the CLI ends when it is told to", func(t *testing.T) {
		t.Parallel()

		k := startKillable(t, politely, time.Hour)
		k.kill(t)
		k.awaitGone(t, 20*time.Second)
		require.FileExists(t, filepath.Join(k.dir, "interrupted"))
		k.requireHeir(t)
	})

	t.Run("the CLI and its plugin are deaf", func(t *testing.T) {
		t.Parallel()

		const lease = 6 * time.Second

		began := time.Now()
		k := startKillable(t, withPlugin+deafly, lease)
		k.kill(t)
		k.awaitGone(t, lease+10*time.Second)
		require.Greater(t, time.Since(began), lease-time.Second, "it has time until its lease ends")
		k.requireHeir(t)
	})

	t.Run("its child too", func(t *testing.T) {
		t.Parallel()

		// Nobody is left who could end the CLI, so it has to end by itself.
		k := startKillable(t, deafly, time.Hour)
		k.kill(t, "child")
		k.awaitGone(t, 5*time.Second)
		k.requireHeir(t)
	})

	t.Run("its child and the CLI too", func(t *testing.T) {
		t.Parallel()

		k := startKillable(t, deafly, time.Hour)
		k.kill(t, "child", "cli")
		k.awaitGone(t, 5*time.Second)
		k.requireHeir(t)
	})
}
