package reconcile

import (
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Breaker turns operations away from a region and tier in which many tenants
// fail alike.
type Breaker interface {
	// Allow returns what is called once with how the operation ended, nil if
	// none ran. If none may start, it returns nil and after how long to ask
	// again.
	Allow(region, tier string) (done func(id tenant.ID, outcome *tenant.Outcome), wait time.Duration)
}

// admission is the breaker's leave to work on a tenant.
type admission struct {
	id           tenant.ID
	region, tier string
	done         func(tenant.ID, *tenant.Outcome)
	// outcome is of the last operation that says something of the place.
	outcome *tenant.Outcome
}

// admit asks the breaker, and returns nil and a delay if it turns the tenant
// away. It is not asked about deletions: they give back what a region is short
// of, and what is ill there shall not keep a tenant alive. Nor about a lease
// that is taken over, since what a dead worker left half done is not new.
func (r *Reconciler) admit(rec tenant.Record) (*admission, time.Duration) {
	a := &admission{id: rec.ID, done: func(tenant.ID, *tenant.Outcome) {}}

	spec := rec.Desired.Spec()
	if r.Breaker == nil || spec.Phase == tenant.PhaseAbsent || rec.Lease.Owner != "" {
		return a, 0
	}

	done, wait := r.Breaker.Allow(spec.Region, spec.Tier)
	if done == nil {
		return nil, wait
	}

	a.region, a.tier, a.done = spec.Region, spec.Tier, done

	return a, 0
}

// note keeps how an operation ended, unless it was in another place than the
// one asked about: desired may move on under the lease.
func (a *admission) note(rec tenant.Record, outcome tenant.Outcome) {
	spec := rec.Desired.Spec()
	if spec.Phase != tenant.PhaseAbsent && spec.Region == a.region && spec.Tier == a.tier {
		a.outcome = &outcome
	}
}

// end tells the breaker.
func (a *admission) end() { a.done(a.id, a.outcome) }
