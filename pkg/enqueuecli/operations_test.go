package enqueuecli_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/enqueuecli"
	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// busy is a world in which an operation of acme runs and another was tried.
func busy() *world {
	w := withAcme()
	another(w)
	running(7, 12)(w)
	change(func(rec *tenant.Record) { rec.Fence = 2; rec.Last.Resources = -1 })(w)

	return w
}

func failedOnce() *world {
	w := withAcme()
	another(w)
	backoff(w)
	change(func(rec *tenant.Record) { rec.Last.Failure.Message = "the text \x1b[2J of a failure" })(w)

	return w
}

func many() *world {
	w := busy()

	for _, e := range []tenant.Event{
		at(tenant.EventSuspended, noon(), func(e *tenant.Event) { e.Tenant = "early" }),
		at(tenant.EventCreated, noon(), func(e *tenant.Event) { e.Tenant, e.Tier, e.Region = "globex", "free", "eu-west-1" }),
		at(tenant.EventCreated, noon(), func(e *tenant.Event) { e.Tenant, e.Tier, e.Region = "held", "free", "eu-west-1" }),
	} {
		w.fold(e)
	}

	rec := w.records["held"]
	rec.Hold = "audit"
	w.records["held"] = rec

	return w
}

func TestStatus(t *testing.T) {
	t.Parallel()

	paused := func(w *world) {
		w.fleet = enqueuecli.FleetState{Paused: true, Reason: "incident", At: noon().Add(-time.Minute)}
	}

	runCases(t, []runCase{
		{name: "settled", args: []string{"status", "acme"}, world: withAcme},
		{name: "in colour", args: []string{"status", "acme"}, world: with(withAcme, func(w *world) { w.width = 80 })},
		{
			name: "without colour", args: []string{"status", "acme"},
			world: with(withAcme, func(w *world) { w.width, w.env["NO_COLOR"] = 80, "1" }),
		},
		{
			name: "on a dumb terminal", args: []string{"status", "acme"},
			world: with(withAcme, func(w *world) { w.width, w.env["TERM"] = 80, "dumb" }),
		},
		{name: "running", args: []string{"status", "acme"}, world: with(busy, paused)},
		{name: "running as json", args: []string{"status", "acme", "-o", "json"}, world: with(busy, paused)},
		{name: "backoff", args: []string{"status", "acme"}, world: failedOnce},
		{name: "held", args: []string{"status", "held"}, world: many},
		{name: "after a take-over", args: []string{"status", "acme"}, world: with(withAcme, takenOver)},
		{name: "after a take-over as json", args: []string{"status", "acme", "-o", "json"}, world: with(withAcme, takenOver)},
		{name: "after a preview", args: []string{"status", "acme"}, world: with(withAcme, report)},
		{name: "given up", args: []string{"status", "acme"}, world: with(withAcme, func(w *world) { another(w); giveUp(w) })},
		{name: "deleted", args: []string{"status", "acme"}, world: withDeleted},
		{name: "of a stranger", code: 4, args: []string{"status", "initech"}, world: withAcme},
		{name: "of a bad id", code: 3, args: []string{"status", "a b"}, world: withAcme},
		{name: "of two", code: 2, args: []string{"status", "acme", "globex"}, world: withAcme},
		{name: "all", args: []string{"list"}, world: many},
		{name: "all of a paused fleet", args: []string{"list"}, world: with(many, paused)},
		{name: "all as json", args: []string{"list", "--output", "json"}, world: with(withAcme, paused)},
		{name: "none", args: []string{"list"}},
		{name: "none as json", args: []string{"list", "-o", "json"}},
		{name: "too many", args: []string{"list", "--limit", "2"}, world: many},
		{name: "too many as json", args: []string{"list", "--limit", "1", "-o", "json"}, world: many},
		{name: "the rest", args: []string{"list", "--after", "early"}, world: many},
		{name: "by tier", args: []string{"list", "--tier", "free"}, world: many},
		{name: "by phase", args: []string{"list", "--phase", "suspended"}, world: many},
		{name: "by state", args: []string{"list", "--state", "held"}, world: many},
		{name: "by region", args: []string{"list", "--region", "mars"}, world: many},
		{name: "unsettled", args: []string{"list", "--unsettled"}, world: many},
		{name: "by no phase", code: 2, args: []string{"list", "--phase", "frozen"}, world: many},
		{name: "by no state", code: 2, args: []string{"list", "--state", "fine"}, world: many},
		{name: "no limit", code: 2, args: []string{"list", "--limit", "0"}, world: many},
		{name: "of one", code: 2, args: []string{"list", "acme"}, world: many},
		{name: "of nobody", code: 2, args: []string{"status", "--wait"}, world: many},
		{name: "list fails", code: 1, args: []string{"list"}, world: with(many, func(w *world) { w.fail["list"] = errBroken })},
		{name: "fleet fails", code: 1, args: []string{"list"}, world: with(many, func(w *world) { w.fail["fleet"] = errBroken })},
		{name: "fleet fails for one", args: []string{"status", "held"}, world: with(many, func(w *world) { w.fail["fleet"] = errBroken })},
	})
}

