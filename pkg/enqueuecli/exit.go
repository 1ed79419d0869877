package enqueuecli

import (
	"context"
	"errors"
	"fmt"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The exit codes, a contract with scripts: `enqueue help exit-codes`.
const (
	exitDone        = 0
	exitFailure     = 1
	exitUsage       = 2
	exitValidation  = 3
	exitNotFound    = 4
	exitConflict    = 5
	exitOperation   = 6
	exitTimeout     = 7
	exitOrphans     = 8
	exitInterrupted = 130
)

const exitCodesHelp = `Exit codes of every command:

    0  done
    1  failure: the queue, the table or a file could not be reached or read
    2  usage: the command line or the configuration is wrong
    3  validation: an event or a tenant id breaks the contract; nothing was sent
    4  not found: no such tenant, or no such message
    5  conflict: the event is stale (newer facts are known already), or the
       tenant is in a state in which the command makes no sense: it is in that
       tier, nothing waits for approval, the token is of no tier change
    6  with --wait: the operation failed and was given up on
    7  with --wait: --timeout passed before the operation ended; also a
       service that gave no answer in time
    8  orphans: there are resources that no state knows
  130  interrupted by a signal

Codes 6, 7 and 130 take nothing back: what was sent stays sent.`

// errInterrupted is the cause shown when a signal ended a command.
var errInterrupted = errors.New("interrupted")

// exitError is an error that knows its exit code and what to do about it.
type exitError struct {
	code int
	err  error
	hint string
}

func (e *exitError) Error() string { return e.err.Error() }

func (e *exitError) Unwrap() error { return e.err }

// fail makes an exitError from a message.
func fail(code int, hint, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...), hint: hint} //nolint:err113 // the code is what callers look at
}

// usageError is a wrong command line.
func usageError(hint, format string, args ...any) error {
	return fail(exitUsage, hint, format, args...)
}

// withoutHint leaves the hint to the line of its own.
func withoutHint(invalid *event.InvalidError) error {
	bare := *invalid
	bare.Hint = ""

	return &bare
}

// classify gives every error of a command its exit code. ctx is the one that
// a signal cancels.
func classify(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}

	exit, known := errors.AsType[*exitError](err)
	if ctx.Err() != nil && (!known || exit.code == exitFailure || exit.code == exitTimeout) {
		return &exitError{code: exitInterrupted, err: errInterrupted}
	}

	if known {
		return err
	}

	if invalid, ok := errors.AsType[*event.InvalidError](err); ok {
		return &exitError{code: exitValidation, err: withoutHint(invalid), hint: invalid.Hint}
	}

	switch {
	case errors.Is(err, tenant.ErrInvalidID):
		return &exitError{code: exitValidation, err: err, hint: "give the tenant's id as upstream knows it"}
	case errors.Is(err, errAbsent):
		return &exitError{code: exitNotFound, err: err}
	case errors.Is(err, context.DeadlineExceeded):
		return &exitError{code: exitTimeout, err: err, hint: hintFor(err)}
	}

	return &exitError{code: exitFailure, err: err, hint: hintFor(err)}
}
