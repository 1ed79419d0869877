package reconcile_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestMain(m *testing.M) {
	// A dependency of the engine starts it with the process.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
}

const (
	acme        tenant.ID = "acme"
	tableName             = "tenants"
	duration              = time.Minute
	margin                = 10 * time.Second
	backoff               = 10 * time.Second
	attempts              = 3
	bake                  = 24 * time.Hour
	hookTimeout           = time.Hour
)

var errOutage = errors.New("the endpoint cannot be reached")

// world is a reconciler over a real registry and real leases, on a fake table
// and with a scripted engine.
type world struct {
	*reconcile.Reconciler

	table     *registrytest.Table
	rows      *registry.Registry
	leases    *lease.Leases
	catalog   catalog
	engine    *fakeEngine
	hook      *fakeHook
	slots     *fakeSlots
	gate      *fakeGate
	publisher *fakePublisher
	observer  *fakeObserver
	interrupt context.CancelCauseFunc
}

// newWorld is for use in a bubble, with a clock of its own, in which hours pass
// in an instant and a goroutine that blocks for ever is a failure.
func newWorld() *world {
	table := registrytest.New(tableName)
	rows := registry.New(table, registry.Config{Table: tableName}, nil)
	interrupted, interrupt := context.WithCancelCause(context.Background())

	w := &world{
		table: table, rows: rows, leases: newLeases(table), engine: &fakeEngine{}, hook: &fakeHook{}, slots: &fakeSlots{}, gate: &fakeGate{},
		publisher: &fakePublisher{}, observer: &fakeObserver{}, interrupt: interrupt,
		catalog: catalog{
			"silo": {Program: "silo", OnCreate: tenant.PolicyRollback, OnUpdate: tenant.PolicyRevert, MaxAttempts: attempts},
			"keep": {Program: "silo", OnCreate: tenant.PolicyKeep, OnUpdate: tenant.PolicyKeep, MaxAttempts: attempts},
			"safe": {Program: "silo", Protect: true, FinalSnapshot: true, MaxAttempts: attempts},
			"pool": {Program: "pool"},
			"moves": {
				Program: "silo", Protect: true, OnUpdate: tenant.PolicyRevert, MaxAttempts: attempts, Bake: bake,
				Hook: &tenant.Hook{URL: "https://mover.example.com", Timeout: hookTimeout},
			},
		},
	}
	w.Reconciler = &reconcile.Reconciler{
		Config: reconcile.Config{
			Project: "lessor", Buckets: []string{"shard-0"}, Build: "v1.2.3", OperationTimeout: time.Hour,
			Backoff: reconcile.Backoff{Min: backoff, Max: time.Hour},
		},
		Rows: rows, Ledger: rows, Leases: w.leases, Catalog: w.catalog, Engine: w.engine, Slots: w.slots, Gate: w.gate,
		Hook: w.hook, Publisher: w.publisher, Observer: w.observer, Interrupt: interrupted,
	}

	return w
}

// newLeases are those of one worker.
func newLeases(table *registrytest.Table) *lease.Leases {
	return lease.New(table, tableName, lease.Config{Duration: duration, Margin: margin})
}

// deliver does what a worker does with the message of an event.
func (w *world) deliver(t *testing.T, id string, e tenant.Event) reconcile.Outcome {
	t.Helper()

	outcome, err := w.settle(t, &message{id: id}, w.accept(t, e))
	require.NoError(t, err)

	return outcome
}

func (w *world) settle(t *testing.T, m *message, rec tenant.Record) (reconcile.Outcome, error) {
	t.Helper()

	outcome, err := w.Settle(t.Context(), m, rec)
	require.Zero(t, w.slots.taken(), "every slot is given back")

	return outcome, err
}

func (w *world) accept(t *testing.T, e tenant.Event) tenant.Record {
	t.Helper()

	rec, _, err := w.rows.Accept(t.Context(), e)
	require.NoError(t, err)

	return rec
}

func (w *world) row(t *testing.T) tenant.Record {
	t.Helper()

	rec, err := w.rows.Get(t.Context(), acme)
	require.NoError(t, err)

	return rec
}

// handOver delivers while somebody else holds the slot.
func (w *world) handOver(t *testing.T, id string, e tenant.Event) reconcile.Outcome {
	t.Helper()

	outcome, err := w.Settle(t.Context(), &message{id: id}, w.accept(t, e))
	require.NoError(t, err)

	return outcome
}

// provision makes the tenant stand in a tier, and forgets how.
func (w *world) provision(t *testing.T, tier string) {
	t.Helper()

	e := created(1)
	e.Tier = tier
	require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonSettled}, w.deliver(t, "first", e))
	require.Equal(t, int64(1), w.row(t).AppliedSeq)

	w.engine.forget()
	w.publisher.forget()
}

// die leaves the lease of a worker that is no more.
func (w *world) die(t *testing.T, messageID string) {
	t.Helper()

	_, err := newLeases(w.table).Acquire(t.Context(), w.row(t), messageID)
	require.NoError(t, err)
}

func version(n int) tenant.Version { return tenant.Version{N: int64(n), Tie: "tie"} }

func event(n int, kind tenant.EventType) tenant.Event {
	return tenant.Event{ID: "e" + strconv.Itoa(n), Type: kind, Tenant: acme, Version: version(n)}
}

func created(n int) tenant.Event {
	e := event(n, tenant.EventCreated)
	e.Tier, e.Region = "silo", "eu-west-1"

	return e
}

func updated(n int, size string) tenant.Event {
	e := event(n, tenant.EventUpdated)
	e.Parameters = tenant.Parameters{"size": json.RawMessage(strconv.Quote(size))}

	return e
}

func moved(tier string) tenant.Event {
	e := event(2, tenant.EventTierChanged)
	e.Tier = tier

	return e
}

// free requires that nobody holds the lease.
func free(t *testing.T, rec tenant.Record) {
	t.Helper()

	require.Zero(t, rec.Lease)
}
