package stategate_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/stategate"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	checkpointKey = ".pulumi/stacks/lessor/acme.json"
	lockPrefix    = ".pulumi/locks/organization/lessor/acme/"
)

const emptied = `{"version":3,"checkpoint":{"stack":"organization/lessor/acme","latest":{` +
	`"manifest":{"time":"2026-01-02T03:04:05Z","magic":"","version":""},"secrets_providers":{"type":"cloud"}}}}`

func TestAStackIsCreatedWrittenAndReadAgain(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(1, true))

	status, _ := do(t, http.MethodGet, a.base+"/"+checkpointKey, "")
	require.Equal(t, http.StatusNotFound, status)
	require.False(t, a.Exists())

	a.put(t, content("one"))
	a.put(t, content("two"))
	require.True(t, a.Exists())
	require.JSONEq(t, content("two"), a.get(t))
	require.Equal(t, "x", a.State().Resources[0].ID)
	require.Equal(t, []stategate.Stamp{{Fence: 1, Operation: "OP1", Write: 1}, {Fence: 1, Operation: "OP1", Write: 2}}, store.stamps(checkpointKey))
	require.True(t, a.close(t))
	require.Equal(t, []string{".pulumi/meta.yaml", checkpointKey}, store.keys(), "no lock is left")

	b := open(t, store, config(2, true))
	require.Equal(t, content("two"), b.get(t), "the stamp is not the CLI's business")
	require.Len(t, store.stamps(checkpointKey), 2, "nothing is fenced after a clean predecessor")
}

func TestTheStateHasTheProperties(t *testing.T) {
	t.Parallel()

	written := func(endpoint string) string {
		return strings.Replace(content("one"), `"id":"x"`, `"id":"x","outputs":{"endpoint":"`+endpoint+`"}`, 1)
	}
	store := newMemory()
	a := open(t, store, config(1, true))

	for _, endpoint := range []string{"a", "b", "b", "c"} {
		a.put(t, written(endpoint))
	}

	require.Equal(t, map[string]any{"endpoint": "c"}, a.State().Resources[0].Outputs)

	a.put(t, written("d"))
	require.Equal(t, map[string]any{"endpoint": "d"}, a.State().Resources[0].Outputs)
	a.close(t)

	// What is read when the gate opens and what the fencing write puts back.
	for fence := range int64(2) {
		b := open(t, store, config(fence+2, fence == 0))
		require.Equal(t, map[string]any{"endpoint": "d"}, b.State().Resources[0].Outputs)
		b.close(t)
	}
}

func TestAStateThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(1, true))
	a.put(t, content("one"))
	a.putRefused(t, strings.Replace(content("two"), `"id":"x"`, `"id":"x","inputs":["no object"]`, 1))
	require.Equal(t, "x", a.State().Resources[0].ID)
}

func TestAnOlderOperationIsShutOut(t *testing.T) {
	t.Parallel()

	cases := map[string]struct{ first, second func(t *testing.T, a *opened) }{
		"that created the stack":      {second: nil},
		"that has written":            {first: func(t *testing.T, a *opened) { t.Helper(); a.put(t, content("one")) }},
		"that has written many times": {first: func(t *testing.T, a *opened) { t.Helper(); a.put(t, content("one")); a.put(t, content("one")) }},
	}

	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			store := newMemory()
			a := open(t, store, config(1, true))

			if test.first != nil {
				test.first(t, a)
			}

			b := open(t, store, config(2, false))
			before := len(store.stamps(checkpointKey))

			failure := a.putRefused(t, content("late"))
			require.Equal(t, tenant.KindLeaseLost, failure.Kind)
			require.Contains(t, failure.Message, "fence 2")
			require.Len(t, store.stamps(checkpointKey), before, "nothing was written")

			b.put(t, content("two"))
			require.JSONEq(t, content("two"), b.get(t))
		})
	}
}

