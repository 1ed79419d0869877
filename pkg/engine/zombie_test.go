package engine_test

import (
	"context"
	"fmt"
	"net/http"
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

type waitParameters struct {
	File string `json:"file"`
}

// deployWait makes a resource, and another once a file is there.
func deployWait(ctx *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
	var p waitParameters
	if err := engine.Decode(t.Parameters, &p); err != nil {
		return nil, err
	}

	if _, err := pulumi.NewStash(ctx, t.Name("early"), &pulumi.StashArgs{Input: pulumi.String("early")}); err != nil {
		return nil, err
	}

	const step = 20 * time.Millisecond

	for {
		if _, err := os.Stat(p.File); err == nil {
			break
		}

		select {
		case <-ctx.Context().Done():
			return nil, fmt.Errorf("waiting: %w", context.Cause(ctx.Context()))
		case <-time.After(step):
		}
	}

	_, err := pulumi.NewStash(ctx, t.Name("late"), &pulumi.StashArgs{Input: pulumi.String("late")})

	return pulumi.Map{"late": pulumi.Bool(true)}, err
}

// takenOver runs an operation that believes in its lease, has a successor take
// the tenant over in the middle of it, lets it go on then, and returns how both
// ended and the state as the successor left it and as it is at the end.
func takenOver(t *testing.T, b *bed, unlock func()) (old, successor engine.Result, left, final string) {
	t.Helper()

	file := filepath.Join(t.TempDir(), "go-on")
	first := b.operation("acme", false, "waits", plan.StepUp)
	first.Topologies[0].Parameters = tenant.Parameters{"file": []byte(strconv.Quote(file))}

	begun := make(chan struct{}, 100)
	ended := make(chan engine.Result, 1)

	go func() {
		// It has no word of the loss: its clock, or the worker's, stands.
		ended <- b.Run(t.Context(), 0, first, engine.Watch{
			LeaseUntil: func() time.Time { return time.Now().Add(time.Hour) },
			Progress:   moving(begun),
		})
	}()

	<-begun
	unlock()

	second := b.operation("acme", true, "plain", plan.StepUp)
	second.ID, second.Fence = "02OP", 2
	successor = b.Run(t.Context(), 1, second, engine.Watch{LeaseUntil: func() time.Time { return time.Now().Add(time.Hour) }})

	left = b.checkpoint(t, "acme")

	require.NoError(t, os.WriteFile(file, nil, 0o600))

	old = <-ended

	return old, successor, left, b.checkpoint(t, "acme")
}

// checkpoint is a stack's state as the bucket has it.
func (b *bed) checkpoint(t *testing.T, stack string) string {
	t.Helper()

	return call(t, http.MethodGet, "/"+b.bucket+"/.pulumi/stacks/lessor/"+stack+".json", "", "")
}

// A worker that wakes up late writes nothing: S3 refuses it, even though its own
// lease looks good to it.
func TestAnOperationThatWasTakenOverWritesNothing(t *testing.T) {
	t.Parallel()

	b := newBed(t)
	old, successor, left, final := takenOver(t, b, func() {})

	require.Nil(t, successor.Failure)
	require.True(t, successor.Clean)
	require.Equal(t, []tenant.Repair{{Action: tenant.RepairLock, Detail: "of the operation under fence 1"}}, successor.Repairs)

	require.NotNil(t, old.Failure)
	require.Equal(t, tenant.KindLeaseLost, old.Failure.Kind, old.Failure)
	require.Equal(t, tenant.KindLeaseLost, old.Refused)
	require.False(t, old.Clean)
	require.Equal(t, left, final, "the state is the successor's")
	require.Equal(t, []string{".pulumi/meta.yaml", ".pulumi/stacks/lessor/acme.json"}, stateKeys(b.keys(t)), "no lock is left")
	require.Empty(t, processesIn(t, filepath.Join(b.dir, "work", "w0", "slot-0")+"/"))
}

// stateKeys leaves the history out.
func stateKeys(keys []string) []string {
	var kept []string

	for _, key := range keys {
		if !strings.HasPrefix(key, ".pulumi/history/") {
			kept = append(kept, key)
		}
	}

	return kept
}

// The same with the plain backend: the old operation overwrites the state of its
// successor and takes that for a success. It shows that the test above can fail.
func TestWithoutTheGateATakenOverOperationOverwritesTheState(t *testing.T) {
	t.Parallel()

	b := newBed(t, engine.WithPlainState())
	old, successor, left, final := takenOver(t, b, func() {
		// What `pulumi cancel` does, without which the successor could not begin.
		for _, key := range b.keys(t) {
			if strings.HasPrefix(key, ".pulumi/locks/") {
				call(t, http.MethodDelete, "/"+b.bucket+"/"+key, "", "")
			}
		}
	})

	require.Nil(t, successor.Failure)
	require.Nil(t, old.Failure)
	require.NotEqual(t, left, final)
	require.Contains(t, left, "t1-part0")
	require.NotContains(t, final, "t1-part0", "what the successor made is forgotten")
}
