package registry_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func addressCases() map[string]func(*testing.T, registrytest.Open) {
	return map[string]func(*testing.T, registrytest.Open){
		"addresses/take":                 testTakeAddresses,
		"addresses/contended":            testContendedAddresses,
		"addresses/the last free block":  testLastFreeBlock,
		"addresses/pools of two sizes":   testPoolsOfTwoSizes,
		"addresses/the pool was changed": testChangedPool,
		"addresses/no rows":              testAddressesAreNoRows,
	}
}

func poolOf(text string, prefix int) tenant.AddressPool {
	return tenant.AddressPool{Range: netip.MustParsePrefix(text), Prefix: prefix}
}

// small has four blocks.
func small() tenant.AddressPool { return poolOf("10.64.0.0/18", 20) }

func (w *world) take(t *testing.T, id tenant.ID, generation int, pool tenant.AddressPool) netip.Prefix {
	t.Helper()

	block, err := w.Addresses().Take(t.Context(), id, generation, pool)
	require.NoError(t, err)
	require.Equal(t, pool.Prefix, block.Bits())
	require.True(t, pool.Range.Contains(block.Addr()))

	return block
}

func (w *world) held(t *testing.T, id tenant.ID) map[int]netip.Prefix {
	t.Helper()

	blocks, err := w.Addresses().Held(t.Context(), id)
	require.NoError(t, err)

	return blocks
}

func (w *world) giveBack(t *testing.T, id tenant.ID, generation int) {
	t.Helper()
	require.NoError(t, w.Addresses().Release(t.Context(), id, generation))
}

func requireFailure(t *testing.T, err error, kind tenant.Kind, message, hint string) {
	t.Helper()

	var failure *tenant.Failure

	require.ErrorAs(t, err, &failure)
	require.Equal(t, kind, failure.Kind)
	require.Contains(t, failure.Message, message)
	require.Contains(t, failure.Hint, hint)
}

func testTakeAddresses(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	require.Empty(t, w.held(t, acme))
	w.giveBack(t, acme, 1)

	first, second := w.take(t, acme, 1, small()), w.take(t, acme, 2, small())
	require.NotEqual(t, first, second)
	require.Equal(t, map[int]netip.Prefix{1: first, 2: second}, w.held(t, acme))
	require.Equal(t, first, w.take(t, acme, 1, small()), "it is taken once")

	third, fourth := w.take(t, "globex", 1, small()), w.take(t, "globex", 2, small())
	require.Len(t, map[netip.Prefix]bool{first: true, second: true, third: true, fourth: true}, 4)

	_, err := w.Addresses().Take(t.Context(), "late", 1, small())
	requireFailure(t, err, tenant.KindQuota, "10.64.0.0/18 is full: all of its 4 blocks of /20", "overlaps no other")
	require.Empty(t, w.held(t, "late"), "what holds nothing is not noted")

	w.giveBack(t, acme, 1)
	w.giveBack(t, acme, 1)
	w.giveBack(t, "late", 1)
	require.Equal(t, map[int]netip.Prefix{2: second}, w.held(t, acme))
	require.Equal(t, fourth, w.take(t, "globex", 2, small()), "others may have been released")
	require.Equal(t, first, w.take(t, "late", 1, small()))
}

func testContendedAddresses(t *testing.T, open registrytest.Open) {
	t.Helper()

	const crowd = 8

	w := newWorld(t, open)
	pool := poolOf("10.64.0.0/17", 20)

	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		taken = map[netip.Prefix]int{}
	)

	for i := range crowd {
		wg.Go(func() {
			block, err := w.Addresses().Take(t.Context(), tenant.ID("t"+strconv.Itoa(i)), 1, pool)
			if err != nil {
				t.Errorf("there is a block for everyone: %v", err)
			}

			mu.Lock()
			defer mu.Unlock()

			taken[block]++
		})
	}

	wg.Wait()
	require.Len(t, taken, crowd)
}

