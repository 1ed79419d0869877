package registry_test

import (
	"encoding/json"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/emulator/emulatortest"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestMain(m *testing.M) { os.Exit(emulatortest.Main(m)) }

const acme tenant.ID = "acme"

// start is a whole millisecond: rows keep no more.
func start() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 123e6, time.UTC) }

// world is a registry on a table of its own.
type world struct {
	*registry.Registry

	api    registrytest.API
	table  string
	leases *lease.Leases
	now    time.Time
}

func newWorld(t *testing.T, open registrytest.Open) *world {
	t.Helper()

	w := &world{now: start()}
	w.api, w.table = open(t)
	w.Registry = registry.New(w.api, registry.Config{Table: w.table}, func() time.Time { return w.now })
	w.leases = lease.New(w.api, w.table, lease.Config{Duration: time.Minute, Margin: 10 * time.Second})

	return w
}

func version(n int) tenant.Version { return tenant.Version{N: int64(n), Tie: "tie"} }

func created() tenant.Event {
	return tenant.Event{
		ID: "e1", Type: tenant.EventCreated, Tenant: acme, Version: version(1), Tier: "silo", Region: "eu-west-1",
		Parameters: tenant.Parameters{"size": json.RawMessage(`"small"`)},
	}
}

func updated(n int, value string) tenant.Event {
	return tenant.Event{
		ID: "e" + strconv.Itoa(n), Type: tenant.EventUpdated, Tenant: acme, Version: version(n),
		Parameters: tenant.Parameters{"size": json.RawMessage(value)},
	}
}

func (w *world) accept(t *testing.T, e tenant.Event) tenant.Record {
	t.Helper()

	rec, changed, err := w.Accept(t.Context(), e)
	require.NoError(t, err)
	require.True(t, changed)

	return rec
}

func (w *world) get(t *testing.T) tenant.Record {
	t.Helper()

	rec, err := w.Get(t.Context(), acme)
	require.NoError(t, err)

	return rec
}

// acquire takes the lease of acme, whose row exists.
func (w *world) acquire(t *testing.T) registry.Token {
	t.Helper()

	held, err := w.leases.Acquire(t.Context(), w.get(t), "message-1")
	require.NoError(t, err)

	return held.Token()
}

// working is a tenant that somebody works on.
func working(t *testing.T, open registrytest.Open) (*world, registry.Token) {
	t.Helper()

	w := newWorld(t, open)
	w.accept(t, created())

	token := w.acquire(t)

	return w, token
}

func operation(id string) tenant.Outcome {
	return tenant.Outcome{
		OperationID: id, Steps: []string{"up"}, Fence: 1, Sequence: 1, StartedAt: start(), Duration: 3 * time.Second,
		Changes: map[string]int{"create": 2}, Resources: 2,
	}
}

func success(target int64, id string) registry.Settlement {
	return registry.Settlement{
		Target:  target,
		Round:   int(target),
		Applied: &tenant.Applied{Spec: tenant.Spec{Phase: tenant.PhaseActive, Tier: "silo"}, Generation: 1, At: start()},
		Outputs: map[string]json.RawMessage{"endpoint": json.RawMessage(`"https://acme.example/?a=1&b=<2>"`)},
		Stack:   tenant.Stack{Project: "lessor", Name: "acme", Shard: "bucket-1", Created: true},
		Outcome: operation(id),
		Clean:   true,
	}
}

func failure(target int64, id string) registry.Settlement {
	s := success(target, id)
	s.Applied, s.Outputs = nil, nil
	s.Attempts = 3
	s.NotBefore = start().Add(time.Minute)
	s.Outcome.Failure = &tenant.Failure{Kind: tenant.KindTransient, Message: "no luck"}

	return s
}

func gaveUp(target int64, id string) registry.Settlement {
	s := failure(target, id)
	s.GaveUp = true

	return s
}

// requireFree asserts that nothing of a lease is left in the row.
func requireFree(t *testing.T, rec tenant.Record) {
	t.Helper()
	require.Equal(t, tenant.Lease{}, rec.Lease)
}
