package worker

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lessor-dev/lessor/pkg/breaker"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/telemetry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// observer turns what happens to tenants into logs and metrics, and knows what
// runs.
type observer struct {
	log     *slog.Logger
	metrics *telemetry.Metrics

	mu      sync.Mutex
	running map[string]runningOperation
}

// runningOperation is one line of /debug/operations.
type runningOperation struct {
	OperationID string    `json:"operationId"`
	Tenant      string    `json:"tenant"`
	Tier        string    `json:"tier"`
	Steps       string    `json:"steps"`
	Fence       int64     `json:"fence"`
	Sequence    int64     `json:"sequence"`
	StartedAt   time.Time `json:"startedAt"`
	Deadline    time.Time `json:"deadline"`
}

func newObserver(log *slog.Logger, metrics *telemetry.Metrics) *observer {
	return &observer{log: log, metrics: metrics, running: map[string]runningOperation{}}
}

// LeaseAcquired counts a lease.
func (o *observer) LeaseAcquired(id tenant.ID, token registry.Token, tookOver bool) {
	outcome := "acquired"
	if tookOver {
		outcome = "takeover"

		o.log.Warn("took over the lease of a dead worker", telemetry.KeyTenant, string(id), telemetry.KeyFence, token.Fence)
	}

	o.metrics.LeaseAcquisitions.WithLabelValues(outcome).Inc()
}

// OperationStarted notes an operation that runs.
func (o *observer) OperationStarted(op engine.Operation, sequence int64, tier string) {
	entry := runningOperation{
		OperationID: op.ID,
		Tenant:      string(op.Tenant),
		Tier:        tier,
		Steps:       stepsOf(op),
		Fence:       op.Fence,
		Sequence:    sequence,
		StartedAt:   time.Now().UTC(),
		Deadline:    op.Deadline.UTC(),
	}

	o.mu.Lock()
	o.running[op.ID] = entry
	o.mu.Unlock()

	o.metrics.OperationsInProgress.Inc()
	o.logger(op, tier).Info("operation started", telemetry.KeySequence, sequence, telemetry.KeyShard, op.Stack.Shard)
}

// OperationFinished counts an operation and says how it ended, and where its time
// went. That is only known once the outcome is recorded and the lease let go, but
// the line has the time at which the operation ended: the log shows no two of a
// tenant at once.
func (o *observer) OperationFinished(
	op engine.Operation, tier string, outcome tenant.Outcome, res engine.Result, times phase.Times,
) {
	o.mu.Lock()
	delete(o.running, op.ID)
	o.mu.Unlock()

	o.metrics.OperationsInProgress.Dec()
	o.metrics.OperationFinished(tier, outcome, res.Processes, res.PeakMemory)
	o.metrics.TimeSpent(times)

	if res.Refused != "" {
		o.metrics.StateWritesRefused.WithLabelValues(string(res.Refused)).Inc()
	}

	log := o.logger(op, tier).With(telemetry.KeySequence, outcome.Sequence,
		"duration_seconds", outcome.Duration.Seconds(), "resources", outcome.Resources,
		"changes", outcome.Changes, "processes", res.Processes, "clean", res.Clean, "phases", times)
	at := outcome.StartedAt.Add(outcome.Duration)

	for _, r := range outcome.Repairs {
		o.logger(op, tier).Warn("state repaired", "action", string(r.Action), "detail", r.Detail)
	}

	if len(outcome.Orphans) > 0 {
		o.logger(op, tier).Warn("orphans found", "arns", outcome.Orphans,
			"hint", "enqueue orphans "+op.Tenant.String()+" lists them with what to do")
	}

	for _, c := range res.Complaints {
		o.logger(op, tier).Warn("state gate", "complaint", c)
	}

	if f := outcome.Failure; f != nil {
		logAt(log, at, slog.LevelWarn, "operation failed", telemetry.KeyKind, string(f.Kind), "error", f.Message, "resource", f.Resource,
			"hint", f.Hint, "step", f.Step)

		return
	}

	logAt(log, at, slog.LevelInfo, "operation succeeded")
}

// logAt logs what happened at a moment before.
func logAt(log *slog.Logger, at time.Time, level slog.Level, message string, attributes ...any) {
	ctx := context.Background()
	if !log.Enabled(ctx, level) {
		return
	}

	record := slog.NewRecord(at, level, message, 0)
	record.Add(attributes...)

	// Like any line that cannot be written, it is lost.
	_ = log.Handler().Handle(ctx, record)
}

// LeaseLost counts a lease that ended before its holder let go.
func (o *observer) LeaseLost(id tenant.ID, token registry.Token, cause error) {
	reason := "stolen"
	if errors.Is(cause, lease.ErrUncertain) {
		reason = "deadline"
	}

	o.metrics.LeaseLost.WithLabelValues(reason).Inc()
	o.log.Error("lost the lease; nothing more is written", telemetry.KeyTenant, string(id), telemetry.KeyFence, token.Fence,
		"error", cause)
}

// LeaseBusy counts an attempt at a lease that another worker holds.
func (o *observer) LeaseBusy() { o.metrics.LeaseAcquisitions.WithLabelValues("busy").Inc() }

// breakerChanged notes that operations in a region and tier are paused, or are
// not any more.
func (o *observer) breakerChanged(region, tier string, to breaker.State) {
	o.metrics.BreakerChanged(region, tier, int(to))

	level := slog.LevelInfo
	if to == breaker.Open {
		level = slog.LevelWarn
	}

	o.log.Log(context.Background(), level, "the breaker of a region and tier changed", "region", region, telemetry.KeyTier, tier,
		"state", to.String())
}

// Published counts a result event.
func (o *observer) Published(err error) {
	outcome := "ok"
	if err != nil {
		outcome = "error"
	}

	o.metrics.ResultsPublished.WithLabelValues(outcome).Inc()
}

// HookAsked logs a request to the data hook of a tier change.
func (o *observer) HookAsked(id tenant.ID, change tenant.Change, err error) {
	log := o.log.With(telemetry.KeyTenant, string(id), "change", change.ID, "tier", change.Other.Spec.Tier, "deadline", change.Deadline)

	if err != nil {
		log.Warn("the data hook did not take the request", "error", err)

		return
	}

	log.Info("asked the data hook, and wait for its answer")
}

// Trouble logs what went wrong beside the work itself.
func (o *observer) Trouble(id tenant.ID, doing string, err error) {
	o.log.Error(doing, telemetry.KeyTenant, string(id), "error", err)
}

// operations lists what runs, the oldest first.
func (o *observer) operations() any {
	o.mu.Lock()
	defer o.mu.Unlock()

	return slices.SortedFunc(maps.Values(o.running), func(a, b runningOperation) int {
		return a.StartedAt.Compare(b.StartedAt)
	})
}

// longest is for how long the oldest operation has run, 0 if none runs.
func (o *observer) longest() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()

	longest := time.Duration(0)
	for _, op := range o.running {
		longest = max(longest, time.Since(op.StartedAt))
	}

	return longest
}

func (o *observer) logger(op engine.Operation, tier string) *slog.Logger {
	return o.log.With(telemetry.KeyTenant, string(op.Tenant), telemetry.KeyTier, tier,
		telemetry.KeyOperation, stepsOf(op), telemetry.KeyOperationID, op.ID, telemetry.KeyFence, op.Fence)
}

func stepsOf(op engine.Operation) string {
	steps := make([]string, 0, len(op.Steps))
	for _, s := range op.Steps {
		steps = append(steps, string(s))
	}

	return strings.Join(steps, ",")
}
