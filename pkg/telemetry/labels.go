package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	outcomeSucceeded = "succeeded"
	outcomeFailed    = "failed"
	kindNone         = "none"
	otherTier        = "other"
	typeInvalid      = "invalid"
)

// initialise starts what is known at zero.
func (m *Metrics) initialise() {
	touch(m.MessagesReceived, typeInvalid)
	touch(m.MessagesDeleted, "settled", "failed", "handed_over", "unchanged", "held")
	touch(m.MessagesDeadLettered, event.Codes()...)
	touch(m.MessagesReleased, "backoff", "breaker", "busy", "drain", "error", "lost", "paused", "stuck")
	touch(m.ReceiveRequests, "messages", "empty", "error")
	touch(m.LeaseAcquisitions, "acquired", "takeover", "busy", "error")
	touch(m.LeaseRenewals, "ok", "lost", "error")
	touch(m.LeaseLost, "stolen", "deadline")
	touch(m.ResultsPublished, "ok", "error")
	// A late writer, and somebody else at the state. Others are as rare as they are bad.
	touch(m.StateWritesRefused, string(tenant.KindLeaseLost), string(tenant.KindConflict))

	for _, t := range event.Types() {
		touch(m.MessagesReceived, event.TypeName(t))
		m.EventsAccepted.WithLabelValues(event.TypeName(t), "true")
		m.EventsAccepted.WithLabelValues(event.TypeName(t), "false")
	}

	for _, step := range plan.Steps() {
		m.OperationSteps.WithLabelValues(string(step), outcomeSucceeded)
		m.OperationSteps.WithLabelValues(string(step), outcomeFailed)
	}

	for _, p := range phase.All() {
		touch(m.OperationPhases, string(p))
	}

	for _, action := range tenant.RepairActions() {
		touch(m.StateRepairs, string(action))
	}

	for _, tier := range m.tiers {
		m.Operations.WithLabelValues(tier, outcomeSucceeded, kindNone)
		m.OperationDuration.WithLabelValues(tier, outcomeSucceeded)
		m.OperationDuration.WithLabelValues(tier, outcomeFailed)
		touch(m.DriftDetected, tier)
		m.DriftResources.WithLabelValues(tier, "update")
		m.DriftResources.WithLabelValues(tier, "delete")

		for _, kind := range tenant.Kinds() {
			m.Operations.WithLabelValues(tier, outcomeFailed, string(kind))
		}
	}
}

func touch(vector *prometheus.CounterVec, values ...string) {
	for _, value := range values {
		vector.WithLabelValues(value)
	}
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func gauge(name, help string) prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

func gauges(name, help string, labels ...string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(histogramOptions(name, help, buckets))
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(histogramOptions(name, help, buckets), labels)
}

// The native histogram is there beside the classic one, and bounded.
const (
	nativeFactor     = 1.1
	nativeBuckets    = 100
	nativeMinReset   = time.Hour
	mebibyte         = 1 << 20
	smallestMemory   = 64 * mebibyte
	memoryBucketStep = 2
	memoryBucketsNum = 8
)

func histogramOptions(name, help string, buckets []float64) prometheus.HistogramOpts {
	return prometheus.HistogramOpts{
		Namespace:                       namespace,
		Name:                            name,
		Help:                            help,
		Buckets:                         buckets,
		NativeHistogramBucketFactor:     nativeFactor,
		NativeHistogramMaxBucketNumber:  nativeBuckets,
		NativeHistogramMinResetDuration: nativeMinReset,
	}
}

// operationBuckets go from a change of nothing to two hours.
func operationBuckets() []float64 {
	return []float64{1, 5, 15, 30, 60, 120, 300, 600, 900, 1200, 1800, 2700, 3600, 7200}
}

// queueBuckets go from a free worker to a day behind.
func queueBuckets() []float64 {
	return []float64{0.5, 1, 5, 15, 60, 300, 900, 1800, 3600, 7200, 21600, 86400}
}

// memoryBuckets go from 64 MiB to 8 GiB.
func memoryBuckets() []float64 {
	return prometheus.ExponentialBuckets(smallestMemory, memoryBucketStep, memoryBucketsNum)
}
