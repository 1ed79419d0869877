package addresses_test

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/addresses"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func pool(text string, prefix int) tenant.AddressPool {
	return tenant.AddressPool{Range: netip.MustParsePrefix(text), Prefix: prefix}
}

// Every holder sees every block once, in an order that is always the same.
func TestOrderIsAPermutation(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		bits := rapid.IntRange(8, 23).Draw(t, "bits")
		prefix := rapid.IntRange(max(16, bits+1), min(24, bits+10)).Draw(t, "prefix")
		p := pool(fmt.Sprintf("10.0.0.0/%d", bits), prefix)
		holder := addresses.Holder(tenant.ID(rapid.StringMatching(`[a-z0-9]{1,12}`).Draw(t, "id")), rapid.IntRange(1, 9).Draw(t, "generation"))

		seen := map[netip.Prefix]int{}

		for place, block := range addresses.Order(p, holder) {
			require.Equal(t, len(seen), place)
			require.NotContains(t, seen, block)
			require.Equal(t, prefix, block.Bits())
			require.Equal(t, block, block.Masked())
			require.True(t, p.Range.Contains(block.Addr()))

			seen[block] = place
		}

		require.Len(t, seen, p.Blocks())

		for place, block := range addresses.Order(p, holder) {
			require.Equal(t, seen[block], place)

			if place > 100 {
				break
			}
		}
	})
}

// A pool that is nearly full is not walked from end to end.
func TestOrderFindsFewTaken(t *testing.T) {
	t.Parallel()

	p := pool("10.64.0.0/10", 20)
	taken := map[netip.Prefix]bool{}
	place := func(i int) int {
		for place, block := range addresses.Order(p, addresses.Holder(tenant.ID(fmt.Sprintf("tenant-%d", i)), 1)) {
			if !taken[block] {
				taken[block] = true

				return place
			}
		}

		return -1
	}

	nearlyFull := p.Blocks() * 9 / 10
	for i := range nearlyFull {
		require.NotEqual(t, -1, place(i))
	}

	sum := 0

	for i := nearlyFull; i < nearlyFull+20; i++ {
		sum += place(i)
	}

	require.Less(t, sum/20, 20, "a random choice takes ten")

	for i := nearlyFull + 20; i < p.Blocks(); i++ {
		require.NotEqual(t, -1, place(i), "the last free block is found too")
	}

	require.Equal(t, -1, place(p.Blocks()))
}

// Holders with similar names do not run after each other.
func TestOrdersDiffer(t *testing.T) {
	t.Parallel()

	p := pool("10.0.0.0/8", 16)
	pairs := map[[2]netip.Prefix]int{}

	for i := range 1000 {
		var pair [2]netip.Prefix

		for place, block := range addresses.Order(p, addresses.Holder(tenant.ID(fmt.Sprintf("t%d", i)), 1)) {
			if place == len(pair) {
				break
			}

			pair[place] = block
		}

		pairs[pair]++
	}

	require.Greater(t, len(pairs), 950)
}
