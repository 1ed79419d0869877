package lease_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// maxDrift is how wrong a machine's clock may run. The margin is there for this
// and must cover it: (D - M) / (1 - drift) < (D + M) / (1 + drift).
const maxDrift = 0.1

// simulation is a fleet whose machines disagree on the time, crash, freeze,
// read rows and act on them late, and whose calls take long and lose answers.
type simulation struct {
	t       *rapid.T
	world   *world
	table   *registrytest.Table
	elapsed time.Duration
	workers []*worker
	fence   int64
	granted map[int64]bool

	item    map[string]types.AttributeValue
	decoded tenant.Record
}

type worker struct {
	s      *simulation
	begin  time.Time
	rate   float64
	leases *lease.Leases
	seen   tenant.Record
	held   *lease.Lease
	// watches has it look at the row every second.
	watches bool
}

// now is what the worker's own clock says.
func (w *worker) now() time.Time {
	return w.begin.Add(time.Duration(float64(w.s.elapsed) * w.rate))
}

// believes is whether the worker would go on with its operation.
func (w *worker) believes() bool { return w.held != nil && w.now().Before(w.held.Deadline()) }

// restart is a crash: a new process knows nothing, on a machine whose
// monotonic clock goes on.
func (w *worker) restart() {
	w.leases = w.s.world.leases(lease.WithClock(w.now))
	w.held = nil
	w.seen = tenant.Record{}
}

func (w *worker) acquire() {
	held, err := w.leases.Acquire(context.Background(), w.seen, "m")

	var busy *lease.HeldError

	switch {
	case err == nil:
		if w.s.granted[held.Token().Fence] {
			w.s.t.Fatalf("fence %d was granted twice", held.Token().Fence)
		}

		w.s.granted[held.Token().Fence] = true
		w.held = held
	case errors.Is(err, lease.ErrChanged), errors.As(err, &busy), errors.Is(err, errLost):
	default:
		w.s.t.Fatalf("unexpected error: %v", err)
	}
}

func (w *worker) renew() {
	if err := w.held.Renew(context.Background()); errors.Is(err, lease.ErrLost) || errors.Is(err, lease.ErrUncertain) {
		w.held = nil
	}
}

func newSimulation(t *rapid.T) *simulation {
	s := &simulation{t: t, granted: map[int64]bool{}}
	s.world, s.table = fakeWorld(t)

	for range rapid.IntRange(2, 5).Draw(t, "workers") {
		w := &worker{
			s:       s,
			begin:   time.Unix(0, 0).Add(time.Duration(rapid.IntRange(0, 1<<30).Draw(t, "clock")) * time.Second),
			watches: rapid.Bool().Draw(t, "watches"),
			rate:    1 + rapid.SampledFrom([]float64{-maxDrift, 0, maxDrift}).Draw(t, "drift"),
		}
		w.restart()
		s.workers = append(s.workers, w)
	}

	s.table.Intercept(s.before, s.after)

	return s
}

// before and after are the way to the table and back.
func (s *simulation) before(operation string) error {
	if operation == "UpdateItem" {
		return s.travel("way there")
	}

	return nil
}

func (s *simulation) after(operation string) error {
	if operation != "UpdateItem" {
		return nil
	}

	s.check()

	return s.travel("way back")
}

// travel is mostly quick, at times slow, and at times in vain.
func (s *simulation) travel(way string) error {
	const lost = -1

	took := rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 4, 30, lost}).Draw(s.t, way)
	if took == lost {
		return errLost
	}

	s.pass(took)

	return nil
}

// pass lets time go by in small steps, so that no moment is missed.
func (s *simulation) pass(seconds int) {
	for range seconds {
		s.elapsed += time.Second
		s.check()

		rec := s.peek()

		for _, w := range s.workers {
			if w.watches {
				w.leases.Stale(rec)
			}
		}
	}
}

// check is the promise: never two who go on at once, and a fence that grows.
func (s *simulation) check() {
	believers := 0

	for _, w := range s.workers {
		if w.believes() {
			believers++
		}
	}

	if believers > 1 {
		s.t.Fatalf("%d workers believe that they hold the lease", believers)
	}

	stored, ok := s.table.Item("tenant#" + string(acme))["fence"].(*types.AttributeValueMemberN)
	require.True(s.t, ok)

	fence, err := strconv.ParseInt(stored.Value, 10, 64)
	require.NoError(s.t, err)

	if fence < s.fence {
		s.t.Fatalf("the fence went back from %d to %d", s.fence, fence)
	}

	s.fence = fence
}

