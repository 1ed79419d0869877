package stategate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/stategate"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestLocks(t *testing.T) {
	t.Parallel()

	person := `{"pid":7,"username":"ann","hostname":"desk","timestamp":"2026-01-02T03:04:05Z"}`

	cases := map[string]struct {
		lock, content string
		kind          tenant.Kind
		message       string
		repaired      bool
	}{
		"of a person":            {lock: "5f.json", content: person, kind: tenant.KindLocked, message: `by "ann" at "desk" (pid 7) since 2026-01-02T03:04:05Z`},
		"of whom nobody knows":   {lock: "5f.json", content: "{", kind: tenant.KindLocked, message: "by somebody"},
		"that looks like ours":   {lock: "lessor-x-1.json", content: person, kind: tenant.KindLocked, message: "ann"},
		"of a dead operation":    {lock: "lessor-2-OP2.json", content: person, repaired: true},
		"of this owner's former": {lock: "lessor-3-OP2.json", content: person, repaired: true},
		"of a newer owner":       {lock: "lessor-4-OP4.json", content: person, kind: tenant.KindLeaseLost, message: "fence 4"},
	}

	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			store := newMemory()
			_, err := store.put(lockPrefix+test.lock, []byte(test.content), stategate.Stamp{}, stategate.Condition{})
			require.NoError(t, err)

			if test.kind == "" {
				a := open(t, store, config(3, true))
				require.Equal(t, test.repaired, len(a.Repairs()) == 1)
				require.Equal(t, []string{lockPrefix + "lessor-3-OP3.json", ".pulumi/meta.yaml"}, store.keys())
				require.True(t, a.close(t))
				require.Equal(t, []string{".pulumi/meta.yaml"}, store.keys())

				return
			}

			_, err = stategate.Open(t.Context(), store, config(3, true))
			failure := failureOf(t, err)
			require.Equal(t, test.kind, failure.Kind)
			require.Contains(t, failure.Message, test.message)
			require.Equal(t, []string{lockPrefix + test.lock}, store.keys(), "no lock but that one is left")
		})
	}
}

// TestAPersonWhoComesAtTheSameMoment plays the CLI that writes its lock between
// our look and our own.
func TestAPersonWhoComesAtTheSameMoment(t *testing.T) {
	t.Parallel()

	store := newMemory()
	store.before = func(string) error {
		store.before = nil

		_, err := store.put(lockPrefix+"5f.json", []byte("{}"), stategate.Stamp{}, stategate.Condition{})

		return err
	}

	_, err := stategate.Open(t.Context(), store, config(1, true))
	require.Equal(t, tenant.KindLocked, failureOf(t, err).Kind)
	require.Equal(t, []string{lockPrefix + "5f.json"}, store.keys())
}

func TestAStateThatIsLostIsRestored(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		harm  func(t *testing.T, store *memory)
		known bool
	}{
		"removed": {known: true, harm: func(t *testing.T, s *memory) { t.Helper(); require.NoError(t, s.Delete(t.Context(), checkpointKey)) }},
		"cut off": {harm: func(t *testing.T, s *memory) { t.Helper(); write(t, s, content("two")[:100]) }},
		"cut off twice": {harm: func(t *testing.T, s *memory) {
			t.Helper()
			write(t, s, content("two")[:100])
			write(t, s, "")
		}},
	}

	for name, test := range cases {
		for _, clean := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()

				store := newMemory()
				write(t, store, content("older"))
				write(t, store, content("one"))
				test.harm(t, store)

				cfg := config(2, clean)
				cfg.Known = test.known

				a := open(t, store, cfg)
				require.JSONEq(t, content("one"), a.get(t))
				require.Len(t, a.Repairs(), 1)
				require.Equal(t, tenant.RepairRestored, a.Repairs()[0].Action)

				a.put(t, content("two"))
				a.close(t)

				require.JSONEq(t, content("two"), open(t, store, config(3, true)).get(t))
			})
		}
	}
}

func write(t *testing.T, s *memory, body string) {
	t.Helper()

	_, err := s.put(checkpointKey, []byte(body), stategate.Stamp{}, stategate.Condition{})
	require.NoError(t, err)
}

func TestAStateThatCannotBeRestored(t *testing.T) {
	t.Parallel()

	store := newMemory()
	cfg := config(2, false)
	cfg.Known = true

	_, err := stategate.Open(t.Context(), store, cfg)
	failure := failureOf(t, err)
	require.Equal(t, tenant.KindIntegrity, failure.Kind)
	require.Contains(t, failure.Message, "it was missing")
	require.Empty(t, store.keys(), "nothing is put in its place")
}

