// Package result tells the outside how operations ended: one CloudEvent per
// result, sent to an SNS topic, an EventBridge bus or an SQS queue.
// docs/contract.md describes the events for those who receive them.
package result
