package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/lessor-dev/lessor/pkg/engine/stategate"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// state is where the CLI of one operation finds its stack.
type state interface {
	// URL is the backend's, for the CLI.
	URL() string
	// Exists reports whether the CLI finds the stack.
	Exists() bool
	// Close reports whether every write of the state was answered.
	Close(ctx context.Context) (clean bool, err error)
}

// plainState lets the CLI talk to the bucket itself. It has none of the
// promises; tests show with it what the gate is for.
type plainState struct {
	url    string
	exists bool
}

func (s plainState) URL() string                       { return s.url }
func (s plainState) Exists() bool                      { return s.exists }
func (plainState) Close(context.Context) (bool, error) { return true, nil }
func openPlain(op Operation, getenv func(string) string) plainState {
	return plainState{url: backendURL(op.Stack, "", getenv), exists: op.Stack.Created}
}

// openState opens the stack's state for an operation.
func openState(
	ctx context.Context, op Operation, left func() time.Duration, refused func(), busy func() func(),
) (*stategate.Gate, error) {
	store, err := stategate.Connect(ctx, op.Stack.Shard)
	if err != nil {
		return nil, fmt.Errorf("opening the state: %w", err)
	}

	gate, err := stategate.Open(ctx, store, stategate.Config{
		Project: op.Stack.Project, Stack: op.Stack.Name, Known: op.Stack.Created,
		Fence: op.Fence, Operation: op.ID, CleanPredecessor: op.CleanPredecessor, Retain: op.Retain,
		Left: left, Refused: refused, Busy: busy,
	})
	if err != nil {
		return nil, fmt.Errorf("opening the state: %w", err)
	}

	return gate, nil
}

// killOwnCLI ends everything that this child started, but not the child itself.
func killOwnCLI() {
	// What does not end is found again by the worker.
	_ = session(os.Getpid()).kill()
}

// failureOf finds the failure that an error carries.
func failureOf(err error) *tenant.Failure {
	if failure, ok := errors.AsType[*tenant.Failure](err); ok {
		return failure
	}

	return &tenant.Failure{Kind: tenant.KindUnknown, Message: oneLine(err.Error()), Hint: hints[tenant.KindUnknown]}
}
