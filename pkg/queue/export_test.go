package queue

// AttemptTimeout lets a test wait for less than the production limits.
var AttemptTimeout = attemptTimeout
