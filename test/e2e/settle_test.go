package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// A first provision starts two CLI processes, an operation on a stack that
// stands one, a duplicate none. They are counted by a wrapper around the CLI,
// so that the workers' own counter is checked as well.
func TestProcesses(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	calls := filepath.Join(dir, "calls")
	wrapper := filepath.Join(dir, "pulumi")
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = version ] || echo \"$@\" >> %q\nexec %q \"$@\"\n",
		calls, filepath.Join(root(), ".bin", "pulumi"))
	require.NoError(t, os.WriteFile(wrapper, []byte(script), 0o700))

	f := newFleet(t, 1, "LESSOR_PULUMI="+wrapper)
	count := func() int {
		log, err := os.ReadFile(calls)
		require.NoError(t, err)

		return strings.Count(string(log), "\n")
	}

	created := f.event(tenant.EventCreated, "counted", time.Now(), nil)
	f.send(created)
	f.settled("counted")
	require.Equal(t, 2, count(), "a first provision")

	f.send(f.event(tenant.EventUpdated, "counted", time.Now(), func(e *tenant.Event) {
		e.Parameters = tenant.Parameters{"sharedEndpoint": []byte(`"other.example.com"`)}
	}))
	f.await("the update to be applied", time.Minute, func() bool { return f.settled("counted").AppliedSeq == 2 })
	require.Equal(t, 3, count(), "an update of a stack that stands")

	f.send(created)
	f.idle(time.Minute)
	require.Equal(t, 3, count(), "a duplicate")

	own := 0

	for _, op := range f.operations("counted") {
		own += op.Processes

		if op.Message == "operation started" {
			continue
		}

		sum := 0.0
		for _, ms := range op.Phases {
			sum += ms
		}

		require.Greater(t, sum, 1000*op.Seconds, "the whole begins with the message: %+v", op)

		for _, p := range []phase.Phase{phase.Accept, phase.Lease, phase.StateOpen, phase.CLIStart, phase.Engine, phase.State, phase.Commit, phase.Publish} {
			require.Positive(t, op.Phases[string(p)], p)
		}
	}

	require.Equal(t, 3, own, "the workers' own count")
}

// Changes that arrive while an operation runs lead to one more operation, not
// to one each.
func TestHundredUpdatesDuringOneOperation(t *testing.T) {
	t.Parallel()

	f := newFleet(t, 1)
	f.create("hot", "slow")
	f.await("the first operation to run", time.Minute, func() bool { return len(started(f.operations("hot"))) == 1 })

	const updates = 100

	at := time.Now()
	for i := range updates {
		f.send(f.event(tenant.EventUpdated, "hot", at.Add(time.Duration(i)), func(e *tenant.Event) {
			e.Parameters = tenant.Parameters{"n": fmt.Appendf(nil, "%d", i)}
		}))
	}

	// SQS may reorder them, and those that come late change nothing.
	f.idle(2 * time.Minute)

	rec := f.settled("hot")
	require.JSONEq(t, "99", string(rec.Applied.Spec.Parameters["n"]))
	require.Len(t, started(f.operations("hot")), 2)
}

// Two workers and a storm of duplicated, reordered events.
func TestStorm(t *testing.T) {
	t.Parallel()

	const (
		tenants = 40
		events  = 200
	)

	f := newFleet(t, 2)
	random := rand.New(rand.NewPCG(1, 2))
	began := time.Now().Add(-time.Hour)
	newest := map[tenant.ID]string{}

	var bodies [][]byte

	for i := range tenants {
		id := tenant.ID(fmt.Sprintf("storm-%02d", i))
		bodies = append(bodies, f.event(tenant.EventCreated, id, began, nil))

		for n := 1; n < 3; n++ {
			endpoint := fmt.Sprintf(`"v%d.example.com"`, n)
			newest[id] = endpoint
			bodies = append(bodies, f.event(tenant.EventUpdated, id, began.Add(time.Duration(n)*time.Second), func(e *tenant.Event) {
				e.Parameters = tenant.Parameters{"sharedEndpoint": []byte(endpoint)}
			}))
		}
	}

	for len(bodies) < events {
		bodies = append(bodies, bodies[random.IntN(len(bodies))])
	}

	random.Shuffle(len(bodies), func(i, j int) { bodies[i], bodies[j] = bodies[j], bodies[i] })

	for _, body := range bodies {
		f.send(body)
	}

	f.idle(5 * time.Minute)

	for id, endpoint := range newest {
		rec := f.settled(id)
		require.Equal(t, tenant.PhaseActive, rec.Applied.Spec.Phase, id)
		require.JSONEq(t, endpoint, string(rec.Applied.Spec.Parameters["sharedEndpoint"]), id)
		require.JSONEq(t, endpoint, string(rec.Outputs["sharedEndpoint"]), id)
		requireNoOverlap(t, f.operations(id))
	}

	letters, err := f.dead.List(t.Context(), 10)
	require.NoError(t, err)
	require.Empty(t, letters)
}

// requireNoOverlap checks the operation log of one tenant: in the order of
// time, each operation ends before the next begins, and fences only grow.
func requireNoOverlap(t *testing.T, log []operation) {
	t.Helper()

	slices.SortStableFunc(log, func(a, b operation) int { return a.Time.Compare(b.Time) })

	running, fence := "", int64(0)

	for _, op := range log {
		if op.Message == "operation started" {
			require.Empty(t, running, "two operations at once: %+v", log)
			require.GreaterOrEqual(t, op.Fence, fence, "a fence went back: %+v", log)

			running, fence = op.ID, op.Fence

			continue
		}

		require.Equal(t, running, op.ID, "an operation ended that did not run: %+v", log)

		running = ""
	}

	require.Empty(t, running)
}
