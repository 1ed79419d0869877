package lease

import (
	"sync"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// sighting is a lease as it was first seen, and when by the local clock.
type sighting struct {
	owner string
	fence int64
	rvn   string
	since time.Time
}

// sightings remembers leases of others. A lease is dead only when it stood
// still for its whole duration under our own eyes: the clocks of two machines
// are never compared.
type sightings struct {
	mu   sync.Mutex
	seen map[tenant.ID]sighting
}

// forgetAfter bounds what is remembered of tenants that nobody asks for.
const forgetAfter = 24 * time.Hour

// since notes a sighting and returns since when the lease stands still. The
// clock was read after the row.
func (s *sightings) since(rec tenant.Record, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()

	known, ok := s.seen[rec.ID]

	if ok && known.owner == rec.Lease.Owner && known.fence == rec.Fence && known.rvn == rec.Lease.RVN {
		return known.since
	}

	s.forget(now)
	s.seen[rec.ID] = sighting{owner: rec.Lease.Owner, fence: rec.Fence, rvn: rec.Lease.RVN, since: now}

	return now
}

// drop forgets a tenant whose lease is free.
func (s *sightings) drop(id tenant.ID) {
	s.mu.Lock()
	defer s.mu.Unlock()

	delete(s.seen, id)
}

func (s *sightings) forget(now time.Time) {
	for id, known := range s.seen {
		if now.Sub(known.since) > forgetAfter {
			delete(s.seen, id)
		}
	}
}
