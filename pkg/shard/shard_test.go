package shard_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/shard"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestOfIsFixed(t *testing.T) {
	t.Parallel()

	// Rows written by older workers rely on the choice only through what they
	// recorded; two workers of one fleet rely on it being the same.
	buckets := []string{"state-a", "state-b", "state-c"}

	for id, want := range map[tenant.ID]string{
		"acme": "state-c", "globex": "state-c", "initech": "state-b", "umbrella": "state-a",
	} {
		require.Equal(t, want, shard.Of(id, buckets), id)
	}
}

func TestOfWithoutBuckets(t *testing.T) {
	t.Parallel()
	require.Empty(t, shard.Of("acme", nil))
	require.Equal(t, "only", shard.Of("acme", []string{"only"}))
}

func TestOfProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		id := tenant.ID(rapid.StringMatching(`[A-Za-z0-9][A-Za-z0-9_.-]{0,62}`).Draw(t, "id"))
		buckets := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{3,9}`), 1, 8, rapid.ID).Draw(t, "buckets")
		chosen := shard.Of(id, buckets)

		require.Contains(t, buckets, chosen)

		shuffled := rapid.Permutation(buckets).Draw(t, "shuffled")
		require.Equal(t, chosen, shard.Of(id, shuffled), "order does not matter")

		more := append(slices.Clone(buckets), "NEW")
		require.Contains(t, []string{chosen, "NEW"}, shard.Of(id, more), "a new bucket only takes")

		others := slices.DeleteFunc(slices.Clone(buckets), func(b string) bool { return b != chosen && len(b)%2 == 0 })
		require.Equal(t, chosen, shard.Of(id, others), "a bucket less moves only those in it")
	})
}

func TestOfSpreads(t *testing.T) {
	t.Parallel()

	buckets := []string{"a", "b", "c", "d"}
	count := map[string]int{}

	const tenants = 10_000
	for i := range tenants {
		count[shard.Of(tenant.ID(fmt.Sprintf("tenant-%d", i)), buckets)]++
	}

	for _, b := range buckets {
		require.InDelta(t, tenants/len(buckets), count[b], tenants/50, b)
	}
}
