// Package serving tells from the simulator's journal when a topology served, and
// finds the moments at which nothing did. It is for tests: a tier change promises
// that whoever follows a tenant's outputs finds something that serves, always.
package serving
