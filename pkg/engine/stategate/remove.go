package stategate

import (
	"context"
	"fmt"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Remove proves that the state holds nothing any more and removes the stack's
// history and older versions. What stays is an empty checkpoint: a checkpoint
// that is gone fences nobody, since a first PUT that is late would succeed.
func (g *Gate) Remove(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()

	if !g.state.Empty() {
		return &tenant.Failure{
			Kind: tenant.KindIntegrity,
			Message: fmt.Sprintf("the stack still holds %d resources and %d pending operations after its destruction",
				len(g.state.Resources), len(g.state.Pending)),
			Hint: "it is destroyed again; `pulumi stack export` shows what is left",
		}
	}

	if g.body != nil && g.exists() {
		if err := g.put(ctx, checkpoint.Blank(g.cfg.Project, g.cfg.Stack)); err != nil {
			return failed(err)
		}
	}

	if err := g.purge(ctx); err != nil {
		return failed(err)
	}

	return nil
}

// purge removes all that the bucket keeps of the stack but its newest
// checkpoint.
func (g *Gate) purge(ctx context.Context) error {
	var old []Version

	for _, prefix := range []string{g.keys.checkpoint, g.keys.tags, g.keys.history, g.keys.backups} {
		versions, err := g.store.Versions(ctx, prefix)
		if err != nil {
			return err
		}

		for _, v := range versions {
			// Another stack's name may begin like this one's.
			mine := v.Key == prefix || v.Key == g.keys.backup || prefix == g.keys.history || prefix == g.keys.backups
			if mine && (v.Key != g.keys.checkpoint || !v.Latest) {
				old = append(old, v)
			}
		}
	}

	return g.store.DeleteVersions(ctx, old)
}

// Rewrite replaces the checkpoint by what change makes of it, under this
// operation's stamp.
func (g *Gate) Rewrite(ctx context.Context, change func(body []byte) ([]byte, error), repairs ...tenant.Repair) error {
	g.mu.Lock()
	defer g.mu.Unlock()

	body, err := change(g.body)
	if err != nil {
		return err
	}

	if err := g.put(ctx, body); err != nil {
		return failed(err)
	}

	g.repairs = append(g.repairs, repairs...)

	return nil
}
