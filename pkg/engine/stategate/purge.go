package stategate

import (
	"context"
	"strings"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Purge removes all that the bucket keeps of a stack that was removed, the empty
// checkpoint included. It must not be called earlier than any write of an
// operation from before the removal may arrive: nothing fences those afterwards.
//
// A stack that was opened again is left alone. Versions are removed by their ids,
// so that what a successor wrote meanwhile stays even if this operation lost its
// lease and does not know. In a bucket without versions, where that cannot be,
// the empty checkpoint stays.
func (g *Gate) Purge(ctx context.Context) error {
	defer g.cfg.Busy()()

	g.mu.Lock()
	defer g.mu.Unlock()

	if g.exists() || !g.state.Empty() {
		return inUse()
	}

	left, err := g.leftovers(ctx)
	if err != nil {
		return failed(err)
	}

	if left.newest != nil && left.newest.ETag != g.etag {
		return inUse()
	}

	if g.cfg.Left() <= 0 {
		return leaseEnded()
	}

	// The older versions go first: without the newest one, the one before it would
	// be the state again.
	if err := g.store.DeleteVersions(ctx, left.old); err != nil {
		return failed(err)
	}

	if left.newest != nil && left.newest.versioned() {
		if err := g.store.DeleteVersions(ctx, []Version{*left.newest}); err != nil {
			return failed(err)
		}

		g.body, g.etag, g.state = nil, "", checkpoint.State{}
	}

	g.lock.traceless = true

	return nil
}

func inUse() error {
	return &tenant.Failure{
		Kind:    tenant.KindConflict,
		Message: "the stack is no more as its removal left it, so nothing of it is purged",
		Hint:    "see who works on it: `pulumi stack --show-urns`; `enqueue deprovision` removes the stack anew",
	}
}

// leftovers are the versions that the bucket keeps of a stack.
type leftovers struct {
	// newest is of the checkpoint, nil if there is none.
	newest *Version
	// old is everything else but locks that hold.
	old []Version
}

func (g *Gate) leftovers(ctx context.Context) (leftovers, error) {
	var left leftovers

	for _, prefix := range []string{g.keys.checkpoint, g.keys.tags, g.keys.history, g.keys.backups, g.keys.locks} {
		versions, err := g.store.Versions(ctx, prefix)
		if err != nil {
			return leftovers{}, err
		}

		for _, v := range versions {
			stands := v.Latest && !v.Marker

			switch {
			case !g.keys.own(v.Key), strings.HasPrefix(v.Key, g.keys.locks) && stands:
			case v.Key == g.keys.checkpoint && stands:
				left.newest = &v
			default:
				left.old = append(left.old, v)
			}
		}
	}

	return left, nil
}

// own reports whether a key is of this stack. Another one's name may begin like
// it.
func (k keys) own(key string) bool {
	switch key {
	case k.checkpoint, k.backup, k.tags:
		return true
	}

	return strings.HasPrefix(key, k.history) || strings.HasPrefix(key, k.backups) || strings.HasPrefix(key, k.locks)
}
