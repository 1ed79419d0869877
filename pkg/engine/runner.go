package engine

import (
	"context"
	"errors"
	"io"
	"time"
)

// The causes with which the context of Runner.Run is cancelled.
var (
	// ErrInterrupt asks an operation to end soon and cleanly.
	ErrInterrupt = errors.New("the operation was interrupted")
	// ErrLeaseLost forbids the operation to do anything more.
	ErrLeaseLost = errors.New("the lease was lost")
)

// Watch is how a caller follows an operation.
type Watch struct {
	// Progress is called for every change, by one goroutine. It must not block
	// for long. It may be nil.
	Progress func(Progress)
	// LeaseUntil tells when the lease ends if it is not renewed. The child ends
	// itself then, even if this process is dead or frozen. It may be nil, and
	// its zero value means that the operation needs no lease.
	LeaseUntil func() time.Time
}

// Runner runs operations, each in a child process of its own.
type Runner struct{}

// Option changes how a Runner works.
type Option func(*Runner)

// NewRunner checks that the CLI and the plugins are there and prepares the
// working directory.
func NewRunner(_ context.Context, _ Config, _ ...Option) (*Runner, error) { return &Runner{}, nil }

// Run runs an operation in a slot, a small number that no other operation of
// this runner has at the time.
func (*Runner) Run(_ context.Context, _ int, _ Operation, _ Watch) Result { return Result{} }

// Close gives the working directory back. No operation may be running.
func (*Runner) Close() error { return nil }

// Child is the whole of the process that runs one operation.
func Child(_ context.Context, _ Programs, _ io.Reader, _ io.Writer) int { return 0 }
