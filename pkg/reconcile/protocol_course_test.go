package reconcile_test

import (
	"fmt"
	"slices"
	"testing/synctest"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// unsettled is whether a change was neither applied nor given up on, by the
// sequences alone.
func (f *fleet) unsettled() bool { return f.row.DesiredSeq != max(f.row.AppliedSeq, f.row.FailedSeq) }

// live is whether somebody who runs holds the lease and knows it.
func (f *fleet) live() bool {
	return slices.ContainsFunc(f.workers, func(w *fleetWorker) bool {
		h := w.tenure(f.row.Lease.Owner)

		return h != nil && !h.over && !w.dead && !w.frozen
	})
}

// check is what holds at every moment.
func (f *fleet) check() {
	var holders []string

	for _, w := range f.workers {
		for _, h := range w.tenures {
			if !w.dead && !h.over && w.now().Before(h.Deadline()) {
				holders = append(holders, fmt.Sprintf("%s (fence %d)", w.name, h.Token().Fence))
			}
		}
	}

	f.requiref(len(holders) <= 1 || f.stolen, "more than one believes to hold the lease: %v", holders)

	if f.row.Lease.Owner == "" && f.row.Applied != nil && f.row.AppliedSeq == f.row.DesiredSeq {
		f.requiref(f.matches(*f.row.Applied), "the row says %v is applied and the state is %+v", f.row.Applied.Spec, f.state)
	}
}

// matches is whether the state is what was applied.
func (f *fleet) matches(a tenant.Applied) bool {
	if a.Spec.Phase == tenant.PhaseAbsent {
		return f.state.etag == 0 || f.state.whole && f.state.content == absent
	}

	return f.state.whole && f.state.content == deployed(a.Generation, a.Spec.Phase, a.Spec.Tier, a.Spec.Parameters)
}

// run goes through the course, and then lets the fleet come to rest.
func (f *fleet) run() {
	const (
		chaosSteps = 600
		calmSteps  = 20000
	)

	for range chaosSteps {
		f.step()

		if f.failure != "" || f.resting() {
			break
		}
	}

	f.calm = true
	f.thaw(true)

	if f.row.Hold != "" {
		f.hold(false)
	}

	for range calmSteps {
		if f.failure != "" || f.resting() {
			break
		}

		f.step()
	}

	f.final()
}

// resting is whether nothing can happen any more.
func (f *fleet) resting() bool {
	synctest.Wait()

	busy := slices.ContainsFunc(f.network.open(), func(c *call) bool { return c.kind != callReceive || c.done })

	return !busy && len(f.unsent) == 0 && len(f.frozen) == 0 && len(f.network.stray) == 0 && len(f.sqs.Bodies(f.url)) == 0
}

// final is what holds in the end: nothing was lost.
func (f *fleet) final() {
	f.requiref(f.resting(), "the fleet does not come to rest: %d messages, row %+v", len(f.sqs.Bodies(f.url)), f.row)

	want := tenant.Desired{}
	for _, e := range f.sent {
		want, _ = tenant.Apply(want, e)
	}

	f.requiref(fmt.Sprint(want.Spec()) == fmt.Sprint(f.row.Desired.Spec()), "a change was lost: want %v, the row has %v", want.Spec(), f.row.Desired.Spec())
	f.requiref(!f.unsettled(), "work was lost: %+v", f.row)
	f.requiref(f.row.Lease.Owner == "", "a lease is left: %+v", f.row.Lease)
	f.requiref(f.row.Unpublished == "", "a result was not published: %s", f.row.Unpublished)
	f.check()

	if f.row.FailedSeq > f.row.AppliedSeq {
		f.afterFailure()
	}
}

// afterFailure is what the tier's policy leaves of a tenant that was given up on.
func (f *fleet) afterFailure() {
	switch {
	case f.row.Desired.Tier.Value.Name != "silo" || f.row.Desired.Spec().Phase == tenant.PhaseAbsent:
	case f.row.Applied == nil || f.row.Applied.Spec.Phase == tenant.PhaseAbsent:
		f.requiref(f.matches(tenant.Applied{Spec: tenant.Spec{Phase: tenant.PhaseAbsent}}),
			"a first provision that failed was not rolled back: %+v", f.state)
	default:
		f.requiref(f.matches(*f.row.Applied), "an update that failed was not reverted: %+v", f.state)
	}
}

// end lets every goroutine of the fleet end.
func (f *fleet) end() {
	f.thaw(true)

	for _, w := range f.workers {
		f.network.kill(w)
	}

	for _, w := range f.workers {
		w.jobs.Wait()
	}
}
