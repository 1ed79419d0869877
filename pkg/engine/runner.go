package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
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
	// Progress is called for every change, by one goroutine, and no more once
	// Run has returned. It must not block for long. It may be nil.
	Progress func(Progress)
	// LeaseUntil tells when the lease ends if it is not renewed. The child ends
	// itself then, even if this process is dead or frozen. It may be nil, and
	// its zero value means that the operation needs no lease.
	LeaseUntil func() time.Time
}

// Runner runs operations, each in a child process of its own. It is safe for
// concurrent use.
type Runner struct {
	config  Config
	options options
	cli     cli
	slots   *slots
	spare   *spare
}

type options struct {
	command        []string
	plugins        map[string]string
	memory         int64
	plainState     bool
	spare          bool
	terminateGrace time.Duration
	timeoutGrace   time.Duration
	backstop       time.Duration
}

// Option changes how a Runner works.
type Option func(*options)

// WithCommand replaces the command of the child process, which calls Child. It
// is this executable with the argument "operation" otherwise.
func WithCommand(command ...string) Option {
	return func(o *options) { o.command = command }
}

// WithPlugins replaces the provider plugins that must be installed, versions by
// name. They are the ones whose SDKs are built into this executable otherwise.
func WithPlugins(plugins map[string]string) Option {
	return func(o *options) { o.plugins = plugins }
}

// WithMemory bounds the memory of one operation with all its processes, in
// bytes. One that takes more is killed. There is no bound otherwise.
func WithMemory(bytes int64) Option {
	return func(o *options) { o.memory = bytes }
}

// WithSpare has a child process stand ready after the first operation, so that the
// next ones begin some 50 ms earlier. It takes the memory of one process that has
// nothing to do, some 30 MiB with the shipped programs.
func WithSpare() Option {
	return func(o *options) { o.spare = true }
}

// WithPlainState lets the CLI write to the state bucket itself, as the Automation
// API does: no write is fenced. Tests show with it what the state gate prevents;
// nothing else may use it.
func WithPlainState() Option {
	return func(o *options) { o.plainState = true }
}

const (
	// terminateGrace is what the engine gets to save its state after the second
	// SIGINT. It no longer waits for the cloud then.
	terminateGrace = 30 * time.Second
	// timeoutGrace replaces the interrupt's grace at the deadline, behind which
	// SQS gives the message to somebody else.
	timeoutGrace = 30 * time.Second
	// backstop is what the child gets on top to end itself.
	backstop = 15 * time.Second
)

// ChildArgument is the hidden command of a worker that calls Child.
const ChildArgument = "operation"

// errChildRuns keeps an executable that does not know the argument "operation"
// from starting itself again and again.
var errChildRuns = errors.New("this process was started to run one operation: " +
	"its main function must call Child for the argument \"operation\" before anything else")

// NewRunner checks that the CLI and the plugins are there and takes a working
// directory. This process becomes the parent of orphaned descendants, for good.
func NewRunner(ctx context.Context, cfg Config, opts ...Option) (*Runner, error) {
	if os.Getenv(childMark) != "" {
		return nil, errChildRuns
	}

	if err := cfg.Validate(); err != nil {
		return nil, err
	}

	o := options{
		plugins:        builtInPlugins(),
		terminateGrace: terminateGrace,
		timeoutGrace:   timeoutGrace,
		backstop:       backstop,
	}
	for _, apply := range opts {
		apply(&o)
	}

	if len(o.command) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, fmt.Errorf("finding this executable: %w", err)
		}

		o.command = []string{self, ChildArgument}
	}

	found, err := findCLI(ctx, cfg.Pulumi)
	if err != nil {
		return nil, err
	}

	plugins, err := findPlugins(cfg.PluginDir, o.plugins)
	if err != nil {
		return nil, err
	}

	if err := adoptOrphans(); err != nil {
		return nil, err
	}

	workDir, err := filepath.Abs(workDirOf(cfg))
	if err != nil {
		return nil, fmt.Errorf("finding LESSOR_WORK_DIR: %w", err)
	}

	endStrays(workDir)

	claimed, err := claimSlots(workDir, plugins)
	if err != nil {
		return nil, err
	}

	r := &Runner{config: cfg, options: o, cli: found, slots: claimed}

	if o.spare {
		r.spare = &spare{start: func() (*process, error) { return startProcess(o.command, claimed.none(), claimed.lock) }}
	}

	return r, nil
}

func workDirOf(cfg Config) string {
	if cfg.WorkDir != "" {
		return cfg.WorkDir
	}

	return filepath.Join(os.TempDir(), "lessor")
}

// Close gives the working directory back. No operation may be running.
func (r *Runner) Close() error {
	r.spare.close()

	return r.slots.release()
}

// Run runs an operation in a slot, a small number that no other operation of
// this runner has at the time. When it returns, every process of the operation
// has ended and its files are gone.
//
// The cause with which ctx is cancelled decides how the operation ends: one
// that wraps ErrLeaseLost kills it at once, every other one interrupts it, so
// that it can save its state and unlock its stack.
func (r *Runner) Run(ctx context.Context, number int, op Operation, watch Watch) Result {
	began := bootNanoseconds()

	prepared, err := r.slots.prepare(number)
	if err != nil {
		return r.notStarted(op, err)
	}

	if latest := time.Now().Add(r.config.OperationTimeout); op.Deadline.IsZero() || op.Deadline.After(latest) {
		op.Deadline = latest
	}

	o := order{Operation: op, Settings: settings{
		Pulumi:          r.cli.path,
		Version:         r.cli.version.String(),
		SecretsProvider: r.config.SecretsProvider,
		Parallel:        r.config.Parallel,
		Slot:            prepared,
		InterruptGrace:  r.config.InterruptGrace,
		TerminateGrace:  r.options.terminateGrace,
		Leased:          watch.LeaseUntil != nil && !watch.LeaseUntil().IsZero(),
		PlainState:      r.options.plainState,
	}}

	process := r.spare.take()
	o.Settings.Enter = process != nil

	if process == nil {
		if process, err = startProcess(r.options.command, prepared, r.slots.lock); err != nil {
			return r.notStarted(op, errors.Join(err, r.slots.clean(number)))
		}
	}

	// Not before the operation's end, which would have to share the processors
	// with the start; and what it leads to need not wait for that.
	defer func() { go r.spare.fill() }()

	s := supervisor{
		process: process, order: o, watch: watch, options: r.options, began: began,
		memory: newMemoryWatch(newMeter(process.session), r.options.memory),
	}
	result := s.supervise(ctx)

	// What is left is removed before the next operation of the slot, too.
	_ = r.slots.clean(number)

	return result
}

func (*Runner) notStarted(op Operation, err error) Result {
	return Result{
		Resources:    unknownResources,
		StackCreated: op.Stack.Created,
		Clean:        op.CleanPredecessor,
		Failure: &tenant.Failure{
			Kind:    tenant.KindTransient,
			Message: oneLine("starting the operation: " + err.Error()),
			Hint:    "look at the disk and the process limits of the worker's host",
		},
	}
}
