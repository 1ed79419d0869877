package registry_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func releaseCases() map[string]func(*testing.T, registrytest.Open) {
	return map[string]func(*testing.T, registrytest.Open){
		"release/clean":          func(t *testing.T, open registrytest.Open) { t.Helper(); testRelease(t, open, true, 1) },
		"release/unclean":        func(t *testing.T, open registrytest.Open) { t.Helper(); testRelease(t, open, false, 0) },
		"release/twice":          testReleaseTwice,
		"release/seen":           testReleaseSeen,
		"release/moved on":       testReleaseMoved,
		"release/fence survives": testFenceSurvives,
		"raise/unclean":          func(t *testing.T, open registrytest.Open) { t.Helper(); testRaiseFence(t, open, false, 0) },
		"raise/clean":            func(t *testing.T, open registrytest.Open) { t.Helper(); testRaiseFence(t, open, true, 2) },
		"raise/moved on":         testRaiseFenceMoved,
	}
}

func testRelease(t *testing.T, open registrytest.Open, clean bool, want int64) {
	t.Helper()

	w, token := working(t, open)
	require.NoError(t, w.Begin(t.Context(), acme, token, registry.Beginning{Round: 1, Stack: tenant.Stack{Project: "p", Name: "n", Shard: "s"}}))
	require.NoError(t, w.Progress(t.Context(), acme, token, tenant.Progress{OperationID: "op-1", Step: "up", Done: 1, Planned: 2}))

	rec := w.get(t)
	require.Equal(t, tenant.Stack{Project: "p", Name: "n", Shard: "s"}, rec.Stack)
	require.Equal(t, &tenant.Progress{OperationID: "op-1", Step: "up", Done: 1, Planned: 2}, rec.Progress)

	require.NoError(t, w.Release(t.Context(), acme, token, clean))

	rec = w.get(t)
	requireFree(t, rec)
	require.NotNil(t, rec.Progress, "an operation began whose outcome nobody recorded")
	require.True(t, rec.NeedsWork())
	require.Equal(t, want, rec.CleanFence)
	require.Equal(t, int64(1), rec.Fence)
}

func testReleaseTwice(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	require.NoError(t, w.Release(t.Context(), acme, token, true))
	require.NoError(t, w.Release(t.Context(), acme, token, true), "an answer that was lost makes the SDK repeat it")
	require.NoError(t, w.ReleaseSeen(t.Context(), acme, token, 1, true))

	w.acquire(t)
	require.ErrorIs(t, w.Release(t.Context(), acme, token, true), registry.ErrLeaseLost)
}

func testReleaseSeen(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	require.NoError(t, w.ReleaseSeen(t.Context(), acme, token, 1, true))
	requireFree(t, w.get(t))
	require.Equal(t, int64(1), w.get(t).CleanFence)
}

func testReleaseMoved(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	moved := w.accept(t, updated(2, `1`))
	require.ErrorIs(t, w.ReleaseSeen(t.Context(), acme, token, 1, true), registry.ErrMoved)
	require.Equal(t, moved, w.get(t), "the lease stays")
}

func testFenceSurvives(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)

	for want := int64(1); want <= 5; want++ {
		require.Equal(t, want, token.Fence)
		require.NoError(t, w.Release(t.Context(), acme, token, want%2 == 0))

		token = w.acquire(t)
	}
}

func testRaiseFence(t *testing.T, open registrytest.Open, clean bool, want int64) {
	t.Helper()

	w, token := working(t, open)
	require.NoError(t, w.Release(t.Context(), acme, token, clean))

	seen := w.get(t)
	require.NoError(t, w.RaiseFence(t.Context(), seen))

	rec := w.get(t)
	requireFree(t, rec)
	require.Equal(t, int64(2), rec.Fence)
	require.Equal(t, want, rec.CleanFence, "nobody wrote to the state meanwhile")
	require.Equal(t, seen.DesiredSeq, rec.DesiredSeq)

	_, err := w.leases.Acquire(t.Context(), seen, "message-1")
	require.ErrorIs(t, err, lease.ErrChanged, "an acquisition from before")
	require.Equal(t, int64(3), w.acquire(t).Fence)
}

