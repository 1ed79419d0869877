// Package event turns messages into tenant events and back. A message is a
// CloudEvent 1.0 in structured mode whose data an embedded JSON Schema
// describes; docs/contract.md tells upstream how to write one. Whatever is
// wrong with a message ends in one InvalidError that names field and fix.
package event
