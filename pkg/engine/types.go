package engine

import (
	"cmp"
	"maps"
	"slices"
)

const (
	// maxTypes bounds the kinds of resources that a result tells apart.
	maxTypes = 40
	// otherTypes stands for the rest.
	otherTypes = "other"
)

// setPresent takes over what a step found in the state.
func (j *job) setPresent(present map[string]bool) {
	j.setResources(len(present))
	j.result.Types = countTypes(present)
}

// countTypes counts URNs by type. Where there are very many types, the rarest
// are counted together.
func countTypes(present map[string]bool) map[string]int {
	counts := map[string]int{}

	for urn := range present {
		typeName, _ := splitURN(urn)
		counts[typeName]++
	}

	if len(counts) <= maxTypes {
		return counts
	}

	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})

	for _, name := range names[maxTypes:] {
		counts[otherTypes] += counts[name]
		delete(counts, name)
	}

	return counts
}
