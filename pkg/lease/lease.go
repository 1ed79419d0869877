package lease

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The ends of a lease that was not released.
var (
	// ErrLost says that somebody else holds the lease.
	ErrLost = errors.New("the lease was taken over")
	// ErrUncertain says that the lease could not be renewed in time, so that
	// somebody else may hold it by now.
	ErrUncertain = errors.New("the lease could not be renewed in time")
	// ErrChanged says that the row changed since it was read: read it again.
	ErrChanged = errors.New("the row changed since it was read")
)

// HeldError says that somebody else holds the lease.
type HeldError struct {
	Owner string
	Fence int64
	// Message is the SQS message that the holder must delete itself.
	Message string
	// Until is the holder's wall clock, a hint for people.
	Until time.Time
	// WaitAtLeast is how long the lease must stand still before it is dead.
	WaitAtLeast time.Duration
}

// Error says who holds the lease.
func (e *HeldError) Error() string {
	return fmt.Sprintf("%s holds the lease with fence %d", e.Owner, e.Fence)
}

// Lease is the right to work on one tenant.
type Lease struct {
	leases *Leases
	id     tenant.ID
	token  registry.Token

	tookOver bool
	clean    bool
	// row is as the acquisition left it.
	row map[string]types.AttributeValue

	mu       sync.Mutex
	deadline time.Time
	// trouble is why the newest renewal failed, nil if it did not.
	trouble error
}

// Token is what conditional writes under this lease need.
func (l *Lease) Token() registry.Token { return l.token }

// TookOver reports that the owner before did not let go.
func (l *Lease) TookOver() bool { return l.tookOver }

// CleanPredecessor reports that the owner before let go with every write of
// state answered, so that none can land late.
func (l *Lease) CleanPredecessor() bool { return l.clean }

// Row is the tenant's row as the acquisition left it: nothing older decides what is
// done under the lease.
func (l *Lease) Row() (tenant.Record, error) { return registry.Decode(l.id, l.row) }

// Deadline is when the holder must have stopped if it renews no more: a margin
// before anybody may take over. It has a monotonic reading.
func (l *Lease) Deadline() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.deadline
}

// Keep renews the lease every third of its duration until stop is called. The
// context it returns is cancelled with ErrLost or ErrUncertain as its cause
// when the lease is no longer certain. stop waits for a renewal in flight, so
// that none lands after a release.
func (l *Lease) Keep(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	quit, done := make(chan struct{}), make(chan struct{})

	// Not by the goroutine that renews: a renewal that hangs must not carry the
	// holder past its deadline.
	expiry := time.AfterFunc(l.left(), func() { cancel(l.expired()) })

	go func() {
		defer close(done)
		defer expiry.Stop()

		cancel(l.renewUntil(ctx, quit, expiry))
	}()

	return ctx, sync.OnceFunc(func() {
		close(quit)
		<-done
	})
}

// left is the time to the deadline.
func (l *Lease) left() time.Duration { return l.Deadline().Sub(l.leases.now()) }

// expired is the cause of a context whose lease reached its deadline.
func (l *Lease) expired() error {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.trouble == nil {
		return ErrUncertain
	}

	return fmt.Errorf("%w: %w", ErrUncertain, l.trouble)
}

const (
	renewalsPerDuration = 3
	retriesPerDuration  = 12
	// jitterShare spreads the renewals of many leases by a tenth either way.
	jitterShare = 0.1
)

// renewUntil returns nil when it was told to quit, and why the lease is over
// otherwise.
func (l *Lease) renewUntil(ctx context.Context, quit <-chan struct{}, expiry *time.Timer) error {
	timer := time.NewTimer(l.leases.interval())
	defer timer.Stop()

	for {
		select {
		case <-quit:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
		}

		err := l.renew(ctx, quit)

		switch {
		case err == nil:
			expiry.Reset(l.left())
			l.leases.renewed("ok")
			timer.Reset(l.leases.interval())
		case errors.Is(err, ErrLost), errors.Is(err, ErrUncertain):
			l.leases.renewed("lost")

			return err
		default:
			l.leases.renewed("error")
			timer.Reset(l.leases.config.Duration / retriesPerDuration)
		}
	}
}

// renew makes one renewal. It counts from before the call, since that is the
// earliest time at which it may have been written.
func (l *Lease) renew(ctx context.Context, quit <-chan struct{}) error {
	began := l.leases.now()

	left := l.left()
	if left <= 0 {
		// A process that was frozen wakes up here. Others may have taken over,
		// and its operation must stop whether they did or not.
		return l.expired()
	}

	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()

	// A release must not wait for a renewal that hangs.
	go func() {
		select {
		case <-quit:
			cancel()
		case <-ctx.Done():
		}
	}()

	err := l.leases.renew(ctx, l)

	l.mu.Lock()
	defer l.mu.Unlock()

	if l.trouble = err; err == nil {
		l.deadline = began.Add(l.leases.config.Duration - l.leases.config.Margin)
	}

	return err
}
