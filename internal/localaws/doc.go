// Package localaws is the local stand-in for AWS: an emulator for the services
// whose data is used (queues, tables, buckets, keys, topics), a simulator for
// the control plane of all others, both behind one endpoint on this machine, and
// the fleet's own platform, deployed there by the real Pulumi CLI from
// infra/platform.
//
// It is for demonstrations and tests. Nothing in it outlives Stop, nothing
// listens anywhere but on the loopback interface, and the variables that it hands
// out keep clients from every real endpoint and credential.
package localaws
