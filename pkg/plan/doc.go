// Package plan compares what a tenant shall be with what it is and says which
// steps lead from one to the other. It is pure and knows nothing of AWS or
// Pulumi.
//
// The rules, by what is desired:
//
//	absent, nothing ever began    nothing
//	absent, gone already          nothing; purge once its retention is over
//	absent, something stands      prepare-delete where anything is guarded,
//	                              destroy, remove
//	absent, leftovers only        destroy, remove
//	present, first time           up, and another one that protects, if the tier asks for it
//	present, new tier             see below
//	present, anything differs     up
//	reprovision requested         refresh, up
//	refresh requested             refresh
//	preview requested             preview
//
// A tier change makes before it breaks, and may take several plans. The row's
// Change says how far it is:
//
//	building   up of the new topology beside the one that serves
//	cutover    the data hook is asked, if there is one, and the tenant waits
//	           confirmed: the new topology serves, and is protected
//	           refused, or too late: up of the old one alone, and it is given up
//	baking     the old topology stands by; the tenant may go back to it
//	retiring   prepare-delete of the old topology, and an up without it
//
// Requests that stand beside a difference add their steps before the up, in
// the order above: a preview is then served first, of what the up is about to
// do. Who wants to see a change without having it made holds the tenant. A
// request for an absent tenant is served by its absence.
//
// A look for drift that is due by the fleet's Schedule goes first, and only where
// the clock asked for work: no other event waits for it.
//
// A hold, a backoff and whether a change was given up on are no business of a
// plan; see package reconcile.
package plan
