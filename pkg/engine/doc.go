// Package engine runs operations on tenants' Pulumi stacks, each in a child
// process of its own, through the Automation API. It knows nothing of queues,
// leases or tenant rows.
//
// A child leads a session, by which everything that it started is found, bounded
// and killed. The CLI dies with its child, since it could write no state without
// it. An operation that takes more memory than it may is killed alone.
//
// This does not reach everything. A process of a program that makes a session of
// its own is not found. Where worker and child are both killed at once, outside
// of a container that ends with them, a provider plugin goes on with the calls
// that it has begun and gets no others. The next worker with the same work
// directory ends it, or it ends when it next looks for its CLI, which plugins on
// Pulumi's SDK do every five minutes. Files in a tmpfs count as nobody's memory. A container
// that the kernel kills as a whole (memory.oom.group) takes its worker along.
package engine
