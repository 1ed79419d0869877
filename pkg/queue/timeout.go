package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"
)

// attemptTimeout bounds every HTTP attempt of a call, whatever HTTP client the
// SDK was configured with. A limit on the whole call would leave no time for a
// second attempt.
func attemptTimeout(limit time.Duration) func(*sqs.Options) {
	return sqs.WithAPIOptions(func(stack *middleware.Stack) error {
		err := stack.Finalize.Insert(middleware.FinalizeMiddlewareFunc("lessorAttemptTimeout", func(
			ctx context.Context, in middleware.FinalizeInput, next middleware.FinalizeHandler,
		) (middleware.FinalizeOutput, middleware.Metadata, error) {
			attempt, cancel := context.WithTimeout(ctx, limit)
			defer cancel()

			out, metadata, err := next.HandleFinalize(attempt, in)
			if err != nil && ctx.Err() == nil && errors.Is(attempt.Err(), context.DeadlineExceeded) {
				err = &attemptError{limit: limit}
			}

			return out, metadata, err
		}), "Retry", middleware.After)
		if err != nil {
			return fmt.Errorf("limiting the time of an attempt: %w", err)
		}

		return nil
	})
}

// attemptError stands for the SDK's own error, which looks like a call that the
// caller gave up and is therefore never retried.
type attemptError struct{ limit time.Duration }

func (e *attemptError) Error() string { return fmt.Sprintf("no answer within %s", e.limit) }

// Timeout makes it a timeout to whoever asks.
func (*attemptError) Timeout() bool { return true }

// RetryableError makes the SDK retry it.
func (*attemptError) RetryableError() bool { return true }
