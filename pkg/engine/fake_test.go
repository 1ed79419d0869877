package engine_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// fake is a runner on a shell script that plays the CLI.
type fake struct {
	*engine.Runner

	dir    string
	script string
}

// newFake makes a script of which body is what it does for any command but
// version. In it $DIR is a directory of the test's.
func newFake(t *testing.T, body string, opts ...engine.Option) *fake {
	t.Helper()

	return newPatientFake(t, body, 500*time.Millisecond, opts...)
}

// newPatientFake gives the script another grace to end after an interrupt.
func newPatientFake(t *testing.T, body string, grace time.Duration, opts ...engine.Option) *fake {
	t.Helper()

	f := writeFake(t, body)
	cfg := validConfig(f.dir)
	cfg.Pulumi, cfg.InterruptGrace = f.script, grace
	second := 500 * time.Millisecond
	f.Runner = newRunner(t, cfg, append([]engine.Option{engine.WithPlainState(), engine.WithGraces(second, second, 2*time.Second)}, opts...)...)

	return f
}

func writeFake(t *testing.T, body string) *fake {
	t.Helper()

	dir := t.TempDir()
	f := &fake{dir: dir, script: scriptIn(dir)}
	text := "#!/bin/bash\nDIR=" + dir + "\nif [ \"$1\" = version ]; then echo v3.274.1; exit 0; fi\n" + body + "\n"
	require.NoError(t, os.WriteFile(f.script, []byte(text), 0o700))

	return f
}

func scriptIn(dir string) string { return filepath.Join(dir, "fake-pulumi") }

func (*fake) operation(steps ...plan.Step) engine.Operation {
	return engine.Operation{
		ID: "01OP", Tenant: "acme", Steps: steps,
		Stack:      tenant.Stack{Project: "lessor", Name: "acme", Shard: "bucket", Created: true},
		Topologies: []engine.Topology{{Generation: 1, Tenant: "acme", Program: "plain"}},
	}
}

func (f *fake) file(t *testing.T, name string) string {
	t.Helper()

	text, err := os.ReadFile(filepath.Join(f.dir, name))
	require.NoError(t, err)

	return string(text)
}

var errNoFile = errors.New("the script did not make its file")

// appears waits until the script has made a file.
func (f *fake) appears(name string) error {
	const attempts = 6000

	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()

	for range attempts {
		if _, err := os.Stat(filepath.Join(f.dir, name)); err == nil {
			return nil
		}

		<-tick.C
	}

	return errNoFile
}

// awaitFile waits until the script has made a file.
func (f *fake) awaitFile(t *testing.T, name string) {
	t.Helper()

	require.NoError(t, f.appears(name))
}

// requireGone demands that no process of the runner's slots lives.
func (f *fake) requireGone(t *testing.T) {
	t.Helper()

	require.Empty(t, processesIn(t, f.dir))
}

func TestHowTheCLIIsCalled(t *testing.T) {
	t.Parallel()

	f := newFake(t, `echo "$@" >>$DIR/args; env >$DIR/env; pwd >$DIR/pwd`)
	op := f.operation(plan.StepRefresh, plan.StepUp)
	op.Stack.Created = false

	res := f.Run(t.Context(), 7, op, engine.Watch{})
	require.Nil(t, res.Failure)
	require.Equal(t, 2, res.Processes)
	require.True(t, res.Clean)

	res = f.Run(t.Context(), 7, f.operation(plan.StepRefresh, plan.StepDestroy), engine.Watch{})
	require.Nil(t, res.Failure)
	require.Equal(t, 1, res.Processes)

	calls := strings.Split(strings.TrimSpace(f.file(t, "args")), "\n")
	require.Len(t, calls, 3, "a refresh is part of the step after it")
	require.Equal(t, "--non-interactive stack init acme --secrets-provider awskms://alias/none", calls[0])

	for _, flag := range []string{"up --yes --skip-preview", "--refresh", "--parallel=4", "--suppress-progress", "01OP", "--stack acme"} {
		require.Contains(t, calls[1], flag)
	}

	for _, flag := range []string{"destroy", "--refresh", "--continue-on-error", "--exec-kind=auto.local", "--stack acme"} {
		require.Contains(t, calls[2], flag)
	}

	env := f.file(t, "env")
	slot := filepath.Join(f.dir, "work", "w0", "slot-7")

	for _, variable := range []string{
		"PULUMI_BACKEND_URL=s3://bucket?", "PULUMI_HOME=" + slot + "/home\n", "TMPDIR=" + slot + "/tmp\n", "AWS_REGION=us-east-1",
		"PULUMI_AUTOMATION_API=true", "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER=true", "PULUMI_SKIP_UPDATE_CHECK=true",
		"PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION=true", "PULUMI_DIY_BACKEND_DISABLE_CHECKPOINT_BACKUPS=true", "PATH=", "HOME=",
	} {
		require.Contains(t, env, variable)
	}

	for _, name := range []string{"PASSPHRASE", "LESSOR_", "PULUMI_ACCESS_TOKEN", "SOME_OTHER_SECRET"} {
		require.NotContains(t, env, name)
	}

	require.Equal(t, slot+"/work\n", f.file(t, "pwd"))
}

