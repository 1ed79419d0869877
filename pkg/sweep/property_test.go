package sweep_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/sweep"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// TestNothingIsForgotten: whatever message is lost and whoever dies, every row
// that needs work gets a message again, and the lease of a live holder is never
// ended.
func TestNothingIsForgotten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := &fleet{T: t, world: newWorld(t), holders: map[tenant.ID]*lease.Lease{}, held: map[tenant.ID]bool{}}
		f.sweepers = []*sweep.Sweeper{f.sweeper(), f.sweeper()}

		t.Repeat(map[string]func(*rapid.T){
			"accept": func(t *rapid.T) {
				f.world.accept(t, f.tenant(t), rapid.SampledFrom(facts()).Draw(t, "type"))
				f.advance(time.Second)
			},
			"take":   f.take,
			"settle": f.finish,
			"fail":   f.retryLater,
			"die":    f.die,
			"hold":   f.hold,
			"pass": func(t *rapid.T) {
				f.advance(time.Duration(rapid.IntRange(1, 40).Draw(t, "minutes")) * time.Minute)
			},
			"sweep": func(t *rapid.T) { f.sweepers[rapid.IntRange(0, 1).Draw(t, "sweeper")].Sweep(context.Background()) },
			"new sweeper": func(t *rapid.T) {
				f.sweepers[rapid.IntRange(0, 1).Draw(t, "sweeper")] = f.sweeper()
			},
			"": f.check,
		})

		f.calmDown()
	})
}

func facts() []tenant.EventType {
	return []tenant.EventType{tenant.EventCreated, tenant.EventUpdated, tenant.EventSuspended, tenant.EventDeleted}
}

func tenants() []tenant.ID { return []tenant.ID{"a", "b", "c"} }

// fleet is tenants, whose messages are all lost, and workers that die.
type fleet struct {
	*rapid.T
	*world

	sweepers []*sweep.Sweeper
	holders  map[tenant.ID]*lease.Lease // of workers that are alive
	held     map[tenant.ID]bool         // by people
}

func (*fleet) tenant(t *rapid.T) tenant.ID { return rapid.SampledFrom(tenants()).Draw(t, "tenant") }

// take lets a worker take a tenant that it may take.
func (f *fleet) take(t *rapid.T) {
	id := f.tenant(t)
	rec := f.get(t, id)

	if !rec.Exists() || rec.Lease.Owner != "" || rec.Hold != "" || f.now.Before(rec.NotBefore) {
		return
	}

	f.holders[id] = f.acquire(t, id)
}

func (f *fleet) holder(t *rapid.T) (tenant.ID, *lease.Lease) {
	if len(f.holders) == 0 {
		return "", nil
	}

	id := rapid.SampledFrom(slices.Sorted(maps.Keys(f.holders))).Draw(t, "holder")

	return id, f.holders[id]
}

func (f *fleet) finish(t *rapid.T) {
	id, held := f.holder(t)
	if held == nil {
		return
	}

	delete(f.holders, id)

	if f.get(t, id).NeedsWork() {
		f.settle(t, id, held)
	} else {
		require.NoError(t, f.rows.Release(context.Background(), id, held.Token(), true))
	}
}

// retryLater lets go although there is work, and the message is lost.
func (f *fleet) retryLater(t *rapid.T) {
	if id, held := f.holder(t); held != nil {
		delete(f.holders, id)
		require.NoError(t, f.rows.Release(context.Background(), id, held.Token(), false))
	}
}

func (f *fleet) die(t *rapid.T) {
	id, _ := f.holder(t)
	delete(f.holders, id)
}

func (f *fleet) hold(t *rapid.T) {
	id := f.tenant(t)
	if !f.get(t, id).Exists() {
		return
	}

	if f.held[id] = !f.held[id]; f.held[id] {
		require.NoError(t, f.rows.SetHold(context.Background(), id, "people"))
	} else {
		require.NoError(t, f.rows.ClearHold(context.Background(), id))
	}
}

// advance lets time go by, in which live holders renew.
func (f *fleet) advance(d time.Duration) {
	for d > 0 {
		step := min(d, duration/3)
		f.pass(step)
		d -= step

		for id, held := range f.holders {
			require.NoError(f, f.renew(id, held.Token()), "the lease of a live holder was taken")
		}
	}
}

func (f *fleet) check(t *rapid.T) {
	for id, held := range f.holders {
		rec := f.get(t, id)
		require.Equal(t, held.Token().Owner, rec.Lease.Owner, "the lease of a live holder was ended")
		require.Equal(t, held.Token().Fence, rec.Fence)
	}
}

// calmDown ends all holds and deaths. Within the longest wait for a reminder and
// two looks more, every tenant that waits must have got a message.
func (f *fleet) calmDown() {
	for id, held := range f.held {
		if held {
			require.NoError(f, f.rows.ClearHold(context.Background(), id))
		}
	}

	f.outbox.take()

	for began := f.now; f.now.Sub(began) <= 5*age+5*interval; f.advance(interval) {
		f.sweepers[0].Sweep(context.Background())
		f.sweepers[1].Sweep(context.Background())
		f.check(f.T)
	}

	got := f.outbox.take()

	for _, id := range tenants() {
		rec := f.get(f, id)
		_, alive := f.holders[id]

		if rec.Exists() && rec.NeedsWork() && !alive {
			require.Contains(f, got, id)
			require.Empty(f, rec.Lease.Owner, "a message would be handed over to the dead")
		}

		if !alive {
			require.Empty(f, rec.Lease.Owner, "the dead hold nothing")
		} else {
			require.NotContains(f, got, id, "somebody works on it")
		}
	}
}
