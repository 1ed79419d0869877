package stategate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/engine/stategate"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const historyKey = ".pulumi/history/lessor/acme/acme-1.history.json"

// removed is a bucket with what the removal of a stack left, and with another
// stack.
func removed(t *testing.T, retain bool) (store *memory, neighbours []string) {
	t.Helper()

	store = newMemory()
	neighbours = []string{".pulumi/history/lessor/acme2/acme2-1.history.json", ".pulumi/meta.yaml", checkpointKey + ".json"}

	for _, key := range append(neighbours, historyKey, checkpointKey+".bak") {
		_, err := store.put(key, []byte("x"), stategate.Stamp{}, stategate.Condition{})
		require.NoError(t, err)
	}

	cfg := config(1, true)
	cfg.Retain = retain

	a := open(t, store, cfg)
	a.put(t, content("one"))
	a.put(t, emptied)
	require.NoError(t, a.Remove(t.Context()))
	require.True(t, a.close(t))

	return store, neighbours
}

func TestWhatIsRetained(t *testing.T) {
	t.Parallel()

	store, _ := removed(t, true)
	require.Contains(t, store.keys(), historyKey)
	require.Contains(t, store.keys(), checkpointKey+".bak")
	require.Len(t, store.stamps(checkpointKey), 3)

	latest, err := store.Get(t.Context(), checkpointKey, "")
	require.NoError(t, err)
	require.JSONEq(t, string(checkpoint.Blank("lessor", "acme")), string(latest.Body))

	store, _ = removed(t, false)
	require.NotContains(t, store.keys(), historyKey)
	require.Len(t, store.stamps(checkpointKey), 1)
}

// Nothing is left of a stack that is purged, no version of anything, and the next
// one begins as if there had been none.
func TestPurge(t *testing.T) {
	t.Parallel()

	for _, retain := range []bool{false, true} {
		store, neighbours := removed(t, retain)

		// A purge that was cut short is made again, by an owner that must fence.
		for fence, clean := range []bool{true, false} {
			a := open(t, store, config(int64(fence+2), clean))
			require.NoError(t, a.Purge(t.Context()))
			require.False(t, a.Exists())
			require.True(t, a.close(t))

			versions, err := store.Versions(t.Context(), "")
			require.NoError(t, err)

			for _, v := range versions {
				require.Contains(t, neighbours, v.Key)
			}

			require.Equal(t, neighbours, store.keys())
		}

		b := open(t, store, config(4, true))
		require.False(t, b.Exists())
		b.put(t, content("again"))
		require.True(t, b.Exists())
	}
}

// A stack that is in use is not purged, whatever the row says.
func TestAStackInUseIsNotPurged(t *testing.T) {
	t.Parallel()

	inUse := func(t *testing.T, a *opened) {
		t.Helper()

		require.Equal(t, tenant.KindConflict, failureOf(t, a.Purge(t.Context())).Kind)
	}

	t.Run("opened again", func(t *testing.T) {
		t.Parallel()

		for _, body := range []string{content("again"), emptied} {
			store, _ := removed(t, true)
			a := open(t, store, config(2, true))
			a.put(t, body)
			inUse(t, a)
			require.Contains(t, store.keys(), historyKey)
			require.JSONEq(t, body, a.get(t))
		}
	})

	t.Run("by a successor", func(t *testing.T) {
		t.Parallel()

		store, _ := removed(t, true)
		late := open(t, store, config(2, true))
		b := open(t, store, config(3, false))
		b.put(t, content("again"))
		inUse(t, late)
		require.JSONEq(t, content("again"), b.get(t))
		require.Contains(t, store.keys(), historyKey)
	})

	t.Run("without a lease", func(t *testing.T) {
		t.Parallel()

		store, _ := removed(t, true)
		cfg := config(2, true)
		cfg.Left = func() time.Duration { return 0 }

		require.Equal(t, tenant.KindLeaseLost, failureOf(t, open(t, store, cfg).Purge(t.Context())).Kind)
		require.Contains(t, store.keys(), historyKey)
	})
}

// paused has something happen between the list and the first deletion.
type paused struct {
	*memory

	meanwhile func()
	fails     error
}

func (p *paused) DeleteVersions(ctx context.Context, gone []stategate.Version) error {
	if p.meanwhile != nil {
		p.meanwhile()
		p.meanwhile = nil
	}

	// The newest version goes last and alone, so that none before it can become
	// the state again.
	if len(gone) == 1 && gone[0].Key == checkpointKey && p.fails != nil {
		return p.fails
	}

	return p.memory.DeleteVersions(ctx, gone)
}

// An owner that lost its lease in the middle, and does not know, takes nothing of
// what its successor wrote.
func TestALatePurgeTakesNothingOfASuccessor(t *testing.T) {
	t.Parallel()

	store, _ := removed(t, true)
	slow := &paused{memory: store}
	late := open(t, slow, config(2, true))

	slow.meanwhile = func() {
		b := open(t, store, config(3, false))
		b.put(t, content("again"))
		require.True(t, b.close(t))
	}

	require.NoError(t, late.Purge(t.Context()))

	object, err := store.Get(t.Context(), checkpointKey, "")
	require.NoError(t, err)
	require.JSONEq(t, content("again"), strings.TrimSpace(string(object.Body)))
}

func TestAPurgeThatStopsLeavesNoOlderState(t *testing.T) {
	t.Parallel()

	store, _ := removed(t, true)
	a := open(t, &paused{memory: store, fails: errors.New("connection reset by peer")}, config(2, true))
	require.Equal(t, tenant.KindTransient, failureOf(t, a.Purge(t.Context())).Kind)

	object, err := store.Get(t.Context(), checkpointKey, "")
	require.NoError(t, err)
	require.JSONEq(t, string(checkpoint.Blank("lessor", "acme")), string(object.Body))
	require.Len(t, store.stamps(checkpointKey), 1)
}

// A bucket without versions cannot delete exactly one of them, so it keeps the
// empty checkpoint.
func TestABucketWithoutVersionsKeepsTheCheckpoint(t *testing.T) {
	t.Parallel()

	store, _ := removed(t, false)
	a := open(t, unversioned{store}, config(2, true))
	require.NoError(t, a.Purge(t.Context()))
	require.Contains(t, store.keys(), checkpointKey)
}

type unversioned struct{ *memory }

func (u unversioned) Versions(ctx context.Context, prefix string) ([]stategate.Version, error) {
	versions, err := u.memory.Versions(ctx, prefix)
	for i := range versions {
		versions[i].ID = "null"
	}

	return versions, err
}

func (u unversioned) DeleteVersions(_ context.Context, gone []stategate.Version) error {
	u.mu.Lock()
	defer u.mu.Unlock()

	for _, v := range gone {
		delete(u.objects, v.Key)
	}

	return nil
}
