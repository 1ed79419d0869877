package registry_test

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func sweepCases() map[string]func(*testing.T, registrytest.Open) {
	return map[string]func(*testing.T, registrytest.Open){
		"sweep/claim":            testClaimSweep,
		"sweep/contended claim":  testContendedClaim,
		"sweep/survey":           testSurvey,
		"sweep/drift since":      testDriftSince,
		"sweep/survey hides not": testSurveyHidesNothing,
	}
}

func testClaimSweep(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	claim := func(owner string) bool {
		claimed, err := w.ClaimSweep(t.Context(), owner, time.Minute)
		require.NoError(t, err)

		return claimed
	}

	require.NoError(t, w.YieldSweep(t.Context(), "a"), "there is nothing to yield")
	require.True(t, claim("a"))
	require.False(t, claim("b"))

	w.now = w.now.Add(50 * time.Second)

	require.True(t, claim("a"), "the one who has it keeps it")

	w.now = w.now.Add(time.Minute - time.Millisecond)

	require.False(t, claim("b"), "it counts from the newest claim")

	w.now = w.now.Add(time.Millisecond)

	require.True(t, claim("b"), "the other one is gone")
	require.False(t, claim("a"))

	require.NoError(t, w.YieldSweep(t.Context(), "a"))
	require.False(t, claim("a"), "nobody yields what is another's")
	require.NoError(t, w.YieldSweep(t.Context(), "b"))
	require.True(t, claim("a"))

	require.NoError(t, w.List(t.Context(), func(rec tenant.Record) bool {
		t.Errorf("the claim is no tenant: %v", rec)

		return true
	}))
}

func testDriftSince(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	since := func(every time.Duration) time.Time {
		began, err := w.DriftSince(t.Context(), every)
		require.NoError(t, err)

		return began
	}

	require.Zero(t, since(0))

	began := w.now.UTC().Truncate(time.Millisecond)
	require.Equal(t, began, since(time.Hour))

	w.now = w.now.Add(time.Minute)

	require.Equal(t, began, since(time.Hour), "it is remembered")
	require.Equal(t, began.Add(time.Minute), since(2*time.Hour), "another interval begins anew")

	w.now = w.now.Add(time.Minute)

	require.Zero(t, since(0))
	require.Equal(t, began.Add(2*time.Minute), since(2*time.Hour), "as does one that was off")

	claimed, err := w.ClaimSweep(t.Context(), "a", time.Minute)
	require.NoError(t, err)
	require.True(t, claimed)
	require.NoError(t, w.YieldSweep(t.Context(), "a"))
	require.Equal(t, began.Add(2*time.Minute), since(2*time.Hour), "it is apart from who sweeps")
}

func testContendedClaim(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)

	var (
		wg      sync.WaitGroup
		winners atomic.Int64
	)

	for i := range 20 {
		wg.Go(func() {
			claimed, err := w.ClaimSweep(t.Context(), strconv.Itoa(i), time.Minute)
			if err != nil {
				t.Error(err)
			}

			if claimed {
				winners.Add(1)
			}
		})
	}

	wg.Wait()
	require.Equal(t, int64(1), winners.Load())
}

// A survey shows what the sweep judges by, for rows in every condition.
func testSurvey(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	w.accept(t, updated(2, `1`))
	_, err := w.Settle(t.Context(), acme, token, failure(1, "op-1"))
	require.NoError(t, err)
	require.NoError(t, w.SetHold(t.Context(), acme, "migration"))

	for i, settle := range []bool{true, false} {
		e := created()
		e.Tenant = tenant.ID("t" + strconv.Itoa(i))
		w.accept(t, e)

		rec, err := w.Get(t.Context(), e.Tenant)
		require.NoError(t, err)
		held, err := w.leases.Acquire(t.Context(), rec, "message")
		require.NoError(t, err)

		if settle {
			_, err = w.Settle(t.Context(), e.Tenant, held.Token(), success(1, "op-2"))
		} else {
			s := failure(1, "op-3")
			s.Pending = &tenant.Pending{Operation: "op-3", Digest: "d"}
			_, err = w.Settle(t.Context(), e.Tenant, held.Token(), s)
		}

		require.NoError(t, err)
	}

	got := map[tenant.ID]tenant.Record{}

	require.NoError(t, w.Survey(t.Context(), func(rec tenant.Record) bool {
		got[rec.ID] = rec

		return true
	}))
	require.Len(t, got, 3)

	for id, rec := range got {
		want, err := w.Get(t.Context(), id)
		require.NoError(t, err)

		want.Applied, want.Stack, want.Outputs, want.Progress, want.Last = nil, tenant.Stack{}, nil, nil, nil
		want.Change, want.History = nil, nil
		require.Equal(t, want, rec)
	}
}

func testSurveyHidesNothing(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	if fake, ok := w.api.(*registrytest.Table); ok {
		fake.PageSize(2)
	}

	for i := range 5 {
		e := created()
		e.Tenant = tenant.ID("t" + strconv.Itoa(i))
		w.accept(t, e)
	}

	w.put(t, "t1", "layout_version", &types.AttributeValueMemberN{Value: "99"})

	var got []tenant.ID

	err := w.Survey(t.Context(), func(rec tenant.Record) bool {
		got = append(got, rec.ID)

		return true
	})
	require.ErrorContains(t, err, "t1")
	require.ElementsMatch(t, []tenant.ID{"t0", "t2", "t3", "t4"}, got)
}
