// Package platform declares what the fleet itself needs of AWS: the queue of
// events and the dead-letter queue with their alarms, the table of tenants, the
// state buckets, keys, the target of results, and who may do what: the roles of
// workers and of KEDA, and a policy for whoever sends events.
//
// It is an ordinary Pulumi program of components. cmd/platform runs it with
// `pulumi up`, and local mode runs it against its stand-in for AWS. Tenants' own
// infrastructure is not here but in infra/programs, and the rights to make it are
// not the workers' but those of the roles that the catalog names.
package platform
