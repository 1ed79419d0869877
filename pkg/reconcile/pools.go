package reconcile

import (
	"fmt"
	"time"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// waitForPool spaces the looks of a tenant for its pool. Each costs a receive, of
// which a message has a hundred, and a pool takes many minutes; but whoever made
// it tells those who wait, so that the last look is not what they wait for.
func waitForPool() Backoff {
	const shortest, longest = 5 * time.Second, time.Minute

	return Backoff{Min: shortest, Max: longest}
}

// plan makes the plan of a tenant, with what its pool has.
func (t *tenure) plan(rec tenant.Record) (plan.Plan, error) {
	resolver := t.Catalog

	if t.Pools != nil {
		var err error
		if resolver, err = t.Pools.For(t.ctx, rec); err != nil {
			return plan.Plan{}, fmt.Errorf("looking at pools: %w", err)
		}
	}

	return t.Config.Schedule.For(rec, resolver, t.now())
}

// waiting records that there is nothing to do until something else is there. It
// is no operation, so that it counts neither against the tenant nor against the
// place where it is.
func (t *tenure) waiting(rec tenant.Record, failure *tenant.Failure) operationDone {
	done := t.nothingDone(rec, t.newOperation(rec, nil))
	done.result.Failure = failure
	done.settlement.Outcome.Failure = failure
	done.settlement.NotBefore = t.now().Add(t.wait(rec, failure.Kind))

	return done
}

// tellWaiting lets those go on who wait for a pool that is there now, or will not
// be. If it cannot, they look by themselves.
func (t *tenure) tellWaiting(done operationDone, rec tenant.Record) {
	// A part of the way serves already.
	if s := done.settlement; t.Pools == nil || s.Applied == nil && !s.GaveUp {
		return
	}

	if err := t.Pools.Settled(t.ctx, rec); err != nil {
		t.Observer.Trouble(rec.ID, "telling those who wait for the pool", err)
	}
}