func testRaiseFenceMoved(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	free := w.accept(t, created())
	token := w.acquire(t)
	taken := w.get(t)

	for _, seen := range []tenant.Record{free, taken} {
		require.ErrorIs(t, w.RaiseFence(t.Context(), seen), registry.ErrMoved)
	}

	require.Equal(t, taken, w.get(t), "nothing was written")
	require.NoError(t, w.Release(t.Context(), acme, token, true))
	require.ErrorIs(t, w.RaiseFence(t.Context(), free), registry.ErrMoved)
}

func rowCases() map[string]func(*testing.T, registrytest.Open) {
	return map[string]func(*testing.T, registrytest.Open){
		"row/hold":         testHold,
		"row/fleet":        testFleet,
		"row/list":         testList,
		"row/newer layout": testNewerLayout,
	}
}

func testHold(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	require.ErrorIs(t, w.SetHold(t.Context(), acme, "x"), registry.ErrNotFound)
	require.ErrorIs(t, w.ClearHold(t.Context(), acme), registry.ErrNotFound)
	require.False(t, w.get(t).Exists(), "a hold makes no row")

	w.accept(t, created())
	require.NoError(t, w.SetHold(t.Context(), acme, "migration"))
	require.Equal(t, "migration", w.get(t).Hold)

	rec := w.accept(t, updated(2, `1`))
	require.Equal(t, "migration", rec.Hold, "events are accepted and the hold stays")

	require.NoError(t, w.ClearHold(t.Context(), acme))
	require.Empty(t, w.get(t).Hold)

	require.ErrorIs(t, w.SetHold(t.Context(), acme, strings.Repeat("x", registry.MaxReasonBytes+1)), registry.ErrReasonTooLong)
}

func testFleet(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	fleet, err := w.Fleet(t.Context())
	require.NoError(t, err)
	require.Equal(t, registry.Fleet{}, fleet)

	require.NoError(t, w.Unpause(t.Context()))
	require.NoError(t, w.Pause(t.Context(), "incident 7"))

	fleet, err = w.Fleet(t.Context())
	require.NoError(t, err)
	require.Equal(t, registry.Fleet{Paused: true, Reason: "incident 7", At: start()}, fleet)

	require.NoError(t, w.Unpause(t.Context()))

	fleet, err = w.Fleet(t.Context())
	require.NoError(t, err)
	require.Equal(t, registry.Fleet{}, fleet)

	require.ErrorIs(t, w.Pause(t.Context(), strings.Repeat("x", registry.MaxReasonBytes+1)), registry.ErrReasonTooLong)
}

func testList(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	if fake, ok := w.api.(*registrytest.Table); ok {
		fake.PageSize(2)
	}

	require.NoError(t, w.Pause(t.Context(), "the fleet's row is no tenant"))

	const tenants = 7

	want := make([]string, 0, tenants)

	for i := range tenants {
		e := created()
		e.Tenant = tenant.ID("t" + strconv.Itoa(i))
		w.accept(t, e)

		want = append(want, string(e.Tenant))
	}

	var got []string

	require.NoError(t, w.List(t.Context(), func(rec tenant.Record) bool {
		got = append(got, string(rec.ID))

		return true
	}))
	require.Equal(t, want, slices.Sorted(slices.Values(got)))

	got = nil

	require.NoError(t, w.List(t.Context(), func(rec tenant.Record) bool {
		got = append(got, string(rec.ID))

		return len(got) < 3
	}))
	require.Len(t, got, 3)

	w.put(t, "t3", "layout_version", &types.AttributeValueMemberN{Value: "99"})

	got = nil

	err := w.List(t.Context(), func(rec tenant.Record) bool {
		got = append(got, string(rec.ID))

		return true
	})
	require.ErrorContains(t, err, "t3")
	require.Len(t, got, 6, "one row that cannot be read hides no other")
}

func (w *world) put(t *testing.T, id tenant.ID, name string, value types.AttributeValue) {
	t.Helper()

	_, err := w.api.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(w.table), Key: registry.Key(id), UpdateExpression: aws.String("SET " + name + " = :v"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":v": value},
	})
	require.NoError(t, err)
}

// A build that does not know a row's layout must not touch it.
func testNewerLayout(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	w.accept(t, created())
	w.put(t, acme, "layout_version", &types.AttributeValueMemberN{Value: "2"})

	_, err := w.Get(t.Context(), acme)
	require.ErrorContains(t, err, "layout 2")

	_, _, err = w.Accept(t.Context(), updated(2, `1`))
	require.ErrorContains(t, err, "upgrade")
}