func TestEndingAStubbornCLI(t *testing.T) {
	t.Parallel()

	cases := []struct {
		name   string
		script string
		clean  bool
		took   time.Duration
	}{
		{name: "ends at the first signal", script: `trap 'exit 1' INT; touch $DIR/up; while :; do sleep 0.05; done`, clean: true},
		{
			name:   "ends at the second signal",
			script: `n=0; trap 'n=$((n+1)); [ $n = 2 ] && exit 8' INT; touch $DIR/up; while :; do sleep 0.05; done`,
		},
		{name: "dies of the signal", script: `touch $DIR/up; exec sleep 1000`},
		{name: "ignores every signal", script: `trap '' INT TERM; touch $DIR/up; while :; do sleep 0.05; done`},
		{
			name:   "has a plugin that ignores signals",
			script: `set -m; (trap '' INT TERM HUP; exec sleep 1000) & touch $DIR/up; exec sleep 1000`,
		},
	}

	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			f := newFake(t, test.script)
			ctx, cancel := context.WithCancelCause(t.Context())

			go func() {
				cancel(errors.Join(f.appears("up"), engine.ErrInterrupt))
			}()

			res := f.Run(ctx, 0, f.operation(plan.StepDestroy), engine.Watch{})
			require.NotNil(t, res.Failure)
			require.Equal(t, tenant.KindInterrupted, res.Failure.Kind)
			require.Equal(t, "destroy", res.Failure.Step)
			require.Equal(t, test.clean, res.Clean)
			f.requireGone(t)
		})
	}
}

// stack init holds the lock and handles no signal: one that hits it would leave
// the lock behind.
func TestAnInterruptWaitsForStackInit(t *testing.T) {
	t.Parallel()

	f := newFake(t, `case "$*" in
*"stack init"*) trap 'touch $DIR/hit' INT; touch $DIR/up; sleep 0.3; touch $DIR/ended; exit 0;;
*) touch $DIR/other;;
esac`)
	ctx, cancel := context.WithCancelCause(t.Context())

	go func() {
		cancel(errors.Join(f.appears("up"), engine.ErrInterrupt))
	}()

	op := f.operation(plan.StepUp)
	op.Stack.Created = false

	res := f.Run(ctx, 0, op, engine.Watch{})
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindInterrupted, res.Failure.Kind)
	require.True(t, res.Clean)
	require.Equal(t, 1, res.Processes, "the up does not begin")
	require.FileExists(t, filepath.Join(f.dir, "ended"))
	require.NoFileExists(t, filepath.Join(f.dir, "hit"))
	require.NoFileExists(t, filepath.Join(f.dir, "other"))
	f.requireGone(t)
}

func TestPluginsEndWithTheirOperation(t *testing.T) {
	t.Parallel()

	// In a group of its own, as plugins are, and with all signals ignored.
	f := newFake(t, `set -m; (trap '' INT TERM HUP; exec sleep 1000) & echo $! >$DIR/plugin; exit 0`)
	res := f.Run(t.Context(), 0, f.operation(plan.StepDestroy), engine.Watch{})
	require.Nil(t, res.Failure)
	require.True(t, res.Clean)
	require.NotEmpty(t, f.file(t, "plugin"))
	f.requireGone(t)
}