// peek reads the row without a call of the simulation. It is decoded again only
// if it changed, since nearly every second somebody looks.
func (s *simulation) peek() tenant.Record {
	item := s.table.Item("tenant#" + string(acme))
	if reflect.DeepEqual(item, s.item) {
		return s.decoded
	}

	s.table.Intercept(nil, nil)
	defer s.table.Intercept(s.before, s.after)

	s.item, s.decoded = item, s.world.get(s.t)

	return s.decoded
}

func (s *simulation) pick() *worker { return rapid.SampledFrom(s.workers).Draw(s.t, "worker") }

// actions are what can happen next.
func (s *simulation) actions() map[string]func() {
	return map[string]func(){
		"time":  func() { s.pass(rapid.IntRange(1, 90).Draw(s.t, "seconds")) },
		"crash": func() { s.pick().restart() },
		"look": func() {
			w := s.pick()
			w.seen = s.peek()
			w.leases.Stale(w.seen)
		},
		// By a row that may have been read long ago.
		"acquire": func() {
			if w := s.pick(); w.held == nil && w.seen.Exists() {
				w.acquire()
			}
		},
		"read and acquire": func() {
			if w := s.pick(); w.held == nil {
				w.seen = s.peek()
				w.acquire()
			}
		},
		"renew": func() {
			if w := s.pick(); w.held != nil {
				w.renew()
			}
		},
		"vigil":   s.vigil,
		"release": s.release,
	}
}

// vigil has one worker watch every second, and take over at the first moment,
// while whoever holds the lease goes on with it, or does so just once more.
func (s *simulation) vigil() {
	watcher := s.pick()
	every := rapid.SampledFrom([]int{0, 0, 20, 45}).Draw(s.t, "renew every")

	if every == 0 {
		s.renewAll()
	}

	for second := 1; second <= 100 && watcher.held == nil; second++ {
		watcher.seen = s.peek()

		if watcher.seen.Lease.Owner == "" || watcher.leases.Stale(watcher.seen) {
			watcher.acquire()

			return
		}

		s.pass(1)

		if every > 0 && second%every == 0 {
			s.renewAll()
		}
	}
}

func (s *simulation) renewAll() {
	for _, w := range s.workers {
		if w.believes() {
			w.renew()
		}
	}
}

func (s *simulation) release() {
	w := s.pick()
	if w.held == nil {
		return
	}

	err := s.world.rows.Release(context.Background(), acme, w.held.Token(), rapid.Bool().Draw(s.t, "clean"))
	if err != nil && !errors.Is(err, registry.ErrLeaseLost) && !errors.Is(err, errLost) {
		s.t.Fatalf("unexpected error: %v", err)
	}

	w.held = nil
}

// TestNeverTwoHolders runs fleets through any course of things.
func TestNeverTwoHolders(t *testing.T) {
	t.Parallel()

	const steps = 80

	// A hundred courses each: what is rare needs many.
	batches := 5
	if testing.Short() {
		batches = 2
	}

	for batch := range batches {
		t.Run(strconv.Itoa(batch), func(t *testing.T) {
			t.Parallel()
			courses(t, steps)
		})
	}
}

func courses(t *testing.T, steps int) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		s := newSimulation(t)
		actions := s.actions()
		names := slices.Sorted(maps.Keys(actions))

		for range steps {
			actions[rapid.SampledFrom(names).Draw(t, "action")]()
			s.check()
		}

		s.recover()
	})
}

// recover shows that whatever happened, a survivor that watches gets the lease.
func (s *simulation) recover() {
	for _, w := range s.workers {
		w.restart()
	}

	survivor := s.workers[0]
	survivor.seen = s.peek()
	survivor.leases.Stale(survivor.seen)
	// The longest wait is by the slowest clock.
	s.pass(int((duration + margin) / time.Second * 10 / 8))

	survivor.seen = s.peek()
	s.table.Intercept(nil, nil)
	survivor.acquire()

	if survivor.held == nil {
		s.t.Fatalf("nobody gets the lease although every holder is dead")
	}
}
