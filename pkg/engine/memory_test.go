package engine_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	mib = 1 << 20
	// hogEnds bounds a hog that nobody stops.
	hogEnds = 3 << 30
	// hogStep is what it takes every few milliseconds, about a gigabyte a
	// second.
	hogStep = 4 * mib
)

// hog takes memory until it is stopped.
func hog() {
	var taken [][]byte

	tick := time.NewTicker(4 * time.Millisecond)

	for len(taken)*hogStep < hogEnds {
		block := make([]byte, hogStep)
		for i := 0; i < len(block); i += 1 << 10 {
			block[i] = 1
		}

		taken = append(taken, block)

		<-tick.C
	}

	tick.Stop()
	os.Exit(1) // Nobody did.
}

// deployHog is a program that takes memory after its first resource.
func deployHog(ctx *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
	if _, err := deployPlain(ctx, t); err != nil {
		return nil, err
	}

	hog()

	return pulumi.Map{}, nil
}

// requireMemoryFailure demands the failure of an operation that took more than
// a budget, soon enough for its neighbours.
func requireMemoryFailure(t *testing.T, res engine.Result, budget int64) {
	t.Helper()

	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindMemory, res.Failure.Kind, res.Failure)
	require.Contains(t, res.Failure.Message, "more than the "+strconv.FormatInt(budget/mib, 10)+" MiB")
	require.Contains(t, res.Failure.Message, "the operation took "+strconv.FormatInt((res.PeakMemory+mib-1)/mib, 10)+" MiB")
	require.Contains(t, res.Failure.Hint, "LESSOR_OPERATION_MEMORY")
	require.Greater(t, res.PeakMemory, budget)
	require.Less(t, res.PeakMemory, budget+2<<30, "it was not stopped in time")
	require.False(t, res.Clean)
}

// slotOf is the directory of a slot, which no other slot's begins with.
func slotOf(dir string, number int) string {
	return filepath.Join(dir, "work", "w0", "slot-"+strconv.Itoa(number)) + string(filepath.Separator)
}

// TestAProcessThatHogsMemory has the hog behind a CLI, in a process group of
// its own and deaf to signals, as a provider plugin could be.
func TestAProcessThatHogsMemory(t *testing.T) {
	t.Parallel()

	const budget = 600 * mib

	self, err := os.Executable()
	require.NoError(t, err)

	f := newFake(t, `if [[ "$*" == *quiet* ]]; then
	touch $DIR/quiet; while [ ! -e $DIR/go ]; do sleep 0.05; done; exit 0
fi
while [ ! -e $DIR/quiet ]; do sleep 0.05; done
set -m; (trap '' INT TERM HUP; `+self+` hog) & wait`, engine.WithMemory(budget))

	quiet := make(chan engine.Result, 1)

	go func() {
		op := f.operation(plan.StepDestroy)
		op.Stack.Name = "quiet"

		quiet <- f.Run(t.Context(), 1, op, engine.Watch{})
	}()

	res := f.Run(t.Context(), 0, f.operation(plan.StepDestroy), engine.Watch{})
	requireMemoryFailure(t, res, budget)
	require.Empty(t, processesIn(t, slotOf(f.dir, 0)))
	require.NoDirExists(t, slotOf(f.dir, 0))

	select {
	case res := <-quiet:
		require.Fail(t, "the neighbour ended too", "%v", res)
	default:
	}

	require.NoError(t, os.WriteFile(filepath.Join(f.dir, "go"), nil, 0o600))

	res = <-quiet
	require.Nil(t, res.Failure)
	require.True(t, res.Clean)
	require.Positive(t, res.PeakMemory)
	f.requireGone(t)
}

func TestAProgramThatHogsMemory(t *testing.T) {
	t.Parallel()

	const budget = 900 * mib

	b := newBed(t, engine.WithMemory(budget))
	begun, ended := make(chan struct{}, 100), make(chan engine.Result, 1)

	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)

	go func() {
		ended <- b.Run(ctx, 1, b.operation("neighbour", false, "hangs", plan.StepUp),
			engine.Watch{Progress: moving(begun)})
	}()

	<-begun

	res := b.Run(t.Context(), 0, b.operation("hog", false, "hogs", plan.StepUp), engine.Watch{})
	requireMemoryFailure(t, res, budget)
	require.Empty(t, processesIn(t, slotOf(b.dir, 0)))

	cancel(engine.ErrInterrupt)

	res = <-ended
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindInterrupted, res.Failure.Kind)
	require.True(t, res.Clean)
	require.Greater(t, res.PeakMemory, int64(50*mib), "the CLI alone has more")
	require.Less(t, res.PeakMemory, int64(budget))
	t.Logf("an up takes %d MiB", res.PeakMemory/mib)
}

// TestTheKernelPrefersOperations guards the worker against the OOM killer.
func TestTheKernelPrefersOperations(t *testing.T) {
	t.Parallel()

	f := newFake(t, `cat /proc/self/oom_score_adj >$DIR/score`)
	require.Nil(t, f.Run(t.Context(), 0, f.operation(plan.StepDestroy), engine.Watch{}).Failure)

	own, err := os.ReadFile("/proc/self/oom_score_adj")
	require.NoError(t, err)

	before, err := strconv.Atoi(strings.TrimSpace(string(own)))
	require.NoError(t, err)
	require.Equal(t, strconv.Itoa(min(before+500, 1000)), strings.TrimSpace(f.file(t, "score")))
}
