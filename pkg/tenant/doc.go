// Package tenant holds the nouns of the domain and the pure function that
// folds events into the desired state of a tenant. It imports nothing else of
// this module, does no input or output and never reads a clock.
package tenant
