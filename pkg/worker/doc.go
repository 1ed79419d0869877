// Package worker is the process: it receives messages for as many operations
// as memory allows, keeps each message alive while its tenant is settled, does
// with it what the reconciler says, and drains when it is told to stop. It is
// the one place that logs.
package worker
