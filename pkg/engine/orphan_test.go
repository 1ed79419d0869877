package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// orphan is a child without a Runner, as if its worker were dead or frozen.
type orphan struct {
	*fake

	cmd   *exec.Cmd
	stdin *os.File
}

func startOrphan(t *testing.T, script string, grace time.Duration) *orphan {
	t.Helper()

	self, err := os.Executable()
	require.NoError(t, err)

	reader, writer, err := os.Pipe()
	require.NoError(t, err)

	o := &orphan{fake: writeFake(t, script), stdin: writer}
	work := filepath.Join(o.dir, "slot")
	require.NoError(t, os.Mkdir(work, 0o700))

	o.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), self, "operation")
	o.cmd.Stdin = reader
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	require.NoError(t, o.cmd.Start())
	require.NoError(t, reader.Close())
	t.Cleanup(func() { _ = writer.Close() })

	o.tell(t, engine.Order(o.operation(plan.StepDestroy), o.script, work, grace))

	return o
}

func (o *orphan) tell(t *testing.T, line any) {
	t.Helper()

	require.NoError(t, json.NewEncoder(o.stdin).Encode(line))
}

const (
	politeScript   = `trap 'touch $DIR/interrupted; exit 1' INT; touch $DIR/up; while :; do sleep 0.05; done`
	stubbornScript = `trap 'touch $DIR/interrupted' INT; touch $DIR/up; while :; do sleep 0.05; done`
)

func TestADeadWorkerInterruptsItsOperations(t *testing.T) {
	t.Parallel()

	o := startOrphan(t, politeScript, time.Minute)
	o.tell(t, engine.LeaseLine(time.Minute))
	o.awaitFile(t, "up")
	require.NoError(t, o.stdin.Close())
	require.NoError(t, o.cmd.Wait(), "the child ends by itself")
	require.FileExists(t, filepath.Join(o.dir, "interrupted"))
	o.requireGone(t)
}

func TestAnOperationEndsWithItsLease(t *testing.T) {
	t.Parallel()

	for name, dead := range map[string]bool{"dead worker": true, "frozen worker": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			o := startOrphan(t, stubbornScript, time.Minute)
			o.tell(t, engine.LeaseLine(time.Minute))
			o.awaitFile(t, "up")
			o.tell(t, engine.LeaseLine(2*time.Second))

			began := time.Now()

			if dead {
				require.NoError(t, o.stdin.Close())
				o.awaitFile(t, "interrupted")
			}

			err := o.cmd.Wait()
			require.ErrorContains(t, err, "signal: killed")
			require.Greater(t, time.Since(began), 1500*time.Millisecond)
			o.requireGone(t)
		})
	}
}

func TestADeadWorkerWithoutALease(t *testing.T) {
	t.Parallel()

	o := startOrphan(t, `trap '' INT; touch $DIR/up; while :; do sleep 0.05; done`, 300*time.Millisecond)
	o.awaitFile(t, "up")
	require.NoError(t, o.stdin.Close())
	_ = o.cmd.Wait()
	o.requireGone(t)
}

func TestAChildObeysKill(t *testing.T) {
	t.Parallel()

	o := startOrphan(t, stubbornScript, time.Minute)
	o.awaitFile(t, "up")
	o.tell(t, engine.KillLine())
	require.ErrorContains(t, o.cmd.Wait(), "signal: killed")
	o.requireGone(t)
}

func TestAChildWithoutAnOrder(t *testing.T) {
	t.Parallel()

	require.NotZero(t, engine.Child(t.Context(), nil, strings.NewReader("nonsense\n"), io.Discard))
}

// TestAChildInProcess runs operations that end before any process is started.
func TestAChildInProcess(t *testing.T) {
	t.Parallel()

	cases := []struct {
		name    string
		cancel  bool
		op      engine.Operation
		kind    tenant.Kind
		message string
	}{
		{name: "cancelled", cancel: true, op: (&fake{}).operation(plan.StepUp), kind: tenant.KindInterrupted, message: "before the step"},
		{name: "no stack", op: engine.Operation{Steps: []plan.Step{plan.StepUp}}, kind: tenant.KindUnknown, message: "names no stack"},
		{name: "unknown step", op: (&fake{}).operation("dance"), kind: tenant.KindInvalid, message: "unknown step dance"},
	}

	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()

			if test.cancel {
				cancel()
			}

			line, err := json.Marshal(engine.Order(test.op, "/none", t.TempDir(), time.Second))
			require.NoError(t, err)

			// Its stdin stays open, as that of a child does.
			stdin, keep := io.Pipe()
			defer keep.Close()

			go func() { _, _ = fmt.Fprintf(keep, "%s\n", line) }()

			var out strings.Builder

			require.Zero(t, engine.Child(ctx, nil, stdin, &out))

			var told struct {
				Result engine.Result `json:"result"`
			}

			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &told))
			require.NotNil(t, told.Result.Failure)
			require.Equal(t, test.kind, told.Result.Failure.Kind)
			require.Contains(t, told.Result.Failure.Message, test.message)
			require.Zero(t, told.Result.Processes)
		})
	}
}
