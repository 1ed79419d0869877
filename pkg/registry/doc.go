// Package registry keeps the rows of tenants in DynamoDB: their layout, and
// every conditional write but those that acquire and renew a lease. The row is
// also the lease, so that recording an outcome and letting go is one write.
//
// The expressions follow the common ground of AWS and its emulators: one line,
// plain attribute names that are no reserved words, and values only.
package registry
