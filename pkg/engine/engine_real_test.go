package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// operation makes an operation of a tenant on the bed's bucket.
func (b *bed) operation(id tenant.ID, created bool, program string, steps ...plan.Step) engine.Operation {
	return engine.Operation{
		ID: "01OP", Tenant: id, Fence: 1, Steps: steps,
		Stack:      tenant.Stack{Project: "lessor", Name: engine.StackName(id), Shard: b.bucket, Created: created},
		Topologies: []engine.Topology{{Generation: 1, Tenant: id, Program: program, FinalSnapshot: "last"}},
	}
}

// seen collects progress.
type seen struct {
	mutex    sync.Mutex
	progress []engine.Progress
}

func (s *seen) watch() engine.Watch {
	return engine.Watch{Progress: func(p engine.Progress) {
		s.mutex.Lock()
		defer s.mutex.Unlock()

		s.progress = append(s.progress, p)
	}}
}

func (s *seen) all() []engine.Progress {
	s.mutex.Lock()
	defer s.mutex.Unlock()

	return s.progress
}

func TestALifeOnTheRealCLI(t *testing.T) {
	t.Parallel()

	b := newBed(t)
	b.operations(t)

	var first seen

	stashes := map[string]int{"pulumi:index:Stash": 2}

	t.Log("a first up: init and up")

	res := b.Run(t.Context(), 0, b.operation("Acme_1", false, "plain", plan.StepUp), first.watch())
	require.Nil(t, res.Failure)
	require.Equal(t, []string{"stack init", "up"}, b.operations(t))
	require.Equal(t, 2, res.Processes)
	require.True(t, res.Clean)
	require.True(t, res.StackCreated)
	require.Equal(t, 2, res.Resources)
	require.Equal(t, stashes, res.Types)
	require.Equal(t, 4, res.Changes["create"], "two stashes, their group and the stack")
	requireOutputs(t, res, `{"color": "blue", "generation": 1, "snapshot": "", "password": "[secret]",
		"nested": {"list": ["open", "[secret]"]}}`)

	last := first.all()[len(first.all())-1]
	require.Equal(t, plan.StepUp, last.Step)
	require.Equal(t, []int{2, 2}, []int{last.Done, last.Planned})
	require.Contains(t, last.Resource, "pulumi:index:Stash t1-part")
	requireNoSecret(t, res, first.all())
	requireCleanSlot(t, b)

	t.Log("a steady state: one process, with a refresh as well")

	res = b.Run(t.Context(), 0, b.operation("Acme_1", true, "plain", plan.StepRefresh, plan.StepUp), engine.Watch{})
	require.Nil(t, res.Failure)
	require.Equal(t, []string{"up"}, b.operations(t))
	require.Equal(t, 1, res.Processes)
	require.Equal(t, 2, res.Resources)
	require.Equal(t, stashes, res.Types)
	require.Zero(t, res.Changes["create"])

	t.Log("a preview changes nothing")

	op := b.operation("Acme_1", true, "plain", plan.StepPreview)
	op.Topologies[0].Parameters = tenant.Parameters{"color": json.RawMessage(`"red"`), "size": json.RawMessage(`3`)}
	res = b.Run(t.Context(), 0, op, engine.Watch{})
	require.Nil(t, res.Failure)
	require.Equal(t, []string{"preview"}, b.operations(t))
	require.Empty(t, res.Changes)
	require.Empty(t, res.Outputs)
	require.Equal(t, 2, res.Resources)
	require.Equal(t, stashes, res.Types)
	require.Equal(t, []tenant.Difference{
		{Type: "pulumi:index:Stash", Name: "t1-part0", Action: "update", Properties: []string{"input"}},
		{Type: "pulumi:index:Stash", Name: "t1-part1", Action: "update", Properties: []string{"input"}},
		{Type: "pulumi:index:Stash", Name: "t1-part2", Action: "create"},
	}, res.Report)
	requireNoSecret(t, res, nil)

	t.Log("a refresh finds nothing")

	res = b.Run(t.Context(), 0, b.operation("Acme_1", true, "plain", plan.StepRefresh), engine.Watch{})
	require.Nil(t, res.Failure)
	require.Equal(t, []string{"refresh"}, b.operations(t))
	require.Empty(t, res.Report)
	require.Equal(t, 2, res.Resources)
	require.Equal(t, stashes, res.Types)

	t.Log("protection holds against a destroy")

	protect := b.operation("Acme_1", true, "plain", plan.StepUp)
	protect.Topologies[0].Protect = true

	res = b.Run(t.Context(), 0, protect, engine.Watch{})
	require.Nil(t, res.Failure)
	require.Equal(t, 1, res.Processes)

	res = b.Run(t.Context(), 0, b.operation("Acme_1", true, "plain", plan.StepDestroy, plan.StepRemove), engine.Watch{})
	require.NotNil(t, res.Failure)
	require.Equal(t, "destroy", res.Failure.Step)
	require.Contains(t, res.Failure.Hint, "protected")
	require.True(t, res.StackCreated)

	res = b.Run(t.Context(), 0, b.operation("Acme_1", true, "plain", plan.StepRemove), engine.Watch{})
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindIntegrity, res.Failure.Kind, res.Failure)
	require.Contains(t, res.Failure.Message, "the stack still holds 5 resources")

	t.Log("a deletion")

	b.operations(t)

	op = b.operation("Acme_1", true, "plain", plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove)

	var end seen

	res = b.Run(t.Context(), 0, op, end.watch())
	require.Nil(t, res.Failure)
	require.Equal(t, []string{"up", "destroy"}, b.operations(t))
	require.Equal(t, 2, res.Processes)
	require.Zero(t, res.Resources)
	require.Empty(t, res.Types)
	require.False(t, res.StackCreated)

	// The last step tells that it began, and has no resources to count.
	require.Equal(t, engine.Progress{Step: plan.StepRemove}, end.all()[len(end.all())-1])

	last = end.all()[len(end.all())-2]
	require.Equal(t, engine.Progress{Step: plan.StepDestroy, Done: 2, Planned: 2, Resource: last.Resource}, last)

	t.Log("what is left is an empty stack, without history")

	out, err := b.pulumi(t, "stack", "ls", "--json")
	require.NoError(t, err, out)
	require.Contains(t, out, `"name": "Acme_1"`)
	require.Equal(t, []string{".pulumi/meta.yaml", ".pulumi/stacks/lessor/Acme_1.json"}, b.keys(t))

	t.Log("deleting again finds nothing, whatever the row says")

	for _, created := range []bool{false, true} {
		res = b.Run(t.Context(), 0, b.operation("Acme_1", created, "plain", plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove), engine.Watch{})
		require.Nil(t, res.Failure)
		require.Zero(t, res.Resources)
		require.Zero(t, res.Processes)
	}

	t.Log("a second life begins anew")

	res = b.Run(t.Context(), 0, b.operation("Acme_1", false, "plain", plan.StepUp), engine.Watch{})
	require.Nil(t, res.Failure)
	require.Equal(t, 2, res.Resources)
}

