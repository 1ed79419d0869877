// Package lease grants the right to work on a tenant: one holder at a time,
// known by a fence that only grows. The lease lives in the tenant's row, so that
// "nothing new came in" and "I let go" can be one conditional write, which is
// package registry's. Here a lease is acquired, taken over, renewed and lost.
//
// It is no lock around the state by itself: a holder that is frozen and wakes
// up late learns of its loss from the local clock, and is refused by the fence.
package lease