func testLastFreeBlock(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	for i := range 4 {
		w.take(t, tenant.ID("t"+strconv.Itoa(i)), 1, small())
	}

	for i := range 4 {
		id := tenant.ID("t" + strconv.Itoa(i))
		free := w.held(t, id)[1]
		w.giveBack(t, id, 1)

		late := tenant.ID("late" + strconv.Itoa(i))
		require.Equal(t, free, w.take(t, late, 1, small()))
		require.Equal(t, free, w.held(t, late)[1])
	}
}

func testPoolsOfTwoSizes(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	w.take(t, acme, 1, small())
	w.giveBack(t, acme, 1)

	for _, other := range []tenant.AddressPool{poolOf("10.64.0.0/18", 22), poolOf("10.64.0.0/16", 20), poolOf("10.64.32.0/19", 20)} {
		_, err := w.Addresses().Take(t.Context(), acme, 2, other)
		requireFailure(t, err, tenant.KindInvalid, "overlaps 10.64.0.0/18, which was given out in blocks of /20", "never used")
	}

	w.take(t, acme, 2, poolOf("10.65.0.0/16", 22))
}

// What has a block keeps it, whatever the catalog says of new ones.
func testChangedPool(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	block := w.take(t, acme, 1, small())

	other := poolOf("10.128.0.0/16", 24)
	again, err := w.Addresses().Take(t.Context(), acme, 1, other)
	require.NoError(t, err)
	require.Equal(t, block, again)

	w.take(t, acme, 2, other)
	w.giveBack(t, acme, 1)
	w.take(t, acme, 3, small())
}

func testAddressesAreNoRows(t *testing.T, open registrytest.Open) {
	t.Helper()

	w := newWorld(t, open)
	w.take(t, acme, 1, small())

	for _, read := range []func(func(tenant.Record) bool) error{
		func(yield func(tenant.Record) bool) error { return w.List(t.Context(), yield) },
		func(yield func(tenant.Record) bool) error { return w.Survey(t.Context(), yield) },
	} {
		require.NoError(t, read(func(rec tenant.Record) bool {
			t.Errorf("it is no tenant: %v", rec)

			return true
		}))
	}
}

var errDied = errors.New("the worker died")

// Whatever the order, and wherever calls are cut short, no block has two holders,
// a holder keeps its block, and what all give back is free again.
func TestAddressesInAnyOrder(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(r *rapid.T) {
		table := registrytest.New("tenants")
		book := registry.New(table, registry.Config{Table: "tenants"}, nil).Addresses()
		pools := []tenant.AddressPool{small(), poolOf("10.128.0.0/19", 20)}

		type holder struct {
			id         tenant.ID
			generation int
		}

		holders := make([]holder, 0, 6)
		for _, id := range []tenant.ID{"a", "b", "c"} {
			holders = append(holders, holder{id, 1}, holder{id, 2})
		}

		holds := map[holder]netip.Prefix{}

		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			h := rapid.SampledFrom(holders).Draw(r, "holder")
			pool := rapid.SampledFrom(pools).Draw(r, "pool")
			dies := rapid.IntRange(0, 9).Draw(r, "dies")
			landed := rapid.Bool().Draw(r, "landed")

			die := func(string) error {
				dies--
				if dies == 0 {
					return errDied
				}

				return nil
			}

			if landed {
				table.Intercept(nil, die)
			} else {
				table.Intercept(die, nil)
			}

			if rapid.Bool().Draw(r, "take") {
				block, err := book.Take(t.Context(), h.id, h.generation, pool)
				if err == nil {
					if before, held := holds[h]; held {
						require.Equal(r, before, block)
					}

					holds[h] = block
				}
			} else {
				// If it failed, nobody knows how far it came, and nothing counts on it.
				_ = book.Release(t.Context(), h.id, h.generation)

				delete(holds, h)
			}

			table.Intercept(nil, nil)

			seen := map[netip.Prefix]holder{}

			for h, block := range holds {
				require.NotContains(r, seen, block)
				seen[block] = h

				held, err := book.Held(t.Context(), h.id)
				require.NoError(r, err)
				require.Equal(r, block, held[h.generation])
			}
		}

		for _, h := range holders {
			require.NoError(r, book.Release(t.Context(), h.id, h.generation))

			held, err := book.Held(t.Context(), h.id)
			require.NoError(r, err)
			require.NotContains(r, held, h.generation)
		}

		for i, pool := range pools {
			for n := range pool.Blocks() {
				_, err := book.Take(t.Context(), tenant.ID("new"+strconv.Itoa(i)), n, pool)
				require.NoError(r, err, "block %d of pool %d leaked", n, i)
			}
		}
	})
}

