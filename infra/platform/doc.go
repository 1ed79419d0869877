// Package platform declares what the fleet itself needs of AWS: the event
// queue and its dead-letter queue, the table of tenants, the state buckets, the
// key that protects secrets in state and, if wanted, a topic for results.
//
// It is an ordinary Pulumi program. cmd/platform runs it with `pulumi up`, and
// local mode runs it against its stand-in for AWS. Tenants' own infrastructure
// is not here but in infra/programs.
package platform
