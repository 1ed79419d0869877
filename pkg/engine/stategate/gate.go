package stategate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Config says for which operation a gate is opened.
type Config struct {
	// Project and Stack name the stack.
	Project, Stack string
	// Known reports that the stack is recorded to have a checkpoint: then one
	// that is missing is an accident.
	Known bool
	// Fence is the lease's, Operation a name that no other operation has.
	Fence     int64
	Operation string
	// CleanPredecessor reports that no write of an earlier operation can still
	// be under way.
	CleanPredecessor bool
	// Retain keeps history and older versions where the stack is removed. A purge
	// takes them.
	Retain bool
	// Left is how long the lease lasts. Nothing is written once it is 0.
	Left func() time.Duration
	// Refused is called once, from a goroutine of its own, when a write of the
	// state was refused. The CLI must be killed then: the request stays without
	// an answer. See Gate.Err for the reason.
	Refused func()
	// Busy is called when somebody begins to wait for the open gate, from
	// several goroutines, and what it returns when that has ended. It may be nil.
	Busy func() (done func())
}

// Gate is the state of one stack, open for one operation.
type Gate struct {
	cfg   Config
	keys  keys
	store Store
	lock  *lock

	// mu orders the writes of the checkpoint and guards what follows.
	mu    sync.Mutex
	body  []byte
	etag  string
	state checkpoint.State
	// outlined means that state lacks the properties of resources.
	outlined bool
	// damage is why the state may not be used as it is.
	damage error
	writes int64
	// refused ends the operation, unanswered means that a write may still land.
	refused    error
	unanswered bool
	repairs    []tenant.Repair
	// lost are the creations, by URN, that the CLI took for failed.
	lost map[string]json.RawMessage

	// kept ends with the entries of the history that are being written.
	kept sync.WaitGroup

	local    *local
	listener net.Listener
	server   *http.Server
	served   chan struct{}
	token    string
	// done is closed once nothing is answered any more.
	done chan struct{}
}

// Open locks the stack, reads its state, makes sure that no older operation can
// write it any more and starts to serve it. The error wraps a *tenant.Failure
// where the operation must not go on, and leaves nothing open.
func Open(ctx context.Context, store Store, cfg Config) (*Gate, error) {
	if cfg.Busy == nil {
		cfg.Busy = func() func() { return func() {} }
	}

	k := keysOf(cfg.Project, cfg.Stack)
	g := &Gate{
		cfg: cfg, keys: k, store: store,
		lock:  &lock{store: store, prefix: k.locks, fence: cfg.Fence, operation: cfg.Operation},
		local: newLocal(),
		done:  make(chan struct{}),
	}

	repairs, err := g.lock.take(ctx)
	if err != nil {
		return nil, failed(err)
	}

	g.repairs = repairs

	if err := g.prepare(ctx); err != nil {
		_ = g.lock.release(ctx) // the first trouble is the one to tell

		return nil, failed(err)
	}

	if err := g.serve(ctx); err != nil {
		_ = g.lock.release(ctx) // the first trouble is the one to tell

		return nil, err
	}

	return g, nil
}

// prepare reads the state and takes it over. The state is read once the lock is
// written, and while it is confirmed: if it is not, what was read is dropped.
func (g *Gate) prepare(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()

	var (
		read   fetched
		reader sync.WaitGroup
	)

	reader.Go(func() { read = g.fetch(ctx) })

	err := g.lock.confirm(ctx)

	reader.Wait()

	if err != nil {
		return err
	}

	restored, err := g.load(ctx, read)
	if err != nil {
		return err
	}

	if g.cfg.CleanPredecessor && !restored {
		return nil
	}

	return g.fence(ctx)
}

// fetched is the checkpoint, or why there is none.
type fetched struct {
	object Object
	err    error
}

func (g *Gate) fetch(ctx context.Context) fetched {
	object, err := g.store.Get(ctx, g.keys.checkpoint, "")

	return fetched{object: object, err: err}
}

