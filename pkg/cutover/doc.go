// Package cutover asks who moves the data of a tenant that changes its tier: an
// HTTP endpoint or the reader of an SQS queue. The request is a CloudEvent with
// the outputs of both topologies and a token. The answer is an event that brings
// the token back, see docs/contract.md.
package cutover