// A worker that stalled in the middle, and one that came after it, agree.
func TestAddressesOfTwoWorkers(t *testing.T) {
	t.Parallel()

	for stalls := 1; stalls <= 9; stalls++ {
		for generation := 1; generation <= 2; generation++ {
			t.Run(fmt.Sprintf("%d of t%d", stalls, generation), func(t *testing.T) {
				t.Parallel()

				w, table := fakeWorld(t)
				w.take(t, acme, 3, small())

				var (
					calls int
					other netip.Prefix
				)

				table.Intercept(func(string) error {
					calls++
					if calls == stalls {
						table.Intercept(nil, nil)

						other = w.take(t, acme, generation, small())
					}

					return nil
				}, nil)

				block := w.take(t, acme, 1, small())

				table.Intercept(nil, nil)

				if calls < stalls {
					other = w.take(t, acme, generation, small())
				}

				require.Equal(t, generation == 1, block == other)
				require.Equal(t, block, w.held(t, acme)[1])
				require.Equal(t, other, w.held(t, acme)[generation])

				for generation := range w.held(t, acme) {
					w.giveBack(t, acme, generation)
				}

				for i := range small().Blocks() {
					w.take(t, "new", i+1, small())
				}
			})
		}
	}
}

func TestATakenBlockCostsOneRead(t *testing.T) {
	t.Parallel()

	w, table := fakeWorld(t)
	block := w.take(t, acme, 1, small())

	reads, writes := table.Calls("GetItem"), table.Calls("UpdateItem")

	require.Equal(t, block, w.take(t, acme, 1, small()))
	require.Equal(t, reads+1, table.Calls("GetItem"))
	require.Equal(t, writes, table.Calls("UpdateItem"))
}

// cut makes the n-th write the last one that lands: its answer is lost.
func cut(table *registrytest.Table, n int) {
	table.Intercept(nil, func(operation string) error {
		if operation != "UpdateItem" {
			return nil
		}

		n--
		if n == 0 {
			return errDied
		}

		return nil
	})
}

func TestATakeThatIsCutShortHoldsOneBlock(t *testing.T) {
	t.Parallel()

	for writes := 1; writes <= 4; writes++ {
		w, table := fakeWorld(t)
		cut(table, writes)

		_, err := w.Addresses().Take(t.Context(), acme, 1, small())
		require.ErrorIs(t, err, errDied)
		table.Intercept(nil, nil)

		// It is noted from the second write on, after the pool: nobody may take it
		// for a range to use yet.
		block, noted := w.held(t, acme)[1]
		require.Equal(t, writes >= 2, noted)
		require.Equal(t, writes >= 4, block.IsValid())

		w.take(t, acme, 1, small())

		for i := range small().Blocks() - 1 {
			w.take(t, "new", i, small())
		}
	}
}

func TestAReleaseThatIsCutShortHoldsNothing(t *testing.T) {
	t.Parallel()

	for writes := 1; writes <= 3; writes++ {
		w, table := fakeWorld(t)
		block := w.take(t, acme, 1, small())

		cut(table, writes)
		require.ErrorIs(t, w.Addresses().Release(t.Context(), acme, 1), errDied)
		table.Intercept(nil, nil)
		require.False(t, w.held(t, acme)[1].IsValid())

		others := map[netip.Prefix]bool{}
		for i := range small().Blocks() - 1 {
			others[w.take(t, "new", i, small())] = true
		}

		again := w.take(t, acme, 1, small())
		require.NotContains(t, others, again)

		if writes == 1 {
			require.Equal(t, block, again, "it was still taken")
		}
	}
}
