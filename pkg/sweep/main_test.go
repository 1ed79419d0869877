package sweep_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/sweep"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	acme     tenant.ID = "acme"
	table              = "tenants"
	interval           = 5 * time.Minute
	age                = 15 * time.Minute
	duration           = time.Minute
	margin             = 10 * time.Second
)

var errOutage = errors.New("the endpoint cannot be reached")

// clock is everybody's, moved by the test.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

// outbox is a queue that keeps the ids of the tenants that messages are for.
type outbox struct {
	t    require.TestingT
	mu   sync.Mutex
	sent []tenant.ID
	fail error
}

func (o *outbox) Send(_ context.Context, body []byte) (string, error) {
	o.mu.Lock()
	defer o.mu.Unlock()

	if o.fail != nil {
		return "", o.fail
	}

	// A fleet that orders by sequence must understand it as well.
	for _, order := range []event.Order{event.OrderTime, event.OrderSequence} {
		e, err := event.NewDecoder(order, func() time.Time { return time.Now().Add(24 * 365 * time.Hour) }).Decode(body)
		require.NoError(o.t, err)
		require.Equal(o.t, tenant.EventNudged, e.Type)

		if order == event.OrderTime {
			o.sent = append(o.sent, e.Tenant)
		}
	}

	return "id", nil
}

// take returns what was sent since the last call.
func (o *outbox) take() []tenant.ID {
	o.mu.Lock()
	defer o.mu.Unlock()

	sent := o.sent
	o.sent = nil

	return sent
}

// world is a table with sweepers and workers on it, in one time.
type world struct {
	*clock

	table  *registrytest.Table
	rows   *registry.Registry
	outbox *outbox
	log    *bytes.Buffer
}

func newWorld(t require.TestingT) *world {
	w := &world{
		clock: &clock{now: time.Now().Truncate(time.Millisecond)}, table: registrytest.New(table), outbox: &outbox{t: t}, log: &bytes.Buffer{},
	}
	w.rows = registry.New(w.table, registry.Config{Table: table}, w.Now)

	return w
}

// leases are those of one process.
func (w *world) leases() *lease.Leases {
	return lease.New(w.table, table, lease.Config{Duration: duration, Margin: margin}, lease.WithClock(w.Now))
}

func (w *world) sweeper() *sweep.Sweeper {
	return sweep.New(sweep.Config{Interval: interval, Age: age}, sweep.Parts{
		Rows: w.rows, Leases: w.leases(), Queue: w.outbox, Log: slog.New(slog.NewTextHandler(w.log, nil)), Now: w.Now,
		WaitOpen: func(ctx context.Context) error { return ctx.Err() }, Swept: func(sweep.Report) {},
	})
}

func (w *world) pass(d time.Duration) { w.now = w.now.Add(d) }

func (w *world) get(t require.TestingT, id tenant.ID) tenant.Record {
	rec, err := w.rows.Get(context.Background(), id)
	require.NoError(t, err)

	return rec
}

// accept folds an event into the row of a tenant, whose message is lost.
func (w *world) accept(t require.TestingT, id tenant.ID, eventType tenant.EventType) tenant.Record {
	e := tenant.Event{ID: w.now.String(), Type: eventType, Tenant: id, Tier: "pool", Region: "eu-west-1", Version: tenant.Version{N: w.now.UnixNano()}}
	if eventType == tenant.EventUpdated {
		e.Parameters = tenant.Parameters{"size": json.RawMessage(`1`)}
	}

	rec, _, err := w.rows.Accept(context.Background(), e)
	require.NoError(t, err)

	return rec
}

func (w *world) acquire(t require.TestingT, id tenant.ID) *lease.Lease {
	held, err := w.leases().Acquire(context.Background(), w.get(t, id), "message")
	require.NoError(t, err)

	return held
}

// renew is a renewal in time, as Keep makes it.
func (w *world) renew(id tenant.ID, token registry.Token) error {
	_, err := w.table.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
		TableName: aws.String(table), Key: registry.Key(id),
		UpdateExpression: aws.String("SET rvn = :rvn, lease_until = :until"), ConditionExpression: aws.String("lease_owner = :mine AND fence = :fence"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":rvn":   &types.AttributeValueMemberS{Value: rand.Text()},
			":until": &types.AttributeValueMemberN{Value: strconv.FormatInt(w.now.Add(duration).UnixMilli(), 10)},
			":mine":  &types.AttributeValueMemberS{Value: token.Owner},
			":fence": &types.AttributeValueMemberN{Value: strconv.FormatInt(token.Fence, 10)},
		},
	})

	return err
}

// settle records a success of a holder and lets go.
func (w *world) settle(t require.TestingT, id tenant.ID, held *lease.Lease) {
	_, err := w.rows.Settle(context.Background(), id, held.Token(), registry.Settlement{
		Target: w.get(t, id).DesiredSeq, Applied: &tenant.Applied{At: w.now}, Clean: true,
		Outcome: tenant.Outcome{OperationID: held.Token().Owner},
	})
	require.NoError(t, err)
	require.NoError(t, w.rows.Published(context.Background(), id, held.Token().Owner))
}

// sweepOnce expects a sweep that did all there was to do.
func sweepOnce(t *testing.T, s *sweep.Sweeper) sweep.Report {
	t.Helper()

	report := s.Sweep(t.Context())
	require.True(t, report.Sweeping)
	require.True(t, report.Complete)

	return report
}
