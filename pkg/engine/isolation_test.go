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

// sessionMembers finds the processes of a session, dead or alive, other than
// the engine does.
func sessionMembers(t *testing.T, session string) []string {
	t.Helper()

	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(t, err)

	var found []string

	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}

		_, rest, ok := strings.Cut(string(text), ") ")
		require.True(t, ok)

		// State, parent, group, session.
		if fields := strings.Fields(rest); fields[3] == session {
			found = append(found, filepath.Dir(path))
		}
	}

	return found
}

// requireNothingLeft demands that an operation left no process, found by its
// session, which its CLI wrote down, and by what it was given, and no file.
func (f *fake) requireNothingLeft(t *testing.T) {
	t.Helper()

	f.requireGone(t)
	require.Empty(t, sessionMembers(t, strings.TrimSpace(f.file(t, "session"))))
	requireNoFiles(t, filepath.Join(f.dir, "work"))
}

// requireNoFiles demands that work directories hold nothing but their locks.
func requireNoFiles(t *testing.T, work string) {
	t.Helper()

	left, err := filepath.Glob(filepath.Join(work, "*", "*"))
	require.NoError(t, err)

	for _, path := range left {
		require.Equal(t, "lock", filepath.Base(path), path)
	}
}

// withPlugin begins a script that notes its session and has a plugin: in a
// process group of its own and deaf to every signal.
const withPlugin = `read -r STAT </proc/$$/stat; STAT=(${STAT##*) }); echo ${STAT[3]} >$DIR/session
set -m; (trap '' INT TERM HUP; exec sleep 1000) & PLUGIN=$!; set +m; echo $PLUGIN >$DIR/plugin
`

// TestKillingPartsOfAnOperation kills parts of one operation beside another.
func TestKillingPartsOfAnOperation(t *testing.T) {
	t.Parallel()

	cases := []struct {
		name, script, message string
		clean, succeeds       bool
	}{
		{name: "the CLI", script: `kill -9 $$`, message: "the Pulumi CLI was ended by signal: killed"},
		{name: "the child", script: `kill -9 $PPID; sleep 2; touch $DIR/survived`, message: "the operation's process was ended by signal: killed"},
		{name: "both", script: `kill -9 $PPID $$`, message: "the operation's process was ended by signal: killed"},
		{name: "the plugin", script: `kill -9 $PLUGIN; exit 0`, clean: true, succeeds: true},
		{name: "everything", script: `kill -9 $PLUGIN $PPID $$`, message: "the operation's process was ended by signal: killed"},
	}

	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			f := newFake(t, withPlugin+`if [[ "$*" == *neighbour* ]]; then
	mv $DIR/session $DIR/neighbour; while [ ! -e $DIR/go ]; do sleep 0.02; done; exit 0
fi
`+test.script)
			neighbour := f.beginNeighbour(t)

			began := time.Now()
			res := f.Run(t.Context(), 0, f.operation(plan.StepDestroy), engine.Watch{})
			require.Less(t, time.Since(began), 20*time.Second)
			require.Equal(t, test.clean, res.Clean)

			if test.succeeds {
				require.Nil(t, res.Failure)
			} else {
				require.NotNil(t, res.Failure)
				require.Equal(t, tenant.KindUnknown, res.Failure.Kind)
				require.Contains(t, res.Failure.Message, test.message)
			}

			require.Empty(t, processesIn(t, slotOf(f.dir, 0)))
			require.NoDirExists(t, slotOf(f.dir, 0))
			require.NoFileExists(t, filepath.Join(f.dir, "survived"))

			f.endNeighbour(t, neighbour)
			f.requireNothingLeft(t)
		})
	}
}

// cancelled makes a context that can be cancelled with a cause.
func cancelled(t *testing.T) (context.Context, context.CancelCauseFunc) {
	t.Helper()

	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })

	return ctx, cancel
}

// beginNeighbour runs another tenant's operation in slot 1.
func (f *fake) beginNeighbour(t *testing.T) <-chan engine.Result {
	t.Helper()

	ended := make(chan engine.Result, 1)
	op := f.operation(plan.StepDestroy)
	op.Stack.Name = "neighbour"

	go func() { ended <- f.Run(t.Context(), 1, op, engine.Watch{}) }()

	f.awaitFile(t, "neighbour")

	return ended
}

// endNeighbour demands that the neighbour went on and ends well.
func (f *fake) endNeighbour(t *testing.T, ended <-chan engine.Result) {
	t.Helper()

	require.NotEmpty(t, processesIn(t, slotOf(f.dir, 1)))

	select {
	case res := <-ended:
		require.Fail(t, "the neighbour ended too", "%v", res)
	default:
	}

	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o600))

	res := <-ended
	require.Nil(t, res.Failure)
	require.True(t, res.Clean)
}

// TestHangingOperationsEndInBounds has a CLI that no signal ends, and whose
// plugin neither, at the deadline and when told to end.
func TestHangingOperationsEndInBounds(t *testing.T) {
	t.Parallel()

	const hang = withPlugin + `trap '' INT TERM; touch $DIR/up; while :; do sleep 0.02; done`

	t.Run("deadline", func(t *testing.T) {
		t.Parallel()

		f := newFake(t, hang)
		op := f.operation(plan.StepDestroy)
		op.Deadline = time.Now().Add(2 * time.Second)

		res := f.Run(t.Context(), 0, op, engine.Watch{})
		require.Less(t, time.Since(op.Deadline), 8*time.Second, "two graces of half a second, and a margin for a busy machine")
		require.NotNil(t, res.Failure)
		require.Equal(t, tenant.KindTimeout, res.Failure.Kind)
		require.False(t, res.Clean)
		f.requireNothingLeft(t)
	})

	t.Run("deadline within an interrupt", func(t *testing.T) {
		t.Parallel()

		// The interrupt alone would wait for an hour.
		f := newPatientFake(t, hang, time.Hour)
		op := f.operation(plan.StepDestroy)
		op.Deadline = time.Now().Add(3 * time.Second)

		ctx, cancel := cancelled(t)

		go func() { cancel(errors.Join(f.appears("up"), engine.ErrInterrupt)) }()

		res := f.Run(ctx, 0, op, engine.Watch{})
		require.Less(t, time.Since(op.Deadline), 12*time.Second)
		require.NotNil(t, res.Failure)
		require.Equal(t, tenant.KindInterrupted, res.Failure.Kind, "the first reason is told")
		require.False(t, res.Clean)
		f.requireNothingLeft(t)
	})

	t.Run("deadline within an interrupt, and a CLI that gives up when told twice", func(t *testing.T) {
		t.Parallel()

		f := newPatientFake(t, `n=0; trap 'n=$((n+1)); if [ $n = 2 ]; then touch $DIR/gave-up; exit 8; fi' INT
touch $DIR/up; while :; do sleep 0.02; done`, time.Hour)
		op := f.operation(plan.StepDestroy)
		op.Deadline = time.Now().Add(2 * time.Second)

		ctx, cancel := cancelled(t)

		go func() { cancel(errors.Join(f.appears("up"), engine.ErrInterrupt)) }()

		res := f.Run(ctx, 0, op, engine.Watch{})
		require.NotNil(t, res.Failure)
		require.FileExists(t, filepath.Join(f.dir, "gave-up"), "it was not killed")
		f.requireGone(t)
	})

	t.Run("lost lease within an interrupt", func(t *testing.T) {
		t.Parallel()

		f := newPatientFake(t, hang, time.Hour)
		ctx, cancel := cancelled(t)

		go func() { cancel(errors.Join(f.appears("up"), engine.ErrInterrupt)) }()

		res := f.Run(ctx, 0, f.operation(plan.StepDestroy), engine.Watch{LeaseUntil: leaseFor(4 * time.Second)})
		require.NotNil(t, res.Failure)
		require.Equal(t, tenant.KindLeaseLost, res.Failure.Kind)
		require.False(t, res.Clean)
		f.requireNothingLeft(t)
	})
}

// TestAProgramThatIgnoresItsEnd goes on although its deadline has come and the
// CLI has ended.
func TestAProgramThatIgnoresItsEnd(t *testing.T) {
	t.Parallel()

	b := newBed(t)
	op := b.operation("acme", false, "hangs", plan.StepUp)
	op.Deadline = time.Now().Add(6 * time.Second)

	res := b.Run(t.Context(), 0, op, engine.Watch{})
	require.Less(t, time.Since(op.Deadline), 30*time.Second, "the SDK's patience and a margin for a busy machine")
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindTimeout, res.Failure.Kind)
	require.Empty(t, processesIn(t, slotOf(b.dir, 0)))
	requireNoFiles(t, filepath.Join(b.dir, "work"))
}

// TestAPanicHarmsNobodyElse panics beside an operation that is at work.
func TestAPanicHarmsNobodyElse(t *testing.T) {
	t.Parallel()

	b := newBed(t)
	ctx, cancel := cancelled(t)
	begun, ended := make(chan struct{}, 100), make(chan engine.Result, 1)

	go func() {
		ended <- b.Run(ctx, 9, b.operation("neighbour", false, "hangs", plan.StepUp),
			engine.Watch{Progress: moving(begun)})
	}()

	<-begun

	for slot, program := range []string{"panics", "panicsInApply"} {
		res := b.Run(t.Context(), slot, b.operation(tenant.ID(program), false, program, plan.StepUp), engine.Watch{})
		require.NotNil(t, res.Failure)
		require.Equal(t, tenant.KindUnknown, res.Failure.Kind)
		require.Regexp(t, `panic(ked)?: (the sky fell on us|apply fell over)`, res.Failure.Message)
		require.Empty(t, processesIn(t, slotOf(b.dir, slot)))
		require.NoDirExists(t, slotOf(b.dir, slot))
	}

	require.NotEmpty(t, processesIn(t, slotOf(b.dir, 9)))
	cancel(engine.ErrInterrupt)

	res := <-ended
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindInterrupted, res.Failure.Kind)
	require.True(t, res.Clean)

	// What was done before the interrupt is in the state.
	out, err := b.pulumi(t, "stack", "export", "--stack", "neighbour")
	require.NoError(t, err, out)
	require.Contains(t, out, "t1-part1")
	requireNoFiles(t, filepath.Join(b.dir, "work"))
}
