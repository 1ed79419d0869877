package telemetry

import "time"

// Limits are what a worker was configured with and alerts compare with.
type Limits struct {
	// Slots is how many operations may run at once.
	Slots int
	// Memory is for the whole worker, OperationMemory for one operation with all
	// its processes, in bytes; 0 for no bound.
	Memory, OperationMemory int64
	OperationTimeout        time.Duration
	// SweepInterval is 0 for a worker that never sweeps.
	SweepInterval time.Duration
}

func (m *Metrics) addLimits() {
	m.Slots = gauge("slots",
		"Operations that may run at once.")
	m.MemoryLimit = gauge("memory_limit_bytes",
		"Memory that this worker may use.")
	m.OperationMemoryBudget = gauge("operation_memory_budget_bytes",
		"Memory that one operation may take with all its processes; 0 if that is not bounded.")
	m.OperationMemoryRatio = histogram("operation_memory_budget_ratio",
		"Highest memory of one operation as a part of its budget; one above 1 was stopped.", ratioBuckets())
	m.OperationTimeout = gauge("operation_timeout_seconds",
		"How long one operation may take.")
	m.SweepInterval = gauge("sweep_interval_seconds",
		"Time between two sweeps; 0 if this worker never sweeps.")
}

// Limited notes what the worker may use.
func (m *Metrics) Limited(l Limits) {
	m.budget = l.OperationMemory

	m.Slots.Set(float64(l.Slots))
	m.MemoryLimit.Set(float64(l.Memory))
	m.OperationMemoryBudget.Set(float64(l.OperationMemory))
	m.OperationTimeout.Set(l.OperationTimeout.Seconds())
	m.SweepInterval.Set(l.SweepInterval.Seconds())
}

// memoryTaken counts the peak of an operation. One that is not known is 0.
func (m *Metrics) memoryTaken(peak int64) {
	if peak <= 0 {
		return
	}

	m.OperationMemory.Observe(float64(peak))

	if m.budget > 0 {
		m.OperationMemoryRatio.Observe(float64(peak) / float64(m.budget))
	}
}

// ratioBuckets are finest where the budget is near.
func ratioBuckets() []float64 { return []float64{0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.25} }
