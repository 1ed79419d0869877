package lease_test

import (
	"context"
	"errors"
	"os"
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

const (
	acme     tenant.ID = "acme"
	duration           = time.Minute
	margin             = 10 * time.Second
)

var errLost = errors.New("connection reset")

func config() lease.Config { return lease.Config{Duration: duration, Margin: margin} }

// world is a table with the row of one tenant.
type world struct {
	api   registrytest.API
	table string
	rows  *registry.Registry
}

func newWorld(t require.TestingT, api registrytest.API, table string) *world {
	w := &world{api: api, table: table, rows: registry.New(api, registry.Config{Table: table}, time.Now)}

	_, _, err := w.rows.Accept(context.Background(), tenant.Event{
		ID: "e1", Type: tenant.EventCreated, Tenant: acme, Version: tenant.Version{N: 1}, Tier: "silo", Region: "eu-west-1",
	})
	require.NoError(t, err)

	return w
}

func (w *world) leases(opts ...lease.Option) *lease.Leases {
	return lease.New(w.api, w.table, config(), opts...)
}

func (w *world) get(t require.TestingT) tenant.Record {
	rec, err := w.rows.Get(context.Background(), acme)
	require.NoError(t, err)

	return rec
}

func (w *world) acquire(t require.TestingT, leases *lease.Leases) *lease.Lease {
	held, err := leases.Acquire(context.Background(), w.get(t), "message-1")
	require.NoError(t, err)

	return held
}

// clock is a monotonic clock that a test moves.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{now: time.Now()} }

func (c *clock) Now() time.Time { return c.now }

func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }
