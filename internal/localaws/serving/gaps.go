package serving

import "slices"

// Naming says that a tenant's outputs named a topology for a while. When they
// switch, nobody outside knows the very moment: each of the two topologies is
// named from before the switch was asked for until after it was done.
type Naming struct {
	Span

	Topology string
}

// Gap is a time in which the topology that the outputs named did not serve.
type Gap struct {
	Span

	// Topology is "" if the outputs named none.
	Topology string
}

// Gaps returns the times during a span in which someone who follows the outputs
// finds nothing that serves, in the order of time. served says when each topology
// did.
func Gaps(during Span, named []Naming, served map[string]Spans) []Gap {
	var gaps []Gap

	complain := func(topology string, left Spans) {
		for _, one := range left {
			gaps = append(gaps, Gap{one, topology})
		}
	}

	asked := Unite(during)
	spans := make([]Span, 0, len(named))

	for _, naming := range named {
		outside := asked.Without(Unite(naming.Span))
		complain(naming.Topology, asked.Without(outside).Without(served[naming.Topology]))

		spans = append(spans, naming.Span)
	}

	complain("", asked.Without(Unite(spans...)))
	slices.SortStableFunc(gaps, func(a, b Gap) int { return a.From.Compare(b.From) })

	return gaps
}
