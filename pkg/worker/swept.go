package worker

import "github.com/lessor-dev/lessor/pkg/sweep"

// swept counts a sweep. Only the worker that sweeps knows who waits.
func (o *observer) swept(r sweep.Report) {
	for _, reason := range sweep.Reasons() {
		o.metrics.TenantsWaiting.WithLabelValues(string(reason)).Set(float64(r.Waiting[reason]))
	}

	if !r.Sweeping {
		return
	}

	o.metrics.SweepRows.WithLabelValues("ended").Add(float64(r.Ended))
	o.metrics.SweepRows.WithLabelValues("nudged").Add(float64(r.Nudged))
	o.metrics.SweepRows.WithLabelValues("error").Add(float64(r.Failed))
	o.metrics.SweepDuration.Observe(r.Duration.Seconds())

	if r.Complete {
		o.metrics.LastSweep.SetToCurrentTime()
	}
}
