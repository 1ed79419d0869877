package pool_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lessor-dev/lessor/pkg/catalog"
	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/pool"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	acme   = tenant.ID("acme")
	shared = tenant.ID("pool-free-eu-west-1")
	region = "eu-west-1"
)

var errOutage = errors.New("the endpoint cannot be reached")

const tiers = `version: 1
tiers:
  free:
    program: any
    pool: pool-free
    poolParameters: {sharedEndpoint: endpoint}
    parameters: {prefix: x}
  pool-free: {program: any}
  lone: {program: any}
`

type anything struct{}

func (anything) Check(tenant.Parameters) error { return nil }

// table is the rows of a fleet.
type table struct {
	mu   sync.Mutex
	rows map[tenant.ID]tenant.Record
	fail error
}

func (w *table) Get(_ context.Context, id tenant.ID) (tenant.Record, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	rec := w.rows[id]
	rec.ID = id

	return rec, w.fail
}

func (w *table) Accept(_ context.Context, e tenant.Event) (tenant.Record, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	rec := w.rows[e.Tenant]
	rec.ID = e.Tenant

	desired, changed := tenant.Apply(rec.Desired, e)
	if changed {
		rec.Desired = desired
		rec.DesiredSeq++
		rec.CreatedAt = time.Now()
		w.rows[e.Tenant] = rec
	}

	return rec, changed, w.fail
}

func (w *table) List(_ context.Context, yield func(tenant.Record) bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()

	// In an order that nobody would choose.
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(w.rows))) {
		if !yield(w.rows[id]) {
			break
		}
	}

	return w.fail
}

// Survey leaves out what the registry's does.
func (w *table) Survey(ctx context.Context, yield func(tenant.Record) bool) error {
	return w.List(ctx, func(rec tenant.Record) bool {
		rec.Applied, rec.Last, rec.Outputs, rec.Change, rec.Progress = nil, nil, nil, nil, nil

		return yield(rec)
	})
}

// world is a fleet with its queue.
type world struct {
	*pool.Pools

	t     *testing.T
	table *table
	mu    sync.Mutex
	sent  []tenant.Event
	fail  error
	now   time.Time
}

// Send implements pool.Queue. A fleet that orders by sequence must understand the
// message as well.
func (w *world) Send(_ context.Context, body []byte) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	for _, order := range []event.Order{event.OrderSequence, event.OrderTime} {
		e, err := event.NewDecoder(order, func() time.Time { return w.now }).Decode(body)
		require.NoError(w.t, err)

		if order == event.OrderTime {
			w.sent = append(w.sent, e)
		}
	}

	return "id", w.fail
}

// take returns what was sent since the last call.
func (w *world) take() []tenant.Event {
	w.mu.Lock()
	defer w.mu.Unlock()

	sent := w.sent
	w.sent = nil

	return sent
}

func newWorld(t *testing.T, rows ...tenant.Record) *world {
	t.Helper()

	c, err := catalog.Parse([]byte(tiers), map[string]catalog.Checker{"any": anything{}}, nil)
	require.NoError(t, err)

	w := &world{t: t, table: &table{rows: map[tenant.ID]tenant.Record{}}, now: time.Now()}
	w.Pools = pool.New(pool.Parts{
		Rows: w.table, Queue: w, Catalog: c, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return w.now },
	})

	for _, rec := range rows {
		w.table.rows[rec.ID] = rec
	}

	return w
}

// resolve asks for the blueprint that a row's desired state has.
func (w *world) resolve(rec tenant.Record) (tenant.Blueprint, error) {
	w.t.Helper()

	resolver, err := w.For(w.t.Context(), rec)
	require.NoError(w.t, err)

	return resolver.Resolve(rec.Desired.Spec())
}

func at(n int64) tenant.Version { return tenant.Version{N: n, Tie: "tie"} }

// wanted is a row that is desired and not made yet.
func wanted(id tenant.ID, tier string) tenant.Record {
	desired, _ := tenant.Apply(tenant.Desired{}, tenant.Event{Type: tenant.EventCreated, Tenant: id, Tier: tier, Region: region, Version: at(5)})

	return tenant.Record{ID: id, Desired: desired, DesiredSeq: 1, CreatedAt: time.Now()}
}

// made is a row whose desired state is applied.
func made(id tenant.ID, tier string) tenant.Record {
	rec := wanted(id, tier)
	rec.AppliedSeq, rec.Fence = 1, 1
	rec.Applied = &tenant.Applied{Spec: rec.Desired.Spec(), Generation: 1}
	rec.Last = &tenant.Outcome{OperationID: "01OP", StartedAt: time.Now().UTC()}

	switch tier {
	case "free":
		rec.Applied.Blueprint.Pool = shared
	case "pool-free":
		rec.Outputs = map[string]json.RawMessage{"endpoint": json.RawMessage(`"db:5432"`)}
	}

	return rec
}

// deleted is a row whose deletion is desired.
func deleted(rec tenant.Record) tenant.Record {
	rec.Desired, _ = tenant.Apply(rec.Desired, tenant.Event{Type: tenant.EventDeleted, Tenant: rec.ID, Version: at(9)})
	rec.DesiredSeq++

	return rec
}

// gone is a row whose deletion is done.
func gone(rec tenant.Record) tenant.Record {
	rec = deleted(rec)
	rec.AppliedSeq = rec.DesiredSeq
	rec.Applied = &tenant.Applied{Spec: rec.Desired.Spec(), Generation: 1}
	rec.Outputs = nil

	return rec
}

// failed is a row that was given up on.
func failed(rec tenant.Record, message string) tenant.Record {
	rec.FailedSeq, rec.Fence = rec.DesiredSeq, 1
	rec.Last = &tenant.Outcome{OperationID: "01OP", Failure: &tenant.Failure{Kind: tenant.KindDenied, Message: message}}

	return rec
}

// with changes a row.
func with(rec tenant.Record, change func(*tenant.Record)) tenant.Record {
	change(&rec)

	return rec
}
