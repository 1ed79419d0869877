package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lessor-dev/lessor/pkg/breaker"
	"github.com/lessor-dev/lessor/pkg/capacity"
	"github.com/lessor-dev/lessor/pkg/catalog"
	"github.com/lessor-dev/lessor/pkg/config"
	"github.com/lessor-dev/lessor/pkg/cutover"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/pool"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/sweep"
	"github.com/lessor-dev/lessor/pkg/telemetry"
)

// assembly is a worker with all its parts.
type assembly struct {
	worker *Worker
	admin  *telemetry.Admin
	runner *engine.Runner
}

// parts are the clients that a check looks at as well.
type parts struct {
	aws      aws.Config
	catalog  *catalog.Catalog
	slots    int
	limit    capacity.Bytes
	source   string
	queue    *queue.Queue
	registry *registry.Registry
	runner   *engine.Runner
}

// connect makes the parts and reports every problem that can be seen without
// taking work.
func connect(ctx context.Context, cfg config.Worker, programs engine.Programs) (parts, error) {
	var (
		p    parts
		errs []error
		err  error
	)

	if p.aws, err = awsconfig.LoadDefaultConfig(ctx); err != nil {
		errs = append(errs, fmt.Errorf("loading the AWS configuration: %w", err))
	} else if p.aws.Region == "" {
		errs = append(errs, errors.New("AWS_REGION: no region is set; set it to the region of the queue and the table"))
	}

	if p.catalog, err = catalog.Load(cfg.Catalog, catalog.Checkers(programs), cfg.Regions); err != nil {
		errs = append(errs, fmt.Errorf("LESSOR_CATALOG: %w", err))
	}

	if p.limit, p.source, err = capacity.Limit(os.DirFS("/"), cfg.Capacity.MemoryLimit); err != nil {
		errs = append(errs, err)
	} else if p.slots, err = capacity.Slots(p.limit, cfg.Capacity); err != nil {
		errs = append(errs, err)
	}

	p.runner, err = engine.NewRunner(ctx, cfg.Engine, engine.WithMemory(int64(cfg.Capacity.OperationMemory)), engine.WithSpare())
	if err != nil {
		errs = append(errs, err)
	}

	if err := errors.Join(errs...); err != nil {
		return parts{}, err
	}

	p.queue = queue.New(sqs.NewFromConfig(p.aws), cfg.Queue)
	p.registry = registry.New(dynamodb.NewFromConfig(p.aws), cfg.Registry, time.Now)

	return p, nil
}

// assemble wires the parts into a worker. It takes no work yet.
func assemble(ctx context.Context, cfg config.Worker, programs engine.Programs, stderr io.Writer) (*assembly, error) {
	log, err := telemetry.NewLogger(stderr, cfg.Telemetry)
	if err != nil {
		return nil, fmt.Errorf("starting the log: %w", err)
	}

	for _, warning := range cfg.Warnings {
		log.WarnContext(ctx, warning)
	}

	p, err := connect(ctx, cfg, programs)
	if err != nil {
		return nil, err
	}

	publisher, err := result.New(cfg.Result, p.aws)
	if err != nil {
		return nil, fmt.Errorf("starting the publisher: %w", err)
	}

	registered := prometheus.NewRegistry()
	w, observer := newWorker(ctx, cfg, p, publisher, telemetry.NewMetrics(registered, p.catalog.Tiers()), log)

	//nolint:contextcheck // its listener lives as long as the process
	admin, err := telemetry.NewAdmin(cfg.Telemetry, registered, telemetry.Health{
		Live:       w.live,
		Ready:      readiness(p, cfg.Shard.Buckets, w),
		Operations: observer.operations,
	})
	if err != nil {
		return nil, fmt.Errorf("LESSOR_ADMIN_ADDRESS: %w", err)
	}

	log.InfoContext(ctx, "starting", "version", buildVersion(), "slots", p.slots, "memory_limit", p.limit.String(),
		"memory_limit_from", p.source, "admin", admin.Addr(), "queue", cfg.Queue.URL, "table", cfg.Registry.Table,
		"shards", len(cfg.Shard.Buckets), "tiers", p.catalog.Tiers())

	return &assembly{worker: w, admin: admin, runner: p.runner}, nil
}

