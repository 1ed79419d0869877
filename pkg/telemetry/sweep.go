package telemetry

// addSweep makes the metrics of the sweep, which start at zero.
func (m *Metrics) addSweep() {
	m.SweepRows = counters("sweep_rows_total",
		"Tenants that the sweep did something about: their dead lease ended, or the fleet reminded of them.", "action")
	m.SweepDuration = histogram("sweep_duration_seconds",
		"Duration of sweeps.", sweepBuckets())
	m.LastSweep = gauge("last_successful_sweep_timestamp_seconds",
		"When this worker last swept completely, in Unix time; 0 if it never did.")
	m.TenantsWaiting = gauges("tenants_waiting",
		"Tenants that the sweep found waiting, by why; 0 where another worker sweeps.", "reason")

	touch(m.SweepRows, "ended", "nudged", "error")

	for _, reason := range []string{"work", "result", "held", "backoff", "due", "uncreated", "failed", "approval"} {
		m.TenantsWaiting.WithLabelValues(reason)
	}
}

// sweepBuckets go from a small table to ten minutes.
func sweepBuckets() []float64 { return []float64{0.1, 0.5, 1, 5, 15, 60, 150, 300, 600} }