func TestHold(t *testing.T) {
	t.Parallel()

	held := with(withAcme, change(func(rec *tenant.Record) { rec.Hold = "audit" }))
	holds := func(reason string) func(t *testing.T, w *world) {
		return func(t *testing.T, w *world) {
			t.Helper()
			require.Equal(t, reason, w.records[acme].Hold)
		}
	}

	runCases(t, []runCase{
		{name: "hold", args: []string{"hold", "acme", "--reason", "audit"}, world: withAcme, check: holds("audit")},
		{name: "hold as json", args: []string{"hold", "acme", "--reason", "audit", "-o", "json"}, world: withAcme, check: holds("audit")},
		{name: "hold while it works", args: []string{"hold", "acme", "--reason", "audit"}, world: busy, check: holds("audit")},
		{name: "hold dry run", args: []string{"hold", "acme", "--reason", "audit", "-n", "-o", "json"}, world: withAcme, check: holds("")},
		{name: "hold without a reason", code: 2, args: []string{"hold", "acme"}, world: withAcme, check: holds("")},
		{name: "hold with an empty reason", code: 2, args: []string{"hold", "acme", "--reason", ""}, world: withAcme, check: holds("")},
		{name: "hold of a stranger", code: 4, args: []string{"hold", "initech", "--reason", "audit"}, world: withAcme},
		{
			name: "hold fails", code: 1, args: []string{"hold", "acme", "--reason", "audit"},
			world: with(withAcme, func(w *world) { w.fail["hold"] = errBroken }),
		},
		{name: "unhold", sent: 1, args: []string{"unhold", "acme"}, world: held, check: func(t *testing.T, w *world) {
			t.Helper()
			holds("")(t, w)

			e, err := event.NewDecoder(event.OrderTime, w.now).Decode(w.sent[0])
			require.NoError(t, err)
			require.Equal(t, tenant.EventNudged, e.Type)
		}},
		{name: "unhold as json", sent: 1, args: []string{"unhold", "acme", "-o", "json"}, world: held, check: holds("")},
		{name: "unhold dry run", args: []string{"unhold", "acme", "--dry-run"}, world: held, check: holds("audit")},
		{name: "unhold what is not held", sent: 1, args: []string{"unhold", "acme"}, world: withAcme, check: holds("")},
		{name: "unhold of a stranger", code: 4, args: []string{"unhold", "initech"}, world: held},
		{
			name: "unhold without a queue lifts nothing", code: 2, args: []string{"unhold", "acme"},
			world: with(held, func(w *world) { delete(w.env, "LESSOR_QUEUE_URL") }), check: holds("audit"),
		},
		{
			name: "unhold cannot send", code: 1, args: []string{"unhold", "acme"},
			world: with(held, func(w *world) { w.fail["send"] = errBroken }), check: holds(""),
		},
	})
}

func TestFleet(t *testing.T) {
	t.Parallel()

	is := func(paused bool) func(t *testing.T, w *world) {
		return func(t *testing.T, w *world) {
			t.Helper()
			require.Equal(t, paused, w.fleet.Paused)
		}
	}
	paused := with(newWorld, func(w *world) { w.fleet.Paused = true })

	runCases(t, []runCase{
		{name: "pause", args: []string{"pause", "--reason", "incident"}, check: is(true)},
		{name: "pause as json", args: []string{"pause", "--reason", "incident", "-o", "json"}, check: is(true)},
		{name: "pause dry run", args: []string{"pause", "--reason", "incident", "--dry-run"}, check: is(false)},
		{name: "pause with an empty reason", code: 2, args: []string{"pause", "--reason", ""}, check: is(false)},
		{name: "pause of one tenant", code: 2, args: []string{"pause", "acme", "--reason", "incident"}, check: is(false)},
		{
			name: "pause fails", code: 1, args: []string{"pause", "--reason", "incident"},
			world: with(newWorld, func(w *world) { w.fail["fleet"] = errBroken }),
		},
		{name: "unpause", args: []string{"unpause"}, world: paused, check: is(false)},
		{name: "unpause as json", args: []string{"unpause", "-o", "json"}, world: paused, check: is(false)},
		{name: "unpause dry run", args: []string{"unpause", "-n"}, world: paused, check: is(true)},
	})
}

