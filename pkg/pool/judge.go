package pool

import (
	"fmt"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// verdict is what a pool's row says to a tenant that needs it.
type verdict int

const (
	// verdictServes: its outputs are good.
	verdictServes verdict = iota
	// verdictMissing: nobody asked for it, or it is gone.
	verdictMissing
	// verdictUnseen: it was asked for, and no worker has looked at it yet.
	verdictUnseen
	// verdictWait: somebody works on it.
	verdictWait
	// verdictFailed: it was given up on.
	verdictFailed
)

// judge decides on a pool's row and says why to wait. lodges means that the one
// who asks lives in the pool already.
//
// A deletion that is wanted turns nobody out: it is refused while tenants live
// there. Who does not live there yet waits until that is decided, or it would
// move into a pool that goes away.
func judge(rec tenant.Record, lodges bool) (found verdict, why string) {
	wanted := rec.Desired.Spec().Phase != tenant.PhaseAbsent

	switch {
	case standing(rec) && removing(rec.Progress):
		return verdictWait, deleting
	case standing(rec) && (wanted || lodges || !rec.NeedsWork()):
		return verdictServes, ""
	case !wanted && rec.NeedsWork():
		return verdictWait, deleting
	case !wanted:
		return verdictMissing, asked
	default:
		return judgeNew(rec)
	}
}

// judgeNew decides on the row of a pool that is wanted and does not stand.
func judgeNew(rec tenant.Record) (found verdict, why string) {
	switch {
	case !rec.NeedsWork():
		return verdictFailed, ""
	case rec.Hold != "":
		return verdictWait, fmt.Sprintf("which is on hold (%s)", rec.Hold)
	case rec.Fence == 0:
		return verdictUnseen, asked
	default:
		return verdictWait, "which is being made"
	}
}

// Why to wait for a pool.
const (
	deleting = "which is being deleted"
	asked    = "which was asked for"
)

func standing(rec tenant.Record) bool {
	return rec.Applied != nil && rec.Applied.Spec.Phase != tenant.PhaseAbsent
}

// removing tells the steps after which outputs may be good no more.
func removing(p *tenant.Progress) bool {
	if p == nil {
		return false
	}

	switch plan.Step(p.Step) {
	case plan.StepPrepareDelete, plan.StepDestroy, plan.StepRemove:
		return true
	default:
		return false
	}
}

// lodges reports whether a tenant lives in a pool, with either of its topologies.
func lodges(rec tenant.Record, pool tenant.ID) bool {
	if standing(rec) && rec.Applied.Blueprint.Pool == pool {
		return true
	}

	return rec.Change != nil && rec.Change.Other.Blueprint.Pool == pool
}
