package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Schedule is what a fleet does by the clock, beside what is due by the rows of
// tenants.
type Schedule struct {
	// Drift is the time between two looks at a tenant for what differs in the
	// cloud from what was made. 0 means none.
	Drift time.Duration `env:"LESSOR_DRIFT_INTERVAL, default=0s"`
}

// NextLook is when a tenant that is present and settled is to be looked at: an
// interval after the last look. Who is not looked at yet when the looks begin, or
// was not for long, is spread over the first interval by its id. It is zero if
// there are no looks.
func (s Schedule) NextLook(id tenant.ID, last, began time.Time) time.Time {
	if s.Drift <= 0 {
		return time.Time{}
	}

	if next := last.Add(s.Drift); !last.IsZero() && !next.Before(began) {
		return next
	}

	return began.Add(share(id, s.Drift))
}

// share is a part of an interval, the same for a tenant always and spread evenly
// over tenants.
func share(id tenant.ID, interval time.Duration) time.Duration {
	sum := sha256.Sum256([]byte(id))

	//nolint:gosec // the remainder is smaller than the interval, which is no negative one
	return time.Duration(binary.BigEndian.Uint64(sum[:]) % uint64(interval))
}

// For makes the plan of a tenant at a time, with what the schedule adds to it.
// Where only the clock asks for work nothing else is done: the tenant is served
// as it was last made, whatever the catalog says by now.
func (s Schedule) For(rec tenant.Record, catalog Resolver, now time.Time) (Plan, error) {
	if ByClock(rec) && standing(rec) != nil {
		catalog = unchanged{rec.Applied.Blueprint}
	}

	p, err := For(rec, catalog, now)
	if err != nil {
		return Plan{}, err
	}

	if s.looks(rec, now) && !slices.Contains(p.Steps, StepRefresh) {
		p.Steps = slices.Insert(p.Steps, 0, StepRefresh)
	}

	return p, nil
}

// earlyShare of an interval is how much a look may be early. The clock of who
// sends the event that something is due is not that of who serves it.
const earlyShare = 10

// looks reports whether a look for drift is due. When the first one is, the sweep
// decides, which sends the event.
func (s Schedule) looks(rec tenant.Record, now time.Time) bool {
	return s.Drift > 0 && unserved(rec, tenant.RequestDue) && standing(rec) != nil && rec.Desired.Existence.Value.Created &&
		!now.Before(rec.LookedAt.Add(s.Drift-s.Drift/earlyShare))
}

// ByClock reports that a tenant has work by the clock alone: nothing that anybody
// sent changed it since it was last settled.
func ByClock(rec tenant.Record) bool {
	if rec.Applied == nil || rec.DesiredSeq != rec.AppliedSeq+1 || !unserved(rec, tenant.RequestDue) {
		return false
	}

	for kind := range rec.Desired.Requests {
		if kind != tenant.RequestDue && unserved(rec, kind) {
			return false
		}
	}

	was, spec := rec.Applied.Spec, rec.Desired.Spec()
	if spec.Phase == tenant.PhaseAbsent {
		return was.Phase == tenant.PhaseAbsent
	}

	return was.Phase == spec.Phase && was.Tier == spec.Tier && was.Region == spec.Region &&
		maps.EqualFunc(was.Parameters, spec.Parameters, sameJSON)
}

// unchanged is a catalog that has nothing new to say.
type unchanged struct{ blueprint tenant.Blueprint }

// Resolve returns what was applied.
func (u unchanged) Resolve(tenant.Spec) (tenant.Blueprint, error) { return u.blueprint, nil }
