package engine

import (
	"context"
	"slices"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// uncertain reports whether an error is no answer of the cloud: a provider that
// died, or a connection that broke, in the middle of a creation says nothing of
// whether the resource exists.
func uncertain(diagnostics []diagnostic) bool {
	return slices.ContainsFunc(diagnostics, func(d diagnostic) bool {
		return !isSummary(d.message) && !definite(judge(d.message).kind)
	})
}

// definite reports whether a failure of the kind is an answer: nothing was made.
func definite(kind tenant.Kind) bool {
	switch kind {
	case tenant.KindThrottled, tenant.KindQuota, tenant.KindDenied, tenant.KindInvalid, tenant.KindLocked, tenant.KindConflict:
		return true
	default:
		return false
	}
}

// taken reports whether something could not be made because it exists.
func taken(diagnostics []diagnostic) bool {
	return slices.ContainsFunc(diagnostics, func(d diagnostic) bool { return judge(d.message).kind == tenant.KindConflict })
}

// reopen keeps the creations of which nobody knows whether they failed among
// what is under way, where the CLI forgets them: the next operation looks them
// up before it makes them again.
//
// What exists already may be ours as well, if the answer was lost and the
// provider asked again by itself. Only the tenant's tag tells: what is somebody
// else's must not be adopted because of its name.
func (j *job) reopen(ctx context.Context) {
	if j.gate == nil || j.gate.Err() != nil {
		return
	}

	// The gate writes nothing once the lease has ended.
	interrupted, ctx := ctx.Err() != nil, context.WithoutCancel(ctx)

	var urns []string

	for _, r := range j.gate.Lost() {
		open, err := j.mayExist(ctx, r, interrupted)
		if err != nil {
			j.complain("looking for what exists already", err)

			continue
		}

		if open {
			urns = append(urns, r.URN)
		}
	}

	if err := j.gate.Reopen(ctx, urns); err != nil {
		j.unproven = true
		j.complain("keeping creations without an answer", err)
	}
}

// mayExist judges a creation that failed by its own errors, or by all of them if
// it has none: it was begun, and something else ended the step.
func (j *job) mayExist(ctx context.Context, r checkpoint.Resource, interrupted bool) (bool, error) {
	own := slices.DeleteFunc(slices.Clone(j.diagnostics), func(d diagnostic) bool { return d.located().resource != describe(r.URN) })

	switch {
	case len(own) == 0:
		return interrupted || uncertain(j.diagnostics), nil
	case uncertain(own):
		return true, nil
	case !taken(own):
		return false, nil
	}

	found, err := j.findUnknown(ctx, placeOf(r.Provider, j.gate.State().Resources))

	return inventory.Evident(r, found), err
}

func (j *job) complain(doing string, err error) {
	j.result.Complaints = append(j.result.Complaints, oneLine(doing+": "+err.Error()))
}
