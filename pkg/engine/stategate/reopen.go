package stategate

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
)

// noteLost remembers the creations that the CLI took for failed with its last
// write of the checkpoint, as they stood in the one before.
func (g *Gate) noteLost(before checkpoint.State, body []byte) {
	maps.DeleteFunc(g.lost, func(urn string, _ json.RawMessage) bool { return g.state.Mentions(urn) })

	for _, urn := range checkpoint.Lost(before, g.state) {
		if raw := checkpoint.Creation(body, urn); raw != nil {
			if g.lost == nil {
				g.lost = map[string]json.RawMessage{}
			}

			g.lost[urn] = raw
		}
	}
}

// Lost are the resources whose creation failed in this operation.
func (g *Gate) Lost() []checkpoint.Resource {
	g.mu.Lock()
	defer g.mu.Unlock()

	lost := make([]checkpoint.Resource, 0, len(g.lost))

	for _, urn := range slices.Sorted(maps.Keys(g.lost)) {
		var p checkpoint.Pending
		// It was read once already.
		_ = json.Unmarshal(g.lost[urn], &p)

		lost = append(lost, p.Resource)
	}

	return lost
}

// Reopen puts creations that failed in this operation back among what is under
// way, by URN. It is for failures that do not say that nothing was made: the
// provider died or the connection broke, and the resource may exist.
func (g *Gate) Reopen(ctx context.Context, urns []string) error {
	g.mu.Lock()

	var entries []json.RawMessage

	for _, urn := range urns {
		if entry := g.lost[urn]; entry != nil {
			entries = append(entries, entry)
		}
	}

	g.mu.Unlock()

	if len(entries) == 0 {
		return nil
	}

	return g.Rewrite(ctx, func(body []byte) ([]byte, error) { return checkpoint.Reopen(body, entries) })
}
