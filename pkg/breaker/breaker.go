// Package breaker pauses operations in a region and tier in which many
// different tenants fail alike: then something is wrong there, more failures
// help nobody, and every one of them costs the tenant an attempt.
//
// It is in-process. A worker learns from its own operations alone, and after a
// restart anew: at worst every worker of a fleet tries as often as one must.
package breaker

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Config says when to pause and for how long.
type Config struct {
	// Tenants is how many different tenants must fail alike in a row, without
	// a success between them. 0 turns the breaker off; 1 is refused, since one
	// tenant says nothing of the others.
	Tenants int `env:"LESSOR_BREAKER_TENANTS, default=5"`
	// Pause is how long operations are turned away before one is let through
	// to see whether it is over.
	Pause time.Duration `env:"LESSOR_BREAKER_PAUSE, default=1m"`
}

// State is that of one region and tier. The numbers are those of the metric.
type State int

// The states. HalfOpen lets one operation through.
const (
	Closed State = iota
	HalfOpen
	Open
)

func (s State) String() string { return gobreaker.State(s).String() }

const (
	// window is how long a failure counts.
	window = 15 * time.Minute
	// maxCircuits bounds what is remembered. Beyond it nothing is paused.
	maxCircuits = 256
	// maxSpread bounds, in pauses, over how long messages are spread that were
	// turned away: the longer it lasts, the fewer come back.
	maxSpread = 8
	// restShare of a pause is the least that a message rests.
	restShare = 4
)

// Change is told of every transition.
type Change func(region, tier string, to State)

// Breakers are one breaker for each region and tier. They are safe for
// concurrent use.
type Breakers struct {
	config Config
	change Change

	mu       sync.Mutex
	circuits map[place]*circuit
}

type place struct{ region, tier string }

// New makes breakers that are all closed. change may be nil; it must not call
// back.
func New(config Config, change Change) *Breakers {
	if change == nil {
		change = func(string, string, State) {}
	}

	return &Breakers{config: config, change: change, circuits: map[place]*circuit{}}
}

// Allow asks for an operation. If it may start, done must be called once with
// how it ended, or with nil if none ran. If not, done is nil and wait is after
// how long to ask again.
func (b *Breakers) Allow(region, tier string) (done func(id tenant.ID, outcome *tenant.Outcome), wait time.Duration) {
	if b.config.Tenants == 0 {
		return func(tenant.ID, *tenant.Outcome) {}, 0
	}

	where := place{region: region, tier: tier}

	b.mu.Lock()
	defer b.mu.Unlock()

	// A place is remembered from its first failure on: rows may name any.
	c, known := b.circuits[where]
	if !known {
		return b.report(where, nil), 0
	}

	finish, err := c.breaker.Allow()
	if err != nil {
		return nil, c.wait(b.config.Pause)
	}

	return b.report(where, finish), 0
}

// errFailed is a failure that speaks against the place, errNeutral one that
// says nothing of it.
var (
	errFailed  = errors.New("failed")
	errNeutral = errors.New("neutral")
)

// report makes the function that takes in how an operation ended. finish is nil
// if the place was not remembered when it began.
func (b *Breakers) report(where place, finish func(error)) func(tenant.ID, *tenant.Outcome) {
	return func(id tenant.ID, outcome *tenant.Outcome) {
		b.mu.Lock()
		defer b.mu.Unlock()

		verdict := verdictOf(outcome)
		c := b.circuits[where]

		if c == nil {
			if !errors.Is(verdict, errFailed) || len(b.circuits) >= maxCircuits {
				return
			}

			c = newCircuit(b.config, func(to State) { b.change(where.region, where.tier, to) })
			b.circuits[where] = c
		}

		if finish == nil {
			// It must not take the place of the one that is let through.
			if c.breaker.State() != gobreaker.StateClosed {
				return
			}

			var err error
			if finish, err = c.breaker.Allow(); err != nil {
				return
			}
		}

		switch {
		case verdict == nil:
			c.forget()
		case errors.Is(verdict, errFailed):
			c.note(id, outcome.Failure.Kind)
		}

		finish(verdict)
	}
}

func verdictOf(outcome *tenant.Outcome) error {
	switch {
	case outcome == nil:
		return errNeutral
	case outcome.Failure == nil:
		return nil
	case speaksAgainst(outcome.Failure.Kind):
		return errFailed
	default:
		return errNeutral
	}
}

// speaksAgainst reports whether a failure of this kind, if many tenants have
// it, says that the region or the tier is ill. The others say that the tenant,
// its state or the worker is.
func speaksAgainst(kind tenant.Kind) bool {
	switch kind {
	case tenant.KindTransient, tenant.KindThrottled, tenant.KindQuota, tenant.KindDenied, tenant.KindTimeout, tenant.KindUnknown:
		return true
	case tenant.KindInvalid, tenant.KindLocked, tenant.KindIntegrity, tenant.KindMemory, tenant.KindInterrupted,
		tenant.KindConflict, tenant.KindLeaseLost, tenant.KindApproval, tenant.KindCutover, tenant.KindWaiting:
		return false
	}

	return false
}

// Validate reports what is wrong with the configuration.
func (c Config) Validate() error {
	var errs []error

	if c.Tenants < 0 || c.Tenants == 1 {
		errs = append(errs, fmt.Errorf("LESSOR_BREAKER_TENANTS is %d, set it to 2 or more, or to 0 to turn the breaker off", c.Tenants))
	}

	if c.Tenants > 0 && c.Pause <= 0 {
		errs = append(errs, fmt.Errorf("LESSOR_BREAKER_PAUSE is %s, set it to a duration above zero such as 1m", c.Pause))
	}

	return errors.Join(errs...)
}

// upTo is a random time from 0 to d.
func upTo(d time.Duration) time.Duration {
	return rand.N(d + 1) //nolint:gosec // jitter needs no secrecy
}