func TestADamagedStateIsRestoredWhenItCannotBeMended(t *testing.T) {
	t.Parallel()

	damaged := `{"version":3,"checkpoint":{"stack":"organization/lessor/acme","latest":{` +
		`"manifest":{"time":"2026-01-02T03:04:05Z","magic":"","version":""},"secrets_providers":{"type":"cloud"},"resources":[` +
		`{"urn":"urn:pulumi:acme::lessor::a:b:C::x","custom":true,"id":"x","type":"a:b:C","parent":"urn:pulumi:acme::lessor::a:b:C::gone"}]}}}`

	store := newMemory()
	write(t, store, content("one"))
	write(t, store, damaged)

	a := open(t, store, config(2, true))
	require.ErrorContains(t, a.Damage(), "gone")
	require.JSONEq(t, damaged, a.get(t), "the CLI is to mend it")

	require.NoError(t, a.Restore(t.Context()))
	require.NoError(t, a.Damage())
	require.JSONEq(t, content("one"), a.get(t))
	require.Equal(t, tenant.RepairRestored, a.Repairs()[0].Action)
	require.Equal(t, int64(2), store.stamps(checkpointKey)[2].Fence)
}

func TestRemoveLeavesAnEmptyCheckpoint(t *testing.T) {
	t.Parallel()

	store := newMemory()
	neighbours := []string{checkpointKey + ".json", ".pulumi/history/lessor/acme2/acme2-1.history.json"}

	for _, key := range append(neighbours, ".pulumi/history/lessor/acme/acme-1.history.json", checkpointKey+".bak",
		".pulumi/stacks/lessor/acme.pulumi-tags", ".pulumi/backups/lessor/acme/acme.1.json") {
		_, err := store.put(key, []byte("x"), stategate.Stamp{}, stategate.Condition{})
		require.NoError(t, err)
	}

	a := open(t, store, config(1, true))
	a.put(t, content("one"))

	failure := failureOf(t, a.Remove(t.Context()))
	require.Equal(t, tenant.KindIntegrity, failure.Kind)
	require.JSONEq(t, content("one"), a.get(t))

	a.put(t, emptied)
	require.True(t, a.Exists())
	require.NoError(t, a.Remove(t.Context()))
	require.False(t, a.Exists())
	require.NoError(t, a.Remove(t.Context()), "again")
	require.True(t, a.close(t))

	require.Equal(t, []string{neighbours[1], ".pulumi/meta.yaml", checkpointKey, neighbours[0]}, store.keys())
	require.Equal(t, []stategate.Stamp{{Fence: 1, Operation: "OP1", Write: 3}}, store.stamps(checkpointKey), "older versions are gone")

	// The fence stands: a first write of an older operation that comes now
	// finds an object.
	_, err := store.Put(t.Context(), checkpointKey, []byte(content("late")), stategate.Stamp{}, stategate.Condition{Absent: true})
	require.ErrorIs(t, err, stategate.ErrPrecondition)

	b := open(t, store, config(2, true))
	require.False(t, b.Exists(), "a second life begins with stack init")
	b.put(t, content("again"))
	require.True(t, b.Exists())
}

// flaky is a bucket that fails the first deletions.
type flaky struct {
	*memory

	failures int
	err      error
}

func (f *flaky) Delete(ctx context.Context, key string) error {
	if f.failures > 0 {
		f.failures--

		return f.err
	}

	return f.memory.Delete(ctx, key)
}

// A lock that could not be removed at once is removed a bit later: a tenant that
// is settled has no successor who would.
func TestTheLockIsRemovedInSpiteOfTrouble(t *testing.T) {
	t.Parallel()

	store := &flaky{memory: newMemory(), failures: 2, err: errors.New("connection reset by peer")}
	a := open(t, store, config(1, true))
	a.put(t, content("one"))
	require.True(t, a.close(t))
	require.Zero(t, store.failures)
	require.Empty(t, slices.DeleteFunc(store.keys(), func(key string) bool { return !strings.HasPrefix(key, lockPrefix) }))
}

// A lock whose answer was lost may be there.
func TestALockThatWasTakenWithoutAnAnswer(t *testing.T) {
	t.Parallel()

	store := newMemory()
	store.after = func(string) error { return errAnswerLost }

	_, err := stategate.Open(t.Context(), store, config(1, true))
	require.Equal(t, tenant.KindTransient, failureOf(t, err).Kind)
	require.Empty(t, store.keys())
}

// Who may not remove it does not try for ever.
func TestALockThatMayNotBeRemoved(t *testing.T) {
	t.Parallel()

	store := &flaky{memory: newMemory(), failures: 1, err: stategate.ErrDenied}
	gate, err := stategate.Open(t.Context(), store, config(1, true))
	require.NoError(t, err)

	_, err = gate.Close(t.Context())
	require.ErrorIs(t, err, stategate.ErrDenied)
}

func TestRewrite(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(1, true))
	a.put(t, content("one"))

	require.NoError(t, a.Rewrite(t.Context(), func(body []byte) ([]byte, error) {
		require.JSONEq(t, content("one"), string(body))

		return []byte(content("two")), nil
	}))
	require.JSONEq(t, content("two"), a.get(t))
	require.Equal(t, int64(2), store.stamps(checkpointKey)[1].Write)
}