func withLetters() *world {
	w := newWorld()
	w.letters = []enqueuecli.DeadLetter{
		{
			ID: "d-1", ReasonCode: "type", Reason: "invalid event: type is unknown", OriginalID: "m-1",
			SentAt: noon().Add(-time.Hour), ReceiveCount: 2, Body: []byte(lineSuspend),
		},
		{ID: "d-2", ReceiveCount: 1, Body: []byte(lineResume)},
	}

	return w
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()

	remain := func(n int) func(t *testing.T, w *world) {
		return func(t *testing.T, w *world) {
			t.Helper()
			require.Len(t, w.letters, n)
		}
	}
	odd := with(newWorld, func(w *world) {
		w.letters = []enqueuecli.DeadLetter{
			{ID: "d-1", ReasonCode: "not-json", Reason: "bad \x1b]0;title", Body: []byte("\x1b[2Joops\xff")},
		}
	})

	runCases(t, []runCase{
		{name: "help", args: []string{"dlq"}},
		{name: "list", args: []string{"dlq", "list"}, world: withLetters},
		{name: "list as json", args: []string{"dlq", "list", "-o", "json"}, world: withLetters},
		{name: "list some", args: []string{"dlq", "list", "--limit", "1"}, world: withLetters},
		{name: "list none", args: []string{"dlq", "list"}},
		{name: "list none as json", args: []string{"dlq", "list", "-o", "json"}},
		{
			name: "list without a queue", code: 2, args: []string{"dlq", "list"},
			world: with(withLetters, func(w *world) { delete(w.env, "LESSOR_DEAD_LETTER_QUEUE_URL") }),
		},
		{
			name: "list fails", code: 1, args: []string{"dlq", "list"},
			world: with(withLetters, func(w *world) { w.fail["dlq"] = errBroken }),
		},
		{name: "show", args: []string{"dlq", "show", "d-1"}, world: withLetters},
		{name: "show as json", args: []string{"dlq", "show", "d-1", "-o", "json"}, world: withLetters},
		{name: "show what is none", code: 4, args: []string{"dlq", "show", "d-9"}, world: withLetters},
		{name: "show without an id", code: 2, args: []string{"dlq", "show"}, world: withLetters},
		{name: "show an odd one on a terminal", args: []string{"dlq", "show", "d-1"}, world: with(odd, func(w *world) { w.width = 80 })},
		{name: "show an odd one as json", args: []string{"dlq", "show", "d-1", "-o", "json"}, world: odd},
		{name: "redrive", sent: 1, args: []string{"dlq", "redrive", "d-2"}, world: withLetters, check: remain(1)},
		{name: "redrive all", sent: 2, args: []string{"dlq", "redrive", "--all", "-o", "json"}, world: withLetters, check: remain(0)},
		{name: "redrive all of none", args: []string{"dlq", "redrive", "--all", "-o", "json"}},
		{name: "redrive dry run", args: []string{"dlq", "redrive", "d-2", "--dry-run"}, world: withLetters, check: remain(2)},
		{name: "redrive all dry run", args: []string{"dlq", "redrive", "--all", "--dry-run"}, world: withLetters, check: remain(2)},
		{name: "redrive of nothing", code: 2, args: []string{"dlq", "redrive"}, world: withLetters},
		{name: "redrive of some and all", code: 2, args: []string{"dlq", "redrive", "d-1", "--all"}, world: withLetters},
		{
			name: "redrive of what is none", code: 4, sent: 1, args: []string{"dlq", "redrive", "d-1", "d-9"},
			world: withLetters, check: remain(1),
		},
		{name: "drop", args: []string{"dlq", "drop", "d-1", "d-2", "--yes"}, world: withLetters, check: remain(0)},
		{name: "drop as json", args: []string{"dlq", "drop", "d-1", "-y", "-o", "json"}, world: withLetters, check: remain(1)},
		{name: "drop unconfirmed", code: 2, args: []string{"dlq", "drop", "d-1"}, world: withLetters, check: remain(2)},
		{name: "drop dry run", args: []string{"dlq", "drop", "d-1", "-n", "-o", "json"}, world: withLetters, check: remain(2)},
		{name: "drop of what is none dry run", code: 4, args: []string{"dlq", "drop", "d-9", "-n"}, world: withLetters},
		{name: "drop of nothing", code: 2, args: []string{"dlq", "drop", "--yes"}, world: withLetters},
		{
			name: "drop fails", code: 1, args: []string{"dlq", "drop", "d-1", "--yes"},
			world: with(withLetters, func(w *world) { w.fail["dlq"] = errBroken }),
		},
	})
}
