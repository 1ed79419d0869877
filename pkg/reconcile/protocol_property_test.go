package reconcile_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// play runs a fleet through a course and returns what it broke.
func play(t *testing.T, c course) *fleet {
	t.Helper()

	var f *fleet

	synctest.Test(t, func(*testing.T) {
		f = newFleet(c)
		f.run()
		f.end()
	})

	return f
}

// requireKept fails with everything that happened if a promise is broken.
func requireKept(t *testing.T, c course) {
	t.Helper()

	if f := play(t, c); f.failure != "" {
		t.Fatalf("seed %d: %s", c.seed, f.report())
	}
}

// anyCourse is one of the possible ones. Small ones come first, so that the
// first failure is easy to read.
func anyCourse(seed uint64) course {
	r := rand.New(rand.NewPCG(seed, 0))
	size := int(seed % 5)

	c := course{
		seed: seed, workers: 2 + r.IntN(2), events: story(r, 2+r.IntN(2+size)), faults: r.IntN(3 + size), deaf: r.IntN(5) == 0,
		holds: r.IntN(5) == 0, busy: r.IntN(3) == 0, slow: r.IntN(3) == 0, sleepy: r.IntN(4) == 0,
	}

	if c.slow {
		// Each change undoes the one before, so that some operations find
		// nothing to write.
		c.events = []tenant.Event{created(1)}
		for i := 2; i < 4+size; i++ {
			c.events = append(c.events, updated(i, strconv.Itoa(i%2)))
		}
	}

	return c
}

// story is a tenant's life: it is created, changed, at times deleted and created
// again, and the events come in any order.
func story(r *rand.Rand, n int) []tenant.Event {
	first := created(1)
	if r.IntN(3) == 0 {
		first.Tier = "keep"
	}

	events := []tenant.Event{first}

	for i := 2; i <= n; i++ {
		switch r.IntN(6) {
		case 0:
			events = append(events, event(i, tenant.EventDeleted))
		case 1:
			e := created(i)
			e.Tier = first.Tier
			events = append(events, e)
		default:
			// Few sizes, so that some changes undo others.
			events = append(events, updated(i, strconv.Itoa(r.IntN(2))))
		}
	}

	if r.IntN(4) == 0 {
		r.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
	}

	return events
}

// TestProtocol plays the real registry, leases and reconciler through any course
// of things: crashes, freezes, calls that are lost, late or doubled.
func TestProtocol(t *testing.T) {
	t.Parallel()

	if seed, err := strconv.ParseUint(os.Getenv("PROTOCOL_SEED"), 10, 64); err == nil {
		requireKept(t, anyCourse(seed))

		return
	}

	const batches = 4

	courses := 2000
	if testing.Short() {
		courses = 500
	}

	for batch := range batches {
		t.Run(strconv.Itoa(batch), func(t *testing.T) {
			t.Parallel()

			for seed := batch; seed < courses; seed += batches {
				requireKept(t, anyCourse(uint64(seed)))
			}
		})
	}
}

// TestFaultAtEveryStep has each fault strike each call of a plain course, so that
// no step is left to chance.
func TestFaultAtEveryStep(t *testing.T) {
	t.Parallel()

	faults := allFaults()
	if testing.Short() {
		faults = []fault{crashBefore, crashAfter, crashLate}
	}

	// The events come together, or while others are worked on.
	for _, apart := range []int{0, 13} {
		for _, strike := range faults {
			t.Run(string(strike)+", events "+strconv.Itoa(apart)+" calls apart", func(t *testing.T) {
				t.Parallel()

				for at, calls := 0, 1; at < calls; at++ {
					calls = strikeAt(t, apart, map[int]fault{at: strike})

					if !testing.Short() {
						// Another worker dies while the fleet recovers.
						strikeAt(t, apart, map[int]fault{at: strike, at + 9: crashAfter})
					}
				}
			})
		}
	}
}

// strikeAt returns how many calls the course took.
func strikeAt(t *testing.T, apart int, strikes map[int]fault) int {
	t.Helper()

	f := play(t, course{
		workers: 2, apart: apart, strikes: strikes,
		events: []tenant.Event{created(1), updated(2, "large"), updated(3, "small"), event(4, tenant.EventDeleted)},
	})
	if f.failure != "" {
		t.Fatal(f.report())
	}

	return f.calls
}