// load takes the checkpoint that was read, or an older version of one that is
// missing or cannot be read.
func (g *Gate) load(ctx context.Context, read fetched) (restored bool, err error) {
	object, err := read.object, read.err

	switch {
	case errors.Is(err, ErrNotFound) && !g.cfg.Known:
		g.body, g.etag, g.state, g.damage = nil, "", checkpoint.State{}, nil

		return false, g.openBackend(ctx)
	case errors.Is(err, ErrNotFound):
		return true, g.restore(ctx, "it was missing")
	case err != nil:
		return false, err
	}

	if object.Stamp.Fence > g.cfg.Fence {
		return false, superseded(object.Stamp.Fence)
	}

	g.etag = object.ETag

	if err := g.adopt(object.Body, true); errors.Is(err, checkpoint.ErrUnreadable) {
		return true, g.restore(ctx, err.Error())
	}

	return false, nil
}

// openBackend writes what marks a bucket as a backend, for people at the plain
// CLI. It is there but for the first stack of a bucket.
func (g *Gate) openBackend(ctx context.Context) error {
	_, err := g.store.Put(ctx, g.keys.meta, []byte(metaContent), Stamp{}, Condition{Absent: true})
	if errors.Is(err, ErrPrecondition) || errors.Is(err, ErrRaced) {
		return nil
	}

	return err
}

// adopt makes a checkpoint the one that is served. Only a whole one is read with
// the properties of resources at once.
func (g *Gate) adopt(body []byte, whole bool) error {
	body = unstamp(body)
	if g.body != nil && bytes.Equal(body, g.body) {
		return nil
	}

	read := checkpoint.Outline
	if whole {
		read = checkpoint.Read
	}

	state, err := read(body)
	if errors.Is(err, checkpoint.ErrUnreadable) {
		return err
	}

	g.body, g.state, g.damage, g.outlined = body, state, err, !whole

	return nil
}

// State is what the checkpoint says now.
func (g *Gate) State() checkpoint.State {
	g.mu.Lock()
	defer g.mu.Unlock()

	// The CLI writes at every step, and hardly anybody asks in between.
	if g.outlined {
		if full, err := checkpoint.Read(g.body); !errors.Is(err, checkpoint.ErrUnreadable) {
			g.state, g.outlined = full, false
		}
	}

	return g.state
}

// Exists reports whether the CLI finds a stack. An empty checkpoint without a
// secrets provider is none: it is what a removal leaves, and what is left of a
// creation that was cut short.
func (g *Gate) Exists() bool {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.exists()
}

func (g *Gate) exists() bool {
	return g.body != nil && (!g.state.Empty() || g.state.SecretsProvider != "")
}

// Damage is why the CLI would refuse the state, or nil.
func (g *Gate) Damage() error {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.damage
}

// Repairs lists what was mended so far.
func (g *Gate) Repairs() []tenant.Repair {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.repairs
}

// Err is why a write was refused, as a *tenant.Failure, or nil.
func (g *Gate) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()

	return g.refused
}

// Complaints are what went wrong without harm to the state: requests for what
// is not of this stack, and history that was not written. It waits for the latter.
func (g *Gate) Complaints() []string {
	g.kept.Wait()

	return g.local.takeComplaints()
}

// Close stops serving, waits for the write that is under way and unlocks the
// stack. clean reports that every write of the state was answered, so that a
// successor need not fear a late one.
func (g *Gate) Close(ctx context.Context) (clean bool, err error) {
	// The connections go first, so that nobody hears an answer of what waits.
	err = g.server.Close()
	<-g.served

	close(g.done)
	g.kept.Wait()

	g.mu.Lock()
	defer g.mu.Unlock()

	return !g.unanswered, errors.Join(err, g.lock.release(ctx))
}

// failed makes sure that an error carries a *tenant.Failure.
func failed(err error) error {
	if _, ok := errors.AsType[*tenant.Failure](err); ok {
		return err
	}

	kind, hint := tenant.KindTransient, "it is tried again; look at the health of S3 if it lasts"
	if errors.Is(err, ErrDenied) {
		kind, hint = tenant.KindDenied, "give the worker's role the permissions on the state bucket that docs/safety.md lists"
	}

	return &tenant.Failure{Kind: kind, Message: fmt.Sprintf("the stack's state: %v", err), Hint: hint}
}
