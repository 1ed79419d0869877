// Package plan compares what a tenant shall be with what it is and says which
// steps lead from one to the other. It is pure and knows nothing of AWS or
// Pulumi.
package plan