func TestAWriteUnderWayLandsBeforeTheFenceOrNever(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(1, true))
	a.put(t, content("one"))

	sent, release := make(chan struct{}), make(chan struct{})
	store.before = func(key string) error {
		if key == checkpointKey {
			store.before = nil

			close(sent)
			<-release
		}

		return nil
	}

	ended := make(chan struct{})

	go func() {
		defer close(ended)

		_, _, _ = try(t, http.MethodPut, a.base+"/"+checkpointKey, content("late"))
	}()

	<-sent

	b := open(t, store, config(2, false))
	require.JSONEq(t, content("one"), b.get(t))

	close(release)
	<-a.refused
	require.Equal(t, tenant.KindLeaseLost, failureOf(t, a.Err()).Kind)
	a.close(t)
	<-ended
	require.JSONEq(t, content("one"), b.get(t))
}

func TestFencingTakesOverWhatLandsMeanwhile(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(1, true))
	a.put(t, content("one"))

	// The older operation writes between the read and the fencing write.
	store.before = func(key string) error {
		if key == checkpointKey {
			store.before = nil

			a.put(t, content("two"))
		}

		return nil
	}

	b := open(t, store, config(2, false))
	require.JSONEq(t, content("two"), b.get(t))
	require.Equal(t, tenant.KindLeaseLost, a.putRefused(t, content("late")).Kind)
}

func TestNothingIsWrittenWithoutALease(t *testing.T) {
	t.Parallel()

	store := newMemory()
	left := time.Hour
	cfg := config(1, true)
	cfg.Left = func() time.Duration { return left }

	a := open(t, store, cfg)
	a.put(t, content("one"))

	left = 0

	require.Equal(t, tenant.KindLeaseLost, a.putRefused(t, content("late")).Kind)
	require.Len(t, store.stamps(checkpointKey), 1)
}

func TestAWriteWhoseAnswerWasLostFindsItself(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(1, true))

	store.after = func(string) error {
		store.after = nil

		return errAnswerLost
	}

	a.put(t, content("one"))
	a.put(t, content("two"))
	require.JSONEq(t, content("two"), a.get(t))
	require.True(t, a.close(t), "every write was answered in the end")
}

func TestAWriteThatIsNeverAnsweredIsNotClean(t *testing.T) {
	t.Parallel()

	store := newMemory()
	left := time.Hour
	cfg := config(1, true)
	cfg.Left = func() time.Duration { return left }

	a := open(t, store, cfg)

	store.before = func(string) error {
		left = 0

		return errAnswerLost
	}

	ended := make(chan struct{})

	go func() {
		defer close(ended)

		_, _, _ = try(t, http.MethodPut, a.base+"/"+checkpointKey, content("one"))
	}()

	<-a.refused
	require.Equal(t, tenant.KindLeaseLost, failureOf(t, a.Err()).Kind)

	store.before = nil

	require.False(t, a.close(t))
	<-ended
}

func TestSomebodyElsesWriteIsAConflict(t *testing.T) {
	t.Parallel()

	store := newMemory()
	a := open(t, store, config(3, true))
	a.put(t, content("one"))

	_, err := store.put(checkpointKey, []byte(content("by hand")), stategate.Stamp{}, stategate.Condition{})
	require.NoError(t, err)

	failure := a.putRefused(t, content("two"))
	require.Equal(t, tenant.KindConflict, failure.Kind)
	require.Len(t, store.stamps(checkpointKey), 2)

	b := open(t, store, config(4, false))
	require.JSONEq(t, content("by hand"), b.get(t))
}

func TestANewerOwnerEndsAnOperationThatBegins(t *testing.T) {
	t.Parallel()

	store := newMemory()
	_, err := store.put(checkpointKey, []byte(content("newer")), stategate.Stamp{Fence: 5, Operation: "OP5"}, stategate.Condition{})
	require.NoError(t, err)

	_, err = stategate.Open(t.Context(), store, config(4, false))
	require.Equal(t, tenant.KindLeaseLost, failureOf(t, err).Kind)
	require.Equal(t, []string{checkpointKey}, store.keys(), "no lock is left")
}
