// Package checkpoint reads the state of a stack as the Pulumi CLI writes it to a
// DIY backend, and judges whether it may be used.
package checkpoint
