package stategate

import (
	"context"
	"errors"
	"fmt"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// maxVersions bounds how many versions are looked at. A bucket keeps one for
// every step of every operation.
const maxVersions = 50

// Restore puts the newest older version in place that is whole.
func (g *Gate) Restore(ctx context.Context) error {
	defer g.cfg.Busy()()

	g.mu.Lock()
	defer g.mu.Unlock()

	reason := "it was damaged"
	if g.damage != nil {
		reason = g.damage.Error()
	}

	if err := g.restore(ctx, reason); err != nil {
		return failed(err)
	}

	if err := g.put(ctx, g.body); err != nil {
		return failed(err)
	}

	return nil
}

// restore adopts the newest older version that is whole. The caller writes it.
func (g *Gate) restore(ctx context.Context, reason string) error {
	versions, err := g.store.Versions(ctx, g.keys.checkpoint)
	if err != nil {
		return err
	}

	looked := 0

	for _, v := range versions {
		if v.Key != g.keys.checkpoint || v.Marker || looked == maxVersions {
			continue
		}

		looked++

		object, err := g.store.Get(ctx, v.Key, v.ID)
		if errors.Is(err, ErrNotFound) {
			continue
		}

		if err != nil {
			return err
		}

		if _, err := checkpoint.Read(object.Body); err != nil {
			continue
		}

		// The version only replaces what is served; the ETag stays that of the
		// object to replace.
		if err := g.adopt(object.Body, true); err != nil {
			return err
		}

		g.repairs = append(g.repairs, tenant.Repair{
			Action: tenant.RepairRestored, Detail: fmt.Sprintf("version %s of the state: %s", v.ID, reason),
		})

		return nil
	}

	return &tenant.Failure{
		Kind:    tenant.KindIntegrity,
		Message: fmt.Sprintf("the stack's state cannot be used (%s) and has no older version that can", reason),
		Hint: "put a copy of s3://BUCKET/" + g.keys.checkpoint + " back, from a backup or a replica; " +
			"keep versioning on for the state buckets",
	}
}