func TestALostLeaseKillsAtOnce(t *testing.T) {
	t.Parallel()

	f := newFake(t, `trap 'touch $DIR/interrupted; exit 1' INT; touch $DIR/up; while :; do sleep 0.05; done`)
	ctx, cancel := context.WithCancelCause(t.Context())

	go func() {
		cancel(errors.Join(f.appears("up"), engine.ErrLeaseLost))
	}()

	res := f.Run(ctx, 0, f.operation(plan.StepDestroy), engine.Watch{})
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindLeaseLost, res.Failure.Kind)
	require.False(t, res.Clean)
	require.NoFileExists(t, filepath.Join(f.dir, "interrupted"))
	f.requireGone(t)
}

func TestTheDeadlineInterruptsFirst(t *testing.T) {
	t.Parallel()

	f := newFake(t, `trap 'touch $DIR/interrupted; exit 1' INT; touch $DIR/up; while :; do sleep 0.05; done`)
	op := f.operation(plan.StepDestroy)
	op.Deadline = time.Now().Add(2 * time.Second)

	res := f.Run(t.Context(), 0, op, engine.Watch{})
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindTimeout, res.Failure.Kind)
	require.Contains(t, res.Failure.Message, "did not end in time")
	require.FileExists(t, filepath.Join(f.dir, "interrupted"))
	f.requireGone(t)
}

func TestASecretOfTheCLIStaysInside(t *testing.T) {
	t.Parallel()

	f := newFake(t, `echo "password=`+secretValue+`"
		echo "`+secretValue+`" >&2; echo 'error: password: "`+secretValue+`" is wrong' >&2; exit 255`)
	res := f.Run(t.Context(), 0, f.operation(plan.StepDestroy), engine.Watch{})
	require.NotNil(t, res.Failure)
	require.Equal(t, `password: [secret] is wrong`, res.Failure.Message)
	requireNoSecret(t, res)
}

// TestAChildThatEndsInSilence replaces the child by commands that fail.
func TestAChildThatEndsInSilence(t *testing.T) {
	t.Parallel()

	cases := []struct{ name, script, message string }{
		{name: "exits", script: `exit 3`, message: "ended without a result"},
		{name: "is killed", script: `kill -9 $$`, message: "ended by signal: killed"},
		{name: "panics", script: `echo noise >&2; echo 'panic: boom' >&2; echo 'goroutine 1' >&2; exit 2`, message: "panic: boom"},
		{name: "talks nonsense", script: `echo '{"result": 5}'; echo '{"progress"'; echo '[1]'`, message: "ended without a result"},
		{name: "talks without end", script: `head -c 10000000 /dev/zero | tr '\0' x; echo`, message: "ended without a result"},
		{name: "leaves a process", script: `set -m; sleep 1000 & exit 1`, message: "ended without a result"},
	}

	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			f := newFake(t, "exit 0", engine.WithCommand("/bin/bash", "-c", test.script))
			res := f.Run(t.Context(), 0, f.operation(plan.StepDestroy), engine.Watch{})
			require.NotNil(t, res.Failure)
			require.Equal(t, tenant.KindUnknown, res.Failure.Kind)
			require.Contains(t, res.Failure.Message, test.message)
			require.NotContains(t, res.Failure.Message, "goroutine")
			require.False(t, res.Clean)
			require.True(t, res.StackCreated)
			require.Equal(t, -1, res.Resources)
			f.requireGone(t)
		})
	}
}

// TestAChildMayNotBecomeAWorker guards against an executable that takes its
// children for workers, which take their children for workers.
func TestAChildMayNotBecomeAWorker(t *testing.T) {
	t.Parallel()

	self, err := os.Executable()
	require.NoError(t, err)

	f := newFake(t, "exit 0", engine.WithCommand(self, "nested"))
	res := f.Run(t.Context(), 0, f.operation(plan.StepDestroy), engine.Watch{})
	require.NotNil(t, res.Failure)
	require.Contains(t, res.Failure.Message, `must call Child for the argument "operation"`)
}

func TestAChildThatCannotStart(t *testing.T) {
	t.Parallel()

	f := newFake(t, "exit 0", engine.WithCommand("/does/not/exist"))
	res := f.Run(t.Context(), 0, f.operation(plan.StepDestroy), engine.Watch{})
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindTransient, res.Failure.Kind)
	require.False(t, res.Clean, "what an unclean predecessor left is still there")

	op := f.operation(plan.StepDestroy)
	op.CleanPredecessor = true
	require.True(t, f.Run(t.Context(), 0, op, engine.Watch{}).Clean)
}
