package sweep

import "time"

// Config says how often is swept, and what counts as forgotten.
type Config struct {
	// Interval is the time between two sweeps, give or take a tenth. 0 means
	// that this worker never sweeps.
	Interval time.Duration `env:"LESSOR_SWEEP_INTERVAL, default=5m"`
	// Age is for how long nothing happened to a row before the sweep takes it
	// for forgotten. It must exceed the time in which the message of a dead
	// worker comes back and its lease is taken over.
	Age time.Duration `env:"LESSOR_SWEEP_AGE, default=15m"`
}

const (
	// minSweepTime is how long a sweep may take at least. Otherwise it may take
	// an interval.
	minSweepTime = 10 * time.Second
	// jitterShare spreads the sweeps by a tenth either way.
	jitterShare = 0.1
	// claimedIntervals bounds how long others wait for a sweeper that died:
	// for a jittered interval and some to spare, after its longest sweep.
	claimedIntervals = 2
	// maxWaits times Age is how long the sweep waits before it reminds of the
	// same unchanged row again. It begins with one Age and doubles, so that
	// messages do not pile up where something else holds a tenant up.
	maxWaits = 4
)

func (c Config) timeout() time.Duration { return max(c.Interval, minSweepTime) }

func (c Config) claim() time.Duration { return claimedIntervals*c.Interval + c.timeout() }
