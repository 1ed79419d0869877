// Package engine runs operations on tenants' Pulumi stacks, each in a child
// process of its own, through the Automation API. It knows nothing of queues,
// leases or tenant rows.
package engine
