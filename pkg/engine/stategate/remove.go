package stategate

import (
	"context"
	"fmt"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Remove proves that the state holds nothing any more and removes the stack's
// history, older versions and what is left of its locks, unless those are to be
// retained. What stays is an empty checkpoint: a checkpoint
// that is gone fences nobody, since a first PUT that is late would succeed.
func (g *Gate) Remove(ctx context.Context) error {
	defer g.cfg.Busy()()

	// An entry that came later would stay.
	g.kept.Wait()

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

	if g.cfg.Retain {
		return nil
	}

	left, err := g.leftovers(ctx)
	if err != nil {
		return failed(err)
	}

	if err := g.store.DeleteVersions(ctx, left.old); err != nil {
		return failed(err)
	}

	return nil
}

// Rewrite replaces the checkpoint by what change makes of it, under this
// operation's stamp.
func (g *Gate) Rewrite(ctx context.Context, change func(body []byte) ([]byte, error), repairs ...tenant.Repair) error {
	defer g.cfg.Busy()()

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
