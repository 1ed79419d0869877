package phase

import "time"

// Clock gives every moment to the phase that it is in. It is not safe for
// concurrent use.
type Clock struct {
	now     func() time.Time
	current Phase
	// counted is until when the time is in times.
	counted time.Time
	times   Times
}

// Start makes a clock that is in a phase. now must have a monotonic reading, as
// that of time.Now.
func Start(p Phase, now func() time.Time) *Clock {
	return &Clock{now: now, current: p, counted: now(), times: Times{}}
}

// Enter ends the phase that the clock is in and begins another, or goes on with
// the same.
func (c *Clock) Enter(p Phase) {
	now := c.now()
	c.times[c.current] += max(0, now.Sub(c.counted))
	c.current, c.counted = p, now
}

// Split says of what the time in the current phase consisted so far.
func (c *Clock) Split(parts Times) {
	c.Enter(c.current)
	c.times.Split(c.current, parts)
}

// Take returns what was counted since the start or the last call, and goes on from
// zero in the same phase.
func (c *Clock) Take() Times {
	c.Enter(c.current)

	taken := c.times
	c.times = Times{}

	return taken
}
