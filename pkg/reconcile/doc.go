// Package reconcile settles one tenant: it takes the lease, asks the plan what
// leads from applied to desired, has the engine do it, and records the outcome
// in the write that lets go of the lease. It decides what becomes of the
// message that brought it here, and leaves the doing to package worker.
package reconcile
