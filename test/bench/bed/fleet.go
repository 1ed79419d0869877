package bed

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/lessor-dev/lessor/internal/localaws"
	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// FleetOptions say how the workers of a fleet run.
type FleetOptions struct {
	// Catalog is the text of the catalog.
	Catalog string
	// Counter replaces the CLI, if it is set.
	Counter *Counter
	// Binary is the worker, this program by default.
	Binary string
	// Variables are added to those of every worker.
	Variables []string
}

// Fleet is a queue and a table of their own, and the workers on them.
type Fleet struct {
	bed     *Bed
	options FleetOptions
	// Rows and Queue are neither counted nor delayed.
	Rows  *registry.Registry
	Queue *queue.Queue

	QueueURL, Table string
	environ         []string
	Workers         []*Worker
	sent            int
}

// NewFleet makes a queue and a table, and no worker yet.
func (b *Bed) NewFleet(ctx context.Context, o FleetOptions) (*Fleet, error) {
	const (
		private    = 0o600
		visibility = 2 * time.Minute
	)

	name := b.Name("bench")
	cfg := b.AWS()

	queueURL, deadURL, err := makeQueues(ctx, cfg, name)
	if err != nil {
		return nil, err
	}

	if err := makeTable(ctx, cfg, name); err != nil {
		return nil, err
	}

	catalog := filepath.Join(b.Dir, name+".yaml")
	if err := os.WriteFile(catalog, []byte(o.Catalog), private); err != nil {
		return nil, fmt.Errorf("writing the catalog: %w", err)
	}

	if o.Binary == "" {
		if o.Binary, err = os.Executable(); err != nil {
			return nil, fmt.Errorf("finding this program: %w", err)
		}
	}

	f := &Fleet{
		bed: b, options: o, QueueURL: queueURL, Table: name,
		Rows: registry.New(dynamodb.NewFromConfig(cfg), registry.Config{Table: name}, time.Now),
		Queue: queue.New(sqs.NewFromConfig(cfg), queue.Config{
			URL: queueURL, DeadLetterURL: deadURL, VisibilityTimeout: visibility, PollWait: time.Second,
		}),
	}
	f.environ = append(b.environ(), WorkerVariable+"=1",
		"LESSOR_QUEUE_URL="+queueURL, "LESSOR_DEAD_LETTER_QUEUE_URL="+deadURL, "LESSOR_TABLE="+name, "LESSOR_CATALOG="+catalog,
		"LESSOR_WORK_DIR="+filepath.Join(b.Dir, name), "LESSOR_MEMORY_LIMIT=8Gi", "LESSOR_MAX_SLOTS=1", "LESSOR_BACKOFF_MIN=1s",
		"LESSOR_SWEEP_INTERVAL=0", "LESSOR_RESULT_TARGET=")

	if o.Counter != nil {
		f.environ = append(f.environ, "LESSOR_PULUMI="+o.Counter.path())
	}

	f.environ = append(f.environ, o.Variables...)

	return f, nil
}

// Environ is that of a command that works on the fleet.
func (f *Fleet) Environ() []string { return f.environ }

// Close drains all workers at once: each ends with its last poll.
func (f *Fleet) Close() error {
	for _, w := range f.Workers {
		w.interrupt()
	}

	errs := make([]error, 0, len(f.Workers))
	for _, w := range f.Workers {
		errs = append(errs, w.drained())
	}

	f.Workers = nil

	return errors.Join(errs...)
}

// Event makes an event of now. change may be nil.
func (f *Fleet) Event(kind tenant.EventType, id tenant.ID, change func(*tenant.Event)) ([]byte, error) {
	const source = "lessor/bench"

	f.sent++
	now := time.Now()
	name := fmt.Sprintf("%s-%d", id, f.sent)
	e := tenant.Event{
		ID: name, Source: source, Type: kind, Tenant: id, Time: now, Version: tenant.TimeVersion(now, name, source),
	}

	if kind == tenant.EventCreated {
		e.Region = localaws.Region
	}

	if change != nil {
		change(&e)
	}

	return event.Encode(e, event.OrderTime)
}

// Send sends an event of now.
func (f *Fleet) Send(ctx context.Context, kind tenant.EventType, id tenant.ID, change func(*tenant.Event)) error {
	body, err := f.Event(kind, id, change)
	if err != nil {
		return err
	}

	_, err = f.Queue.Send(ctx, body)

	return err
}

const (
	// lookEvery is how exactly the end of an operation is seen.
	lookEvery = 4 * time.Millisecond
	patience  = 5 * time.Minute
)

// errFailed tells of an operation that failed. No benchmark expects one.
var errFailed = errors.New("the operation failed")

// Await returns once a tenant's row is as wanted.
func (f *Fleet) Await(ctx context.Context, id tenant.ID, wanted func(tenant.Record) bool) (tenant.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()

	for {
		rec, err := f.Rows.Get(ctx, id)
		if err != nil {
			return rec, fmt.Errorf("waiting for %s: %w\n%s", id, err, f.logs())
		}

		if wanted(rec) {
			return rec, nil
		}

		if rec.Last != nil && rec.Last.Failure != nil && rec.FailedSeq > rec.AppliedSeq {
			return rec, fmt.Errorf("%w: %s: %+v", errFailed, id, *rec.Last.Failure)
		}

		select {
		case <-ctx.Done():
			return rec, fmt.Errorf("waiting for %s: %w\n%s", id, context.Cause(ctx), f.logs())
		case <-ticker.C:
		}
	}
}

// Settled returns once nothing is left to do for a tenant that has seen so many
// changes.
func (f *Fleet) Settled(ctx context.Context, id tenant.ID, changes int64) (tenant.Record, error) {
	return f.Await(ctx, id, func(rec tenant.Record) bool {
		return rec.AppliedSeq >= changes && !rec.NeedsWork() && rec.Lease.Owner == ""
	})
}

// logs are the ends of all workers' logs.
func (f *Fleet) logs() string {
	var all strings.Builder
	for _, w := range f.Workers {
		all.WriteString(w.Tail())
	}

	return all.String()
}
