package registry_test

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// TestContract holds for the fake, the emulator and whatever endpoint is given.
func TestContract(t *testing.T) {
	t.Parallel()
	registrytest.Run(t, func(t *testing.T, open registrytest.Open) {
		t.Helper()

		cases := map[string]func(*testing.T, registrytest.Open){}
		maps.Copy(cases, acceptCases())
		maps.Copy(cases, settleCases())
		maps.Copy(cases, historyCases())
		maps.Copy(cases, releaseCases())
		maps.Copy(cases, rowCases())
		maps.Copy(cases, sweepCases())
		maps.Copy(cases, addressCases())
		maps.Copy(cases, changeCases())

		for name, test := range cases {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, open)
			})
		}
	})
}

func acceptCases() map[string]func(*testing.T, registrytest.Open) {
	return map[string]func(*testing.T, registrytest.Open){
		"accept/makes the row":          testAcceptMakesTheRow,
		"accept/changes the row":        testAcceptChangesTheRow,
		"accept/knows what it knows":    testAcceptIsIdempotent,
		"accept/nudge makes no row":     testNudge,
		"accept/ends a backoff":         testAcceptEndsABackoff,
		"accept/leaves the lease alone": testAcceptLeavesTheLease,
		"accept/many at once":           testAcceptManyAtOnce,
		"accept/too large":              testAcceptTooLarge,
		"accept/keeps values as said":   testAcceptKeepsValues,
	}
}

func testAcceptMakesTheRow(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	require.Equal(t, tenant.Record{ID: acme}, w.get(t), "nothing is known before")
	require.False(t, w.get(t).Exists())

	rec := w.accept(t, created())
	want, _ := tenant.Apply(tenant.Desired{}, created())
	require.Equal(t, tenant.Record{ID: acme, Desired: want, DesiredSeq: 1, CreatedAt: start(), UpdatedAt: start()}, rec)
	require.Equal(t, rec, w.get(t))
	require.True(t, rec.NeedsWork())
}

func testAcceptChangesTheRow(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	w.accept(t, created())
	w.now = start().Add(time.Hour)

	rec := w.accept(t, updated(2, `"large"`))
	require.Equal(t, int64(2), rec.DesiredSeq)
	require.JSONEq(t, `"large"`, string(rec.Desired.Spec().Parameters["size"]))
	require.Equal(t, start(), rec.CreatedAt)
	require.Equal(t, w.now, rec.UpdatedAt)
	require.Equal(t, rec, w.get(t))
}

func testAcceptIsIdempotent(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	w.accept(t, created())
	newest := w.accept(t, updated(3, `"large"`))

	for _, e := range []tenant.Event{created(), updated(3, `"large"`), updated(2, `"medium"`)} {
		rec, changed, err := w.Accept(t.Context(), e)
		require.NoError(t, err)
		require.False(t, changed)
		require.Equal(t, newest, rec)
	}
}

func testNudge(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	rec, changed, err := w.Accept(t.Context(), tenant.Event{ID: "n", Type: tenant.EventNudged, Tenant: acme, Version: version(1)})
	require.NoError(t, err)
	require.False(t, changed)
	require.False(t, rec.Exists())
	require.False(t, w.get(t).Exists())
}

func testAcceptEndsABackoff(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	settled, err := w.Settle(t.Context(), acme, token, failure(1, "op-1"))
	require.NoError(t, err)
	require.Equal(t, 3, settled.Record.Attempts)
	require.Equal(t, start().Add(time.Minute), settled.Record.NotBefore)

	rec := w.accept(t, updated(2, `"large"`))
	require.Zero(t, rec.Attempts)
	require.True(t, rec.NotBefore.IsZero())
}

func testAcceptLeavesTheLease(t *testing.T, open registrytest.Open) {
	t.Helper()

	w, token := working(t, open)
	before := w.get(t)
	rec := w.accept(t, updated(2, `"large"`))
	require.Equal(t, before.Lease, rec.Lease)
	require.Equal(t, registry.Token{Owner: rec.Lease.Owner, Fence: rec.Fence}, token)
}

// Every event of a crowd is in the row at the end, and each change was counted.
func testAcceptManyAtOnce(t *testing.T, open registrytest.Open) {
	t.Helper()

	const crowd = 30

	w := newWorld(t, open)
	w.accept(t, created())

	var (
		wg      sync.WaitGroup
		mu      sync.Mutex
		changes int64 = 1
	)

	want, _ := tenant.Apply(tenant.Desired{}, created())

	for i := range crowd {
		e := updated(i+2, strconv.Itoa(i))
		e.Parameters = tenant.Parameters{"p" + strconv.Itoa(i): json.RawMessage(strconv.Itoa(i))}
		want, _ = tenant.Apply(want, e)

		wg.Go(func() {
			rec, changed, err := w.Accept(t.Context(), e)
			if err != nil || !changed || string(rec.Desired.Parameters["p"+strconv.Itoa(i)].Value) != strconv.Itoa(i) {
				t.Errorf("event %d: changed %t, error %v: the row that is returned must contain it", i, changed, err)
			}

			mu.Lock()
			defer mu.Unlock()

			changes++
		})
	}

	wg.Wait()

	rec := w.get(t)
	require.Equal(t, want, rec.Desired)
	require.Equal(t, changes, rec.DesiredSeq)
}

func testAcceptTooLarge(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	before := w.accept(t, created())

	_, _, err := w.Accept(t.Context(), updated(2, `"`+strings.Repeat("x", registry.MaxDesiredBytes)+`"`))
	require.ErrorIs(t, err, registry.ErrTooLarge)
	require.ErrorContains(t, err, strconv.Itoa(registry.MaxDesiredBytes))
	require.Equal(t, before, w.get(t))
}

// JSON that is escaped on its way into the row would grow sixfold, and would
// differ from what the sender said.
func testAcceptKeepsValues(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	w.accept(t, created())

	const value = `"<b>&amp; ü 🙂 \" \\ \u0007</b>"`

	w.accept(t, updated(2, value))
	require.Equal(t, value, string(w.get(t).Desired.Spec().Parameters["size"]))

	rec := w.accept(t, updated(3, `"`+strings.Repeat("<", 50<<10)+`"`))
	require.Len(t, rec.Desired.Spec().Parameters["size"], 50<<10+2)
}
