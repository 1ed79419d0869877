package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
	"github.com/lessor-dev/lessor/test/bench/figure"
)

const resumeText = `
A worker is killed with all its processes in the middle of the first operation on a tenant, and another one is idle. The message
becomes visible again, the other worker watches the lease until it is stale, takes over and runs the operation. Nobody does
anything. The times are shorter than those that a fleet has by default, so that this takes less of yours. A message can become
visible as late as a whole timeout after the death, and a lease counts as dead once it stood still for its duration and margin; so
the worst case is the sum of the three.`

const (
	resumeVisibility = 10 * time.Second
	resumeLease      = 8 * time.Second
	resumeMargin     = 2 * time.Second
)

// resumed is how long it took from the death of a worker.
type resumed struct{ again, settled time.Duration }

func measureResume(ctx context.Context, l *lab) (section figure.Section, err error) {
	const (
		rounds = 3
		// slack is what DESIGN 11 allows beyond the times that are configured.
		slack = 5 * time.Second
	)

	section = figure.Section{Title: "A worker dies", Text: resumeText}

	f, err := l.NewFleet(ctx, bed.FleetOptions{Catalog: benchCatalog, Variables: []string{
		"LESSOR_POLL_WAIT=1s",
		"LESSOR_VISIBILITY_TIMEOUT=" + resumeVisibility.String(),
		"LESSOR_LEASE_DURATION=" + resumeLease.String(),
		"LESSOR_LEASE_MARGIN=" + resumeMargin.String(),
	}})
	if err != nil {
		return section, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	if _, err := f.Start(ctx); err != nil {
		return section, err
	}

	again, settled := figure.Sample{Unit: figure.Seconds}, figure.Sample{Unit: figure.Seconds}

	for round := range rounds {
		l.say("death %d of %d", round+1, rounds)

		one, err := killAndWait(ctx, l, f)
		if err != nil {
			return section, err
		}

		again.Add(one.again.Seconds())
		settled.Add(one.settled.Seconds())
	}

	t := figure.Table{Columns: []string{"from the death of the worker", "visibility timeout", "lease", "margin", "time"}}
	configured := []any{
		figure.Took(resumeVisibility), figure.Took(resumeLease), figure.Took(resumeMargin),
	}
	t.Row(append(append([]any{"until the operation runs again"}, configured...), again)...)
	t.Row(append(append([]any{"until the tenant is settled"}, configured...), settled)...)

	section.Tables = append(section.Tables, t)
	section.Goals = append(section.Goals, figure.Typically(
		"time to resume a tenant after its worker was killed: visibility timeout + lease + "+slack.String(),
		again, (resumeVisibility+resumeLease+slack).Seconds()))

	return section, nil
}

// killAndWait kills the worker that runs an operation and waits for the other.
func killAndWait(ctx context.Context, l *lab, f *bed.Fleet) (got resumed, err error) {
	if _, err := f.Start(ctx); err != nil {
		return got, err
	}

	id, b := tenant.ID(l.Name("orphan")), l.newBarrier()

	if err := b.occupy(ctx, f, id); err != nil {
		return got, err
	}

	victim := slices.IndexFunc(f.Workers, func(w *bed.Worker) bool { return len(startsOf(w, id)) > 0 })
	dead := f.Workers[victim]
	f.Workers = slices.Delete(f.Workers, victim, victim+1)

	died := time.Now()

	if err := dead.KillAll(); err != nil {
		return got, err
	}

	if err := b.open(); err != nil {
		return got, err
	}

	if _, err := f.Settled(ctx, id, 1); err != nil {
		return got, err
	}

	got.settled = time.Since(died)

	for _, w := range f.Workers {
		for _, at := range startsOf(w, id) {
			got.again = at.Sub(died)
		}
	}

	if got.again <= 0 {
		return got, fmt.Errorf("%s was settled without an operation", id) //nolint:err113 // nobody handles it
	}

	return got, nil
}

// startsOf are the moments at which a worker began an operation on a tenant.
func startsOf(w *bed.Worker, id tenant.ID) []time.Time {
	var starts []time.Time

	for _, line := range w.Lines("operation started") {
		if line.Tenant == id.String() {
			starts = append(starts, line.Time)
		}
	}

	return starts
}
