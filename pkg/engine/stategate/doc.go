// Package stategate stands between one Pulumi CLI and the bucket that holds its
// state. It is an S3 endpoint on the loopback interface that knows a single
// stack, under a bucket name that nobody can guess, for the time of one
// operation.
//
// It exists because the CLI writes state without any condition: a worker that
// was taken for dead and wakes up would overwrite what its successor made
// (pulumi/pulumi#9253 asks for more). The gate turns every write of the
// checkpoint into a conditional PUT, refuses what is written after the lease has
// ended, and stamps what it writes, so that S3 itself refuses every late write
// of an older operation. DESIGN.md section 6 and docs/safety.md have the rules.
//
// The bucket stays a backend of the plain CLI.
package stategate
