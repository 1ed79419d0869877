// Package plan compares what a tenant shall be with what it is and says which
// steps lead from one to the other. It is pure and knows nothing of AWS or
// Pulumi.
//
// The rules, by what is desired:
//
//	absent, nothing ever began    nothing
//	absent, gone already          nothing
//	absent, something stands      prepare-delete, destroy, remove
//	absent, leftovers only        destroy, remove
//	present, first time           up, and protect if the tier asks for it
//	present, new tier             the same, as a new generation, after a
//	                              prepare-delete of what it replaces
//	present, anything differs     up
//	reprovision requested         refresh, up
//	refresh requested             refresh
//	preview requested             preview
//
// Requests that stand beside a difference add their steps before the up, in
// the order above: a preview is then served first, of what the up is about to
// do. Who wants to see a change without having it made holds the tenant. A
// request for an absent tenant is served by its absence.
//
// A hold, a backoff and whether a change was given up on are no business of a
// plan; see package reconcile.
package plan
