package queue

import (
	"errors"
	"fmt"
	"slices"

	"github.com/aws/smithy-go"
)

// ErrReceiptLost reports that the message was handed to somebody else, or may
// have been: its visibility ran out, or it was deleted. It is never fatal.
var ErrReceiptLost = errors.New("the receipt of the message is no longer valid")

// ErrTooLarge is returned by Send for a body over MaxBodyBytes.
var ErrTooLarge = errors.New("the message is too large")

// ErrNotFound reports that a message is not in the dead-letter queue.
var ErrNotFound = errors.New("not in the dead-letter queue")

var errNotConfigured = errors.New("is not set")

// What SQS calls a receipt that is not valid any more depends on the kind of
// queue, on the call and on how long ago it was.
func receiptLost(err error) bool {
	return hasCode(err, "ReceiptHandleIsInvalid", "MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight",
		"InvalidParameterValue", "InvalidParameterValueException")
}

func hasCode(err error, codes ...string) bool {
	var api smithy.APIError

	return errors.As(err, &api) && slices.Contains(codes, api.ErrorCode())
}

// explain adds to an error of SQS what to do about it: which variable names the
// queue, and which right the role lacks.
func explain(err error, variable, url, action string) error {
	where := variable + " " + url

	switch {
	case hasCode(err, "AccessDenied", "AccessDeniedException"):
		return fmt.Errorf("%s: access denied; the role needs %s: %w", where, action, err)
	case hasCode(err, "KmsAccessDenied", "KMS.AccessDeniedException"):
		return fmt.Errorf("%s: the key of the queue is denied; the role needs kms:Decrypt and kms:GenerateDataKey: %w", where, err)
	case hasCode(err, "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue"):
		return fmt.Errorf("%s: there is no such queue; correct %s or AWS_REGION: %w", where, variable, err)
	default:
		return fmt.Errorf("%s: %w", where, err)
	}
}
