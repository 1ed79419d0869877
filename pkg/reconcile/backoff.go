package reconcile

import (
	"math/rand/v2"
	"time"
)

// Backoff spaces the attempts at a tenant.
type Backoff struct {
	Min time.Duration
	Max time.Duration
}

// jitterShare is how much of a delay is random: without it, tenants that fail
// together would come back together.
const jitterShare = 0.2

// Beyond returns the delay that follows one of previous where attempts are not
// counted: twice as long, within Min and Max, less up to a fifth by chance.
func (b Backoff) Beyond(previous time.Duration, random float64) time.Duration {
	previous = min(previous, b.Max)

	return spread(min(max(b.Min, previous+previous), b.Max), random)
}

// After returns the delay before the attempt that follows attempt number n (1
// is the first): Min, doubled with every attempt, at most Max, less up to a
// fifth by chance. random is in [0, 1).
func (b Backoff) After(n int, random float64) time.Duration {
	delay := b.Min
	for range n - 1 {
		if delay >= b.Max/2 {
			delay = b.Max

			break
		}

		delay *= 2
	}

	return spread(min(delay, b.Max), random)
}

func spread(delay time.Duration, random float64) time.Duration {
	return delay - time.Duration(float64(delay)*jitterShare*random)
}

// chance is the source of jitter outside tests.
func chance() float64 { return rand.Float64() } //nolint:gosec // jitter needs no secrecy