func requireOutputs(t *testing.T, res engine.Result, want string) {
	t.Helper()

	got, err := json.Marshal(res.Outputs)
	require.NoError(t, err)
	require.JSONEq(t, want, string(got))
}

func requireNoSecret(t *testing.T, values ...any) {
	t.Helper()

	text, err := json.Marshal(values)
	require.NoError(t, err)
	require.NotContains(t, string(text), secretValue)
}

func requireCleanSlot(t *testing.T, b *bed) {
	t.Helper()

	left, err := filepath.Glob(filepath.Join(b.dir, "work", "*", "slot-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// moving tells that an operation has made a resource, and not only begun.
func moving(begun chan<- struct{}) func(engine.Progress) {
	return func(p engine.Progress) {
		if p.Done > 0 {
			begun <- struct{}{}
		}
	}
}

func TestTwoTopologiesStandSideBySide(t *testing.T) {
	t.Parallel()

	b := newBed(t)
	op := b.operation("acme", false, "plain", plan.StepUp)
	second := op.Topologies[0]
	second.Generation = 2
	second.Parameters = tenant.Parameters{"color": json.RawMessage(`"red"`)}
	op.Topologies = []engine.Topology{op.Topologies[0], second}

	res := b.Run(t.Context(), 3, op, engine.Watch{})
	require.Nil(t, res.Failure)
	require.Equal(t, 4, res.Resources)
	require.JSONEq(t, `"red"`, string(res.Outputs["color"]), "the outputs are those of the last")
}

func TestAStackThatExistsIsSelected(t *testing.T) {
	t.Parallel()

	b := newBed(t)
	require.Nil(t, b.Run(t.Context(), 0, b.operation("acme", false, "plain", plan.StepUp), engine.Watch{}).Failure)
	b.operations(t)

	res := b.Run(t.Context(), 0, b.operation("acme", false, "plain", plan.StepUp), engine.Watch{})
	require.Nil(t, res.Failure)
	require.Equal(t, []string{"up"}, b.operations(t))
	require.Zero(t, res.Changes["create"])
	require.True(t, res.StackCreated)
}

func TestFailuresOfPrograms(t *testing.T) {
	t.Parallel()

	b := newBed(t)

	cases := []struct {
		program  string
		kind     tenant.Kind
		contains string
	}{
		{program: "panics", kind: tenant.KindUnknown, contains: "program panics panicked: the sky fell on us"},
		{program: "panicsInApply", kind: tenant.KindUnknown, contains: "the operation's process ended: panic: apply fell over"},
		{program: "refuses", kind: tenant.KindInvalid, contains: "parameters.instanceClas: unknown parameter; did you mean instanceClass?"},
		{program: "fails", kind: tenant.KindThrottled, contains: "Throttling: Rate exceeded"},
		{program: "nobody", kind: tenant.KindInvalid, contains: `program "nobody" is not built into this worker`},
		{program: "exportsTooMuch", kind: tenant.KindInvalid, contains: "larger than 1048576 bytes"},
	}

	for slot, test := range cases {
		t.Run(test.program, func(t *testing.T) {
			t.Parallel()

			op := b.operation(tenant.ID(test.program), false, test.program, plan.StepUp)
			op.Topologies[0].Parameters = tenant.Parameters{"instanceClas": json.RawMessage(`"db.t4g.micro"`)}

			res := b.Run(t.Context(), slot, op, engine.Watch{})
			require.NotNil(t, res.Failure)
			require.Equal(t, test.kind, res.Failure.Kind, res.Failure)
			require.Contains(t, res.Failure.Message, test.contains)
			require.NotContains(t, res.Failure.Message, "goroutine")
			require.NotContains(t, res.Failure.Message, "\n")
			require.NotEmpty(t, res.Failure.Hint)

			// Whatever happened, the stack is not locked.
			op = b.operation(tenant.ID(test.program), false, "empty", plan.StepUp)
			op.Fence = 2
			res = b.Run(t.Context(), slot, op, engine.Watch{})
			require.Nil(t, res.Failure)
		})
	}
}

func TestAProgramMayPrint(t *testing.T) {
	t.Parallel()

	b := newBed(t)

	res := b.Run(t.Context(), 0, b.operation("acme", false, "prints", plan.StepUp), engine.Watch{})
	require.Nil(t, res.Failure)
	requireOutputs(t, res, `{"printed": true}`)
}

func TestALockedStackWaits(t *testing.T) {
	t.Parallel()

	b := newBed(t)
	require.Nil(t, b.Run(t.Context(), 0, b.operation("acme", false, "plain", plan.StepUp), engine.Watch{}).Failure)

	call(t, "PUT", "/"+b.bucket+"/.pulumi/locks/organization/lessor/acme/5f.json", "",
		`{"pid": 7, "username": "ann", "hostname": "desk", "timestamp": "2026-01-02T03:04:05Z"}`)

	res := b.Run(t.Context(), 0, b.operation("acme", true, "plain", plan.StepUp), engine.Watch{})
	require.NotNil(t, res.Failure)
	require.Equal(t, tenant.KindLocked, res.Failure.Kind, res.Failure)
	require.Contains(t, res.Failure.Message, `"ann" at "desk" (pid 7) since 2026-01-02T03:04:05Z`)
	require.Zero(t, res.Processes)
}

// TestEndings ends a program that would hang for ever in every way there is.
func TestEndings(t *testing.T) {
	t.Parallel()

	b := newBed(t)
	lost := errors.New("renewal refused")

	cases := []struct {
		name  string
		cause error
		lease func() time.Time
		// deadline ends the operation by itself.
		deadline time.Duration
		kind     tenant.Kind
		clean    bool
	}{
		{name: "interrupt", cause: engine.ErrInterrupt, kind: tenant.KindInterrupted, clean: true},
		{name: "cancel", cause: context.Canceled, kind: tenant.KindInterrupted, clean: true},
		{name: "lease", cause: errors.Join(engine.ErrLeaseLost, lost), kind: tenant.KindLeaseLost},
		{name: "deadline", deadline: 6 * time.Second, kind: tenant.KindTimeout, clean: true},
		{name: "leaseEnds", lease: leaseFor(6 * time.Second), kind: tenant.KindLeaseLost},
	}

	for slot, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)

			op := b.operation(tenant.ID(test.name), false, "hangs", plan.StepUp)
			if test.deadline > 0 {
				op.Deadline = time.Now().Add(test.deadline)
			}

			begun := make(chan struct{}, 100)
			ended := make(chan engine.Result, 1)

			go func() {
				ended <- b.Run(ctx, slot, op, engine.Watch{LeaseUntil: test.lease, Progress: moving(begun)})
			}()

			if test.cause != nil {
				<-begun
				cancel(test.cause)
			}

			res := <-ended
			require.NotNil(t, res.Failure)
			require.Equal(t, test.kind, res.Failure.Kind, res.Failure)
			require.Equal(t, test.clean, res.Clean)
			require.Empty(t, processesIn(t, filepath.Join(b.dir, "work", "w0", fmt.Sprintf("slot-%d/", slot))))

			if test.clean {
				res = b.Run(t.Context(), slot, b.operation(tenant.ID(test.name), true, "plain", plan.StepUp), engine.Watch{})
				require.Nil(t, res.Failure, "the stack is not locked")
			}
		})
	}
}

func leaseFor(d time.Duration) func() time.Time {
	until := sync.OnceValue(func() time.Time { return time.Now().Add(d) })

	return func() time.Time { return until() }
}

// processesIn finds the processes whose environment names a directory.
func processesIn(t *testing.T, dir string) []string {
	t.Helper()

	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)

	var found []string

	for _, path := range environments {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), dir) {
			found = append(found, filepath.Dir(path))
		}
	}

	return found
}
