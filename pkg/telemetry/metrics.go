package telemetry

import (
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const namespace = "lessor"

// Metrics are all metrics of a worker. None has a tenant, a message or an
// owner as a label: those are without bound and belong into logs.
type Metrics struct {
	MessagesReceived     *prometheus.CounterVec // type
	MessagesDeleted      *prometheus.CounterVec // outcome
	MessagesDeadLettered *prometheus.CounterVec // reason
	MessagesReleased     *prometheus.CounterVec // reason
	MessageQueueDuration prometheus.Histogram
	ReceiveRequests      *prometheus.CounterVec // outcome
	LastSuccessfulPoll   prometheus.Gauge
	ReceiptsLost         prometheus.Counter
	EventsAccepted       *prometheus.CounterVec // type, changed

	QueueMessages *prometheus.GaugeVec   // queue, state
	QueueCounts   *prometheus.CounterVec // queue, outcome
	BacklogAge    *prometheus.GaugeVec   // no labels; a vector, since it may have no value

	LeaseAcquisitions *prometheus.CounterVec // outcome
	LeaseRenewals     *prometheus.CounterVec // outcome
	LeaseLost         *prometheus.CounterVec // reason

	Operations           *prometheus.CounterVec   // tier, outcome, kind
	OperationDuration    *prometheus.HistogramVec // tier, outcome
	OperationSteps       *prometheus.CounterVec   // step, outcome
	OperationPhases      *prometheus.CounterVec   // phase
	OperationMemory      prometheus.Histogram
	OperationsInProgress prometheus.Gauge
	CLIProcesses         prometheus.Counter
	ResultsPublished     *prometheus.CounterVec // outcome

	BreakerState  *prometheus.GaugeVec   // region, tier
	BreakerOpened *prometheus.CounterVec // region, tier

	DriftDetected  *prometheus.CounterVec // tier
	DriftResources *prometheus.CounterVec // tier, action

	StateRepairs       *prometheus.CounterVec // action
	StateWritesRefused *prometheus.CounterVec // kind
	OrphansFound       prometheus.Counter

	SweepRows      *prometheus.CounterVec // action
	SweepDuration  prometheus.Histogram
	LastSweep      prometheus.Gauge
	TenantsWaiting *prometheus.GaugeVec // reason

	Slots                 prometheus.Gauge
	MemoryLimit           prometheus.Gauge
	OperationMemoryBudget prometheus.Gauge
	OperationMemoryRatio  prometheus.Histogram
	OperationTimeout      prometheus.Gauge
	SweepInterval         prometheus.Gauge
	Draining              prometheus.Gauge
	Paused                prometheus.Gauge
	BuildInfo             *prometheus.GaugeVec // version, go_version

	registerer prometheus.Registerer
	tiers      []string
	// budget is the memory that one operation may take, 0 for no bound.
	budget int64
}

// NewMetrics makes the metrics and registers them, together with those of the
// Go runtime and the process. Every combination of labels that can be known
// beforehand starts at zero, so that increase() sees the first event of its
// kind.
func NewMetrics(reg prometheus.Registerer, tiers []string) *Metrics {
	m := &Metrics{
		registerer: reg,
		tiers:      append(slices.Clone(tiers), otherTier),

		MessagesReceived: counters("messages_received_total",
			"Messages taken from the queue, by the type of the event in them.", "type"),
		MessagesDeleted: counters("messages_deleted_total",
			"Messages done with, by why nothing is left to do for them.", "outcome"),
		MessagesDeadLettered: counters("messages_dead_lettered_total",
			"Messages moved to the dead-letter queue, by what is wrong with them.", "reason"),
		MessagesReleased: counters("messages_released_total",
			"Messages given back to the queue, by why they must come back later.", "reason"),
		MessageQueueDuration: histogram("message_queue_duration_seconds",
			"Time from the sending of a message to its first receipt and acceptance.", queueBuckets()),
		ReceiveRequests: counters("receive_requests_total",
			"Receive calls to SQS, by what they brought.", "outcome"),
		LastSuccessfulPoll: gauge("last_successful_poll_timestamp_seconds",
			"When a receive call last succeeded, in Unix time."),
		ReceiptsLost: counter("message_receipts_lost_total",
			"Messages in hand that became visible to others, because their visibility could not be extended."),
		EventsAccepted: counters("events_accepted_total",
			"Events accepted, by type and by whether they changed what is desired.", "type", "changed"),

		LeaseAcquisitions: counters("lease_acquisitions_total",
			"Attempts to take the lease of a tenant.", "outcome"),
		LeaseRenewals: counters("lease_renewals_total",
			"Renewals of leases.", "outcome"),
		LeaseLost: counters("lease_lost_total",
			"Leases lost while an operation needed them.", "reason"),

		Operations: counters("operations_total",
			"Operations that ended, by tier, outcome and kind of failure (none if they succeeded).", "tier", "outcome", "kind"),
		OperationDuration: histograms("operation_duration_seconds",
			"Duration of operations.", operationBuckets(), "tier", "outcome"),
		OperationSteps: counters("operation_steps_total",
			"Steps of operations that ended.", "step", "outcome"),
		OperationPhases: counters("operation_phase_seconds_total",
			"Time of operations from the receipt of the message to the recorded outcome, by where it went.", "phase"),
		OperationMemory: histogram("operation_memory_bytes",
			"Highest memory of one operation with all its processes (PSS).", memoryBuckets()),
		OperationsInProgress: gauge("operations_in_progress",
			"Operations that run."),
		CLIProcesses: counter("cli_processes_total",
			"Processes of the Pulumi CLI started."),
		ResultsPublished: counters("results_published_total",
			"Result events published.", "outcome"),

		BreakerState: gauges("breaker_state",
			"Whether new operations in a region and tier are turned away: 0 no, 1 but for one, 2 all.", "region", "tier"),
		BreakerOpened: counters("breaker_opened_total",
			"Pauses of a region and tier because many tenants failed alike.", "region", "tier"),

		DriftDetected: counters("drift_detected_total",
			"Operations that found the cloud to differ from the state.", "tier"),
		DriftResources: counters("drift_resources_total",
			"Resources found to differ, by whether their properties did (update) or they were there no more (delete).",
			"tier", "action"),

		StateRepairs: counters("state_repairs_total",
			"What was mended in the state of stacks after a worker died.", "action"),
		StateWritesRefused: counters("state_writes_refused_total",
			"Operations that were stopped because they might not write their stack's state, by kind of failure.", "kind"),
		OrphansFound: counter("orphans_found_total",
			"Resources found by a tenant's tag that its state does not know."),

		Draining: gauge("draining",
			"1 while the worker takes no new work because it ends."),
		Paused: gauge("paused",
			"1 while the fleet is paused."),
		BuildInfo: gauges("build_info",
			"1, with the version of the worker.", "version", "go_version"),
	}

	m.addQueues()
	m.addLimits()
	m.addSweep()
	reg.MustRegister(m.collectors()...)
	m.initialise()

	return m
}

// Watch adds the gauges whose values are asked for when they are read: how
// many slots are used, and for how long the oldest operation has run.
func (m *Metrics) Watch(slotsUsed func() int, longestOperation func() time.Duration) {
	m.registerer.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Name: "slots_used", Help: "Slots in which an operation runs or is about to.",
		}, func() float64 { return float64(slotsUsed()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Name: "longest_running_operation_seconds",
			Help: "For how long the oldest running operation has run; 0 if none runs.",
		}, func() float64 { return longestOperation().Seconds() }),
	)
}

