// Package addresses says in which order a topology looks for a free block in a
// pool of addresses. Who holds which block is in the registry.
package addresses

import (
	"hash/fnv"
	"iter"
	"net/netip"
	"strconv"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Holder names a topology of a tenant: "acme#1". No id has the separator in it.
func Holder(id tenant.ID, generation int) string { return string(id) + "#" + strconv.Itoa(generation) }

// Order yields every block of a valid pool once, with its place in the order from
// 0. Each holder has an order of its own, and always the same one: where a part of the
// pool is taken, each step finds a free block as if it chose at random, so that ten
// steps or so find one when nine blocks in ten are taken, and the last free one is
// found too.
func Order(pool tenant.AddressPool, holder string) iter.Seq2[int, netip.Prefix] {
	// The number of blocks is a power of two, so that an odd step visits all.
	first, step := hash("first", holder), hash("step", holder)|1
	blocks := pool.Blocks()

	return func(yield func(int, netip.Prefix) bool) {
		at := first

		for place := range blocks {
			if !yield(place, pool.Block(int(at%uint64(blocks)))) { //nolint:gosec // it is below the number of blocks
				return
			}

			at += step
		}
	}
}

func hash(salt, text string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(salt + "\x00" + text)) // documented never to fail

	// FNV leaves the lowest bits of similar texts alike; the pool takes those.
	const shift1, shift2, factor = 33, 29, 0xff51afd7ed558ccd

	n := h.Sum64()
	n ^= n >> shift1
	n *= factor
	n ^= n >> shift2

	return n
}
