package reconcile

import (
	"context"
	"time"

	"github.com/lessor-dev/lessor/pkg/cutover"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Rows reads a tenant's row and writes what is known while the lease is held.
type Rows interface {
	Get(ctx context.Context, id tenant.ID) (tenant.Record, error)
	Begin(ctx context.Context, id tenant.ID, token registry.Token, b registry.Beginning) error
	Progress(ctx context.Context, id tenant.ID, token registry.Token, progress tenant.Progress) error
}

// Ledger ends the work on a row.
type Ledger interface {
	Settle(ctx context.Context, id tenant.ID, token registry.Token, s registry.Settlement) (registry.Settled, error)
	Release(ctx context.Context, id tenant.ID, token registry.Token, clean bool) error
	// ReleaseSeen releases only if desired is still the one seen.
	ReleaseSeen(ctx context.Context, id tenant.ID, token registry.Token, seen int64, clean bool) error
	Published(ctx context.Context, id tenant.ID, operationID string) error
	// RaiseFence keeps acquisitions by a row as old as rec from landing.
	RaiseFence(ctx context.Context, rec tenant.Record) error
}

// Leases grants the right to work on a tenant.
type Leases interface {
	Acquire(ctx context.Context, rec tenant.Record, messageID string) (*lease.Lease, error)
	Stale(rec tenant.Record) bool
}

// Engine runs operations.
type Engine interface {
	Run(ctx context.Context, slot int, op engine.Operation, watch engine.Watch) engine.Result
}

// Slots are the places in which operations run, fixed in number.
type Slots interface {
	Take(ctx context.Context) (int, error)
	Give(slot int)
}

// Gate says whether a new operation may start at all.
type Gate interface {
	// Closed returns the reason, ReasonDrain or ReasonPaused, or "".
	Closed() Reason
}

// Hook asks who moves the data of a tenant that changes its tier.
type Hook interface {
	// Ask returns nil once the request was taken. The answer is an event.
	Ask(ctx context.Context, hook tenant.Hook, request cutover.Request) error
}

// Pools gives tenants what the pools have that they live in.
type Pools interface {
	// For returns the resolver of one tenant. Both fail with a
	// *tenant.InvalidError where people must act first, and the resolver with a
	// *tenant.Failure of kind waiting while a pool is not there.
	For(ctx context.Context, rec tenant.Record) (plan.Resolver, error)
	// Settled lets those go on who waited for a pool, if rec is one.
	Settled(ctx context.Context, rec tenant.Record) error
}

// Publisher tells the outside how operations ended.
type Publisher interface {
	Publish(ctx context.Context, e result.Event) error
}

// LeaseObserver is told of leases, for logs and metrics.
type LeaseObserver interface {
	LeaseAcquired(id tenant.ID, token registry.Token, tookOver bool)
	LeaseBusy()
	LeaseLost(id tenant.ID, token registry.Token, cause error)
}

// Observer is told what happens, for logs and metrics.
type Observer interface {
	LeaseObserver

	OperationStarted(op engine.Operation, sequence int64, tier string)
	// OperationFinished is told of an operation that ended once its outcome is
	// recorded, or could not be, with where all of its time went.
	OperationFinished(op engine.Operation, tier string, outcome tenant.Outcome, res engine.Result, times phase.Times)
	// HookAsked is told of each request to a data hook, and how it was taken.
	HookAsked(id tenant.ID, change tenant.Change, err error)
	Published(err error)
	Trouble(id tenant.ID, doing string, err error)
}

// Message is the SQS message that made us look at the tenant.
type Message interface {
	ID() string
	// Extend makes the message invisible for another visibility timeout. It
	// fails if the message is somebody else's by now.
	Extend(ctx context.Context) error
	// Clock counts the time since the message was received.
	Clock() *phase.Clock
}

// Config is what a Reconciler needs to know of the fleet.
type Config struct {
	// Project is the Pulumi project of new stacks.
	Project string
	// Buckets are the shards for new stacks.
	Buckets []string
	// Build is the version of this worker, recorded with what it applies.
	Build string
	// OperationTimeout bounds one operation.
	OperationTimeout time.Duration
	Backoff          Backoff
	// Schedule is what the fleet does by the clock.
	Schedule plan.Schedule
}

// Reconciler settles tenants. It is safe for concurrent use.
type Reconciler struct {
	Config  Config
	Rows    Rows
	Ledger  Ledger
	Leases  Leases
	Catalog plan.Resolver
	// Pools may be nil: then no tenant lives in one.
	Pools  Pools
	Engine Engine
	Slots  Slots
	Gate   Gate
	// Breaker may be nil: then nothing is turned away.
	Breaker Breaker
	// Hook may be nil where no tier has a data hook.
	Hook Hook
	// Addresses may be nil where no tier has a pool of them.
	Addresses Addresses
	Publisher Publisher
	Observer  Observer
	// Now is the wall clock, time.Now if nil.
	Now func() time.Time
	// Interrupt is cancelled with engine.ErrInterrupt when the operations
	// that run must end.
	Interrupt context.Context //nolint:containedctx // it outlives the messages: see Settle
}

func (r *Reconciler) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}

	return r.Now()
}
