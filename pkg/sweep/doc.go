// Package sweep is the last net under the promise that no accepted change is
// lost. Tenants are worked on because a message stands for them; should one be
// lost all the same, the sweep finds the row that needs work and that nobody
// works on, ends the lease of a dead holder, and sends a message again.
//
// One worker sweeps at a time, by a claim that only spares double work: two
// that sweep at once, or one that dies in the middle, do no harm. A lease is
// dead only if it stood still under the sweeper's own eyes, so that it takes two
// looks to end one.
package sweep
