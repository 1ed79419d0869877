package enqueuecli_test

import (
	"testing"
	"time"

	"github.com/lessor-dev/lessor/pkg/enqueuecli"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestWatch(t *testing.T) {
	t.Parallel()

	watch := []string{"status", "acme", "--watch"}
	for9s := []string{"status", "acme", "--watch", "--timeout", "9s"}

	// renewed is a lease that goes on, which is no news.
	renewed := change(func(rec *tenant.Record) {
		progress := *rec.Progress
		progress.UpdatedAt = noon().Add(time.Minute)
		rec.Progress, rec.Lease.Until, rec.UpdatedAt = &progress, noon().Add(2*time.Minute), noon().Add(time.Minute)
	})
	deadFor := func(n int) func(w *world) {
		return func(w *world) { w.fail["get"], w.healthyReads, w.limit["get"] = errBroken, 1, n }
	}

	tests := []waitCase{
		{
			name: "an operation", args: append(watch, "--timeout", "13s"),
			world: with(withAcme, script(another, running(0, 12), running(7, 12), renewed, settle)),
		},
		{
			name: "an operation as json", args: append(watch, "--timeout", "9s", "-o", "json"),
			world: with(withAcme, script(running(0, 12), running(7, 12), renewed, settle)),
		},
		{
			name: "an operation on a terminal", args: append(watch, "--timeout", "5s"),
			world: with(withAcme, func(w *world) {
				w.width, w.height = 60, 40
				script(running(0, 12), running(7, 12))(w)
			}),
		},
		{
			name: "a small terminal", args: append(watch, "--timeout", "1s"),
			world: with(withAcme, func(w *world) { w.width, w.height, w.env["NO_COLOR"] = 24, 6, "1" }),
		},
		{name: "until ctrl-C", args: watch, world: withAcme, interrupt: time.Hour},
		{name: "until ctrl-C while the table is away", args: watch, world: with(withAcme, deadFor(50)), interrupt: 5 * time.Second},
		{
			name: "a fleet that is paused", args: for9s,
			world: with(withAcme, script(nothing, func(w *world) {
				w.fleet = enqueuecli.FleetState{Paused: true, Reason: "incident", At: noon()}
			})),
		},
		{
			name: "a table that goes away for a moment", args: for9s,
			world: with(withAcme, func(w *world) {
				deadFor(3)(w)
				script(another)(w)
			}),
		},
		{
			name: "a table that comes and goes", args: append(watch, "--timeout", "20s"),
			world: with(withAcme, func(w *world) {
				deadFor(3)(w)
				script(func(w *world) { w.limit["get"] = 3 }, another)(w)
			}),
		},
		{name: "a table that goes away", args: watch, code: 1, world: with(withAcme, deadFor(50))},
		{name: "a stranger", args: []string{"status", "globex", "--watch"}, code: 4, world: withAcme},
		{name: "and a wait", args: append(watch, "--wait"), code: 2, world: withAcme},
		{name: "for no time", args: append(watch, "--timeout", "0s"), code: 2, world: withAcme},
	}

	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			waitFor(t, c)
		})
	}
}
