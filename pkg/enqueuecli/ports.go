package enqueuecli

import (
	"context"
	"errors"
	"time"

	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// errAbsent is wrapped by what the ports return for a thing that is not there.
var errAbsent = errors.New("not found")

// sender puts a message on the queue of events.
type sender interface {
	Send(ctx context.Context, body []byte) (id string, err error)
}

// rows reads tenants and holds them.
type rows interface {
	// Get is strongly consistent. A tenant without a row gives a Record that
	// does not exist.
	Get(ctx context.Context, id tenant.ID) (tenant.Record, error)
	// List yields every tenant until yield returns false.
	List(ctx context.Context, yield func(tenant.Record) bool) error
	SetHold(ctx context.Context, id tenant.ID, reason string) error
	ClearHold(ctx context.Context, id tenant.ID) error
}

// fleetState says whether new operations may start at all.
type fleetState struct {
	Paused bool
	Reason string
	At     time.Time
}

// fleet stops and restarts all work.
type fleet interface {
	State(ctx context.Context) (fleetState, error)
	Pause(ctx context.Context, reason string) error
	Unpause(ctx context.Context) error
}

// deadLetter is a message that no worker could make use of.
type deadLetter struct {
	ID           string
	ReasonCode   string
	Reason       string
	OriginalID   string
	SentAt       time.Time
	ReceiveCount int
	Body         []byte
}

// deadLetters looks after messages that were set aside.
type deadLetters interface {
	List(ctx context.Context, limit int) ([]deadLetter, error)
	// Show wraps errAbsent for an id that is not there.
	Show(ctx context.Context, id string) (deadLetter, error)
	// Redrive sends messages back to the queue of events and deletes them
	// here; it returns the ids it is done with, also along with an error.
	Redrive(ctx context.Context, ids []string) ([]string, error)
	// Drop deletes messages for good and returns the ids it is done with.
	Drop(ctx context.Context, ids []string) ([]string, error)
}

// cloud tells what carries lessor's tags, in one place.
type cloud interface {
	Find(ctx context.Context, id tenant.ID) ([]inventory.Resource, error)
	FindAll(ctx context.Context) ([]inventory.Resource, error)
	// Inspect marks keys that wait for their deletion.
	Inspect(ctx context.Context, resources []inventory.Resource) ([]inventory.Resource, error)
}

// states reads the state of a stack.
type states interface {
	// Read returns the checkpoint file. It wraps errAbsent if there is none.
	Read(ctx context.Context, stack tenant.Stack) ([]byte, error)
}

// connector opens the ports when a command needs them: a look at a row must
// work for people who may not send, and the other way round.
type connector interface {
	Sender(ctx context.Context, s settings) (sender, error)
	Rows(ctx context.Context, s settings) (rows, error)
	Fleet(ctx context.Context, s settings) (fleet, error)
	DeadLetters(ctx context.Context, s settings) (deadLetters, error)
	Cloud(ctx context.Context, s settings, at place) (cloud, error)
	States(ctx context.Context, s settings) (states, error)
}