// Built notes the version of the worker.
func (m *Metrics) Built(version string) {
	m.BuildInfo.WithLabelValues(version, runtime.Version()).Set(1)
}

// Accepted counts an event.
func (m *Metrics) Accepted(t tenant.EventType, changed bool) {
	m.EventsAccepted.WithLabelValues(event.TypeName(t), strconv.FormatBool(changed)).Inc()
}

// OperationFinished counts an operation: how it ended, how many processes of
// the CLI it took and how much memory. A peak that is not known is 0.
func (m *Metrics) OperationFinished(tier string, outcome tenant.Outcome, processes int, peakMemory int64) {
	tier = m.known(tier)
	result, kind := outcomeSucceeded, kindNone

	if outcome.Failure != nil {
		result, kind = outcomeFailed, string(outcome.Failure.Kind)
	}

	m.Operations.WithLabelValues(tier, result, kind).Inc()
	m.OperationDuration.WithLabelValues(tier, result).Observe(outcome.Duration.Seconds())
	m.CLIProcesses.Add(float64(processes))
	m.countSteps(outcome)
	m.countDrift(tier, outcome.Report)
	m.OrphansFound.Add(float64(len(outcome.Orphans)))

	for _, r := range outcome.Repairs {
		m.StateRepairs.WithLabelValues(string(r.Action)).Inc()
	}

	m.memoryTaken(peakMemory)
}