// newWorker puts the loop, the reconciler and what watches them together.
func newWorker(
	ctx context.Context, cfg config.Worker, p parts, publisher *result.Publisher, metrics *telemetry.Metrics, log *slog.Logger,
) (*Worker, *observer) {
	observer := newObserver(log, metrics)
	leases := lease.New(dynamodb.NewFromConfig(p.aws), cfg.Registry.Table, cfg.Lease,
		lease.WithRenewals(func(outcome string) { metrics.LeaseRenewals.WithLabelValues(outcome).Inc() }))
	gate := newGate()
	// With sightings of its own: the rows it surveys may be older than those that
	// others watch.
	sweeper := sweep.New(cfg.Sweep, sweep.Parts{
		Rows:   p.registry,
		Leases: lease.New(dynamodb.NewFromConfig(p.aws), cfg.Registry.Table, cfg.Lease),
		Queue:  p.queue, Log: log, Schedule: cfg.Schedule, Now: time.Now, WaitOpen: gate.waitOpen, Swept: observer.swept,
	})
	slots := newSlots(p.slots, gate.drain)
	interrupt, cancel := context.WithCancelCause(context.WithoutCancel(ctx))

	metrics.Limited(telemetry.Limits{
		Slots: p.slots, Memory: int64(p.limit), OperationMemory: int64(cfg.Capacity.OperationMemory),
		OperationTimeout: cfg.Engine.OperationTimeout, SweepInterval: cfg.Sweep.Interval,
	})
	metrics.Built(buildVersion())
	metrics.Watch(slots.used, observer.longest)

	return &Worker{
		config: Config{
			PollWait:      cfg.Queue.PollWait,
			DrainTimeout:  cfg.DrainTimeout,
			LeaseDuration: cfg.Lease.Duration,
		},
		messages:   p.queue,
		visibility: p.queue,
		counter:    p.queue,
		decoder:    event.NewDecoder(cfg.EventOrder, time.Now),
		rows:       p.registry,
		leases:     leases,
		metrics:    metrics,
		log:        log,
		slots:      slots,
		hands:      newHands(p.slots),
		gate:       gate,
		watchers:   make(chan struct{}, maxWatchers),
		deleting:   make(chan struct{}, maxReceive),
		interrupt:  cancel,
		sweep:      sweeper.Run,
		settler: &reconcile.Reconciler{
			Config: reconcile.Config{
				Project:          cfg.Engine.Project,
				Buckets:          cfg.Shard.Buckets,
				Build:            buildVersion(),
				OperationTimeout: cfg.Engine.OperationTimeout,
				Backoff:          reconcile.Backoff{Min: cfg.BackoffMin, Max: cfg.BackoffMax},
				Schedule:         cfg.Schedule,
			},
			Rows:    p.registry,
			Ledger:  p.registry,
			Leases:  leases,
			Catalog: p.catalog,
			Pools: pool.New(pool.Parts{
				Rows: p.registry, Queue: p.queue, Catalog: p.catalog, Log: log, Now: time.Now,
			}),
			Engine:    p.runner,
			Slots:     slots,
			Gate:      gate,
			Breaker:   breaker.New(cfg.Breaker, observer.breakerChanged),
			Hook:      cutover.New(sqs.NewFromConfig(p.aws)),
			Addresses: p.registry.Addresses(),
			Publisher: publisher,
			Observer:  observer,
			Interrupt: interrupt,
		},
	}, observer
}

// adminStopTimeout bounds the end of the admin server.
const adminStopTimeout = 5 * time.Second

func (a *assembly) run(ctx context.Context, hurry <-chan struct{}) error {
	a.admin.Start()

	err := a.worker.Run(ctx, hurry)

	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminStopTimeout)
	defer cancel()

	if stopErr := a.admin.Stop(stopCtx); stopErr != nil {
		err = errors.Join(err, fmt.Errorf("stopping the admin server: %w", stopErr))
	}

	if closeErr := a.runner.Close(); closeErr != nil {
		err = errors.Join(err, fmt.Errorf("giving the work directory back: %w", closeErr))
	}

	return err
}
