// Package pool gives tenants the outputs of the pool that they live in.
//
// A pool is a tenant itself, of a tier whose name begins with "pool-": one for each
// tier and region, made by the same workers as all others. Whoever needs one that
// is not there asks for it and waits, which counts as no attempt. A pool that is
// there serves its tenants whatever else is done to it, and is not deleted while
// any of them is left.
package pool