// TimeSpent counts where the time of an operation went.
func (m *Metrics) TimeSpent(times phase.Times) {
	for p, d := range times {
		m.OperationPhases.WithLabelValues(string(p)).Add(d.Seconds())
	}
}

// BreakerChanged notes that the breaker of a region and tier went to another
// state: 0 closed, 1 half-open, 2 open.
func (m *Metrics) BreakerChanged(region, tier string, state int) {
	const open = 2

	tier = m.known(tier)
	opened := m.BreakerOpened.WithLabelValues(region, tier)

	m.BreakerState.WithLabelValues(region, tier).Set(float64(state))

	if state == open {
		opened.Inc()
	}
}

func (m *Metrics) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.MessagesReceived, m.MessagesDeleted, m.MessagesDeadLettered, m.MessagesReleased, m.MessageQueueDuration,
		m.ReceiveRequests, m.LastSuccessfulPoll, m.ReceiptsLost, m.EventsAccepted,
		m.QueueMessages, m.QueueCounts, m.BacklogAge,
		m.LeaseAcquisitions, m.LeaseRenewals, m.LeaseLost,
		m.Operations, m.OperationDuration, m.OperationSteps, m.OperationPhases, m.OperationMemory, m.OperationsInProgress,
		m.CLIProcesses, m.ResultsPublished, m.DriftDetected, m.DriftResources, m.BreakerState, m.BreakerOpened,
		m.StateRepairs, m.StateWritesRefused, m.OrphansFound,
		m.SweepRows, m.SweepDuration, m.LastSweep, m.SweepInterval, m.TenantsWaiting,
		m.Slots, m.MemoryLimit, m.OperationMemoryBudget, m.OperationMemoryRatio, m.OperationTimeout,
		m.Draining, m.Paused, m.BuildInfo,
	}
}

// countSteps counts the steps up to the one that failed. If it is not known
// which one that was, nobody knows what the others did either.
func (m *Metrics) countSteps(outcome tenant.Outcome) {
	done := outcome.Steps

	if outcome.Failure != nil {
		failed := slices.Index(outcome.Steps, outcome.Failure.Step)
		if failed < 0 {
			return
		}

		done = outcome.Steps[:failed]

		m.OperationSteps.WithLabelValues(outcome.Failure.Step, outcomeFailed).Inc()
	}

	for _, step := range done {
		m.OperationSteps.WithLabelValues(step, outcomeSucceeded).Inc()
	}
}

func (m *Metrics) countDrift(tier string, report []tenant.Difference) {
	if tenant.Drifted(report) == 0 {
		return
	}

	m.DriftDetected.WithLabelValues(tier).Inc()

	for _, d := range report {
		if d.Drift {
			m.DriftResources.WithLabelValues(tier, d.Action).Inc()
		}
	}
}

// known bounds the label: rows may name tiers that left the catalog.
func (m *Metrics) known(tier string) string {
	if slices.Contains(m.tiers, tier) {
		return tier
	}

	return otherTier
}
