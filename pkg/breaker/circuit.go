package breaker

import (
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// circuit is one region and tier. It is guarded by Breakers.mu, under which all
// calls of its breaker are made.
type circuit struct {
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]
	tenants int

	// failed are the tenants that failed since the last success, by kind, and
	// when. They are few: no more than it takes to open, those that ran then,
	// and in a window one for each pause.
	failed map[tenant.Kind]map[tenant.ID]time.Time
	// until is when a pause ends, pauses how many there were in a row.
	until  time.Time
	pauses int
}

func newCircuit(config Config, change func(State)) *circuit {
	c := &circuit{tenants: config.Tenants, failed: map[tenant.Kind]map[tenant.ID]time.Time{}}
	c.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Timeout:     config.Pause,
		ReadyToTrip: func(gobreaker.Counts) bool { return c.ill() },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNeutral) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				c.until = time.Now().Add(config.Pause)
				c.pauses++
			case gobreaker.StateClosed:
				c.pauses = 0
			case gobreaker.StateHalfOpen:
			}

			change(State(to))
		},
	})

	return c
}

// note remembers a failure.
func (c *circuit) note(id tenant.ID, kind tenant.Kind) {
	alike := c.failed[kind]
	if alike == nil {
		alike = map[tenant.ID]time.Time{}
		c.failed[kind] = alike
	}

	now := time.Now()

	for other, at := range alike {
		if now.Sub(at) > window {
			delete(alike, other)
		}
	}

	alike[id] = now
}

func (c *circuit) forget() { clear(c.failed) }

// ill reports whether enough tenants failed alike.
func (c *circuit) ill() bool {
	for _, alike := range c.failed {
		if len(alike) >= c.tenants {
			return true
		}
	}

	return false
}

// wait is after how long a message that is turned away comes back. Messages are
// spread, so that the end of a pause brings few at once, over more time the
// longer it lasts, so that none is received too often.
func (c *circuit) wait(pause time.Duration) time.Duration {
	// While the one that was let through is at work, a pause has no end yet.
	left := max(pause/restShare, time.Until(c.until))

	return left + upTo(pause*time.Duration(min(c.pauses, maxSpread)))
}
