package enqueuecli_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/enqueuecli"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func script(steps ...func(w *world)) func(w *world) {
	return func(w *world) { w.script = steps }
}

// backoff is a failed attempt that will be tried again in 20 s.
func backoff(w *world) {
	change(func(rec *tenant.Record) {
		rec.Lease, rec.Progress = tenant.Lease{}, nil
		rec.Attempts, rec.NotBefore = 1, noon().Add(20*time.Second)
		rec.Last = &tenant.Outcome{
			OperationID: "op-1", Steps: []string{"up"}, StartedAt: noon(), Resources: -1,
			Failure: &tenant.Failure{Kind: tenant.KindTransient, Message: "connection reset"},
		}
	})(w)
}

// report ends a preview.
func report(w *world) {
	settle(w)
	change(func(rec *tenant.Record) {
		rec.Last.Report = []tenant.Difference{
			{Type: "aws:rds/instance:Instance", Name: "t1-db", Action: "update", Properties: []string{"instanceClass", "tags"}},
			{Type: "aws:kms/key:Key", Name: "t1-data", Action: "create"},
		}
	})(w)
}

// takenOver ends an operation that had to mend what a dead worker left.
func takenOver(w *world) {
	settle(w)
	change(func(rec *tenant.Record) {
		rec.Last.Repairs = []tenant.Repair{
			{Action: tenant.RepairLock, Detail: "of the operation under fence 6"},
			{Action: tenant.RepairImported, Detail: "aws:ec2/vpc:Vpc t1-net with id vpc-0a1b"},
		}
		rec.Last.Orphans = []string{"arn:aws:ec2:eu-west-1:123456789012:vpc/vpc-0c2d"}
	})(w)
}

func another(w *world) {
	w.fold(at(tenant.EventTierChanged, noon().Add(time.Second), func(e *tenant.Event) { e.Tier = "enterprise" }))
}

type waitCase struct {
	name  string
	args  []string
	world func() *world
	code  int
	sent  int
	// interrupt is after how long ctrl-C is hit.
	interrupt time.Duration
}

func TestWait(t *testing.T) {
	t.Parallel()

	suspend := []string{"suspend", "acme", "--wait"}
	provision := []string{"provision", "acme", "--tier", "free", "--region", "eu-west-1", "--id", "order-7", "--wait"}
	deadFor := func(n int, steps ...func(w *world)) func(w *world) {
		return func(w *world) {
			script(steps...)(w)

			w.fail["get"], w.healthyReads = errBroken, 2
			w.limit["get"] = n
		}
	}

	tests := []waitCase{
		{
			name: "settles", args: suspend, sent: 1,
			world: with(withAcme, script(nothing, accept, leased, running(0, 12), running(7, 12), stay, settle)),
		},
		{
			name: "settles as json", args: append(suspend, "-o", "json"), sent: 1,
			world: with(withAcme, script(accept, running(7, 12), settle)),
		},
		{
			name: "settles on a terminal", args: suspend, sent: 1,
			world: with(withAcme, func(w *world) {
				w.width = 72
				script(nothing, accept, leased, running(0, 12), running(7, 12), running(13, 12), settle)(w)
			}),
		},
		{
			name: "a narrow terminal without colours", args: suspend, sent: 1,
			world: with(withAcme, func(w *world) {
				w.width, w.env["NO_COLOR"] = 30, "1"
				script(nothing, accept, running(7, 12), giveUp)(w)
			}),
			code: 6,
		},
		{name: "fails", args: suspend, sent: 1, code: 6, world: with(withAcme, script(accept, running(7, 12), giveUp))},
		{name: "fails on a terminal", args: suspend, sent: 1, code: 6, world: with(withAcme, func(w *world) {
			w.width = 72
			script(accept, running(7, 12), giveUp)(w)
		})},
		{name: "tries again", args: suspend, sent: 1, world: with(withAcme, script(accept, backoff, nothing, running(1, 12), settle))},
		{
			name: "another event comes in the same moment", args: suspend, sent: 1,
			world: with(withAcme, script(func(w *world) { accept(w); another(w) }, running(7, 12), settle)),
		},
		{
			name: "another event replaces it", args: suspend, sent: 1,
			world: with(withAcme, script(func(w *world) {
				accept(w)
				w.fold(at(tenant.EventResumed, noon().Add(time.Second), nil))
			}, settle)),
		},
		{
			name: "the one before fails later", args: suspend, sent: 1,
			world: with(withAcme, script(accept, func(w *world) {
				settle(w)
				another(w)
				giveUp(w)
			})),
		},
		{
			name: "held and paused", args: append(suspend, "--timeout", "40s"), sent: 1, code: 7,
			world: with(withAcme, func(w *world) {
				w.fleet = enqueuecli.FleetState{Paused: true, Reason: "incident", At: noon()}
				change(func(rec *tenant.Record) { rec.Hold = "audit" })(w)
				script(accept)(w)
			}),
		},
		{name: "no worker", args: append(suspend, "--timeout", "5s"), sent: 1, code: 7, world: withAcme},
		{
			name: "timeout", args: append(suspend, "--timeout", "65s"), sent: 1, code: 7,
			world: with(withAcme, script(accept, running(7, 12))),
		},
		{
			name: "interrupted", args: suspend, sent: 1, code: 130, interrupt: 3 * time.Second,
			world: with(withAcme, script(accept, running(7, 12))),
		},
		{
			name: "interrupted on a terminal", args: suspend, sent: 1, code: 130, interrupt: 1500 * time.Millisecond,
			world: with(withAcme, func(w *world) { w.width = 72; script(accept, running(7, 12))(w) }),
		},
		{name: "a table that goes away for a moment", args: suspend, sent: 1, world: with(withAcme, deadFor(4, accept, settle))},
		{name: "a table that goes away", args: suspend, sent: 1, code: 1, world: with(withAcme, deadFor(50, accept, settle))},
		{
			name: "an id that was accepted before", args: provision,
			world: withAcmeBy("order-7"),
		},
		{
			name: "an id whose operation failed", args: provision,
			world: with(withAcmeBy("order-7"), giveUp), code: 6,
		},
		{
			name: "an event that has nothing to work on", args: []string{"suspend", "acme", "--allow-missing", "--wait"}, sent: 1,
			world: with(newWorld, script(nothing, accept)),
		},
		{name: "preview", args: []string{"preview", "acme", "--wait"}, sent: 1, world: with(withAcme, script(accept, report))},
		{
			name: "preview without a difference", args: []string{"preview", "acme", "--wait"}, sent: 1,
			world: with(withAcme, script(accept, settle)),
		},
		{
			name: "unhold", args: []string{"unhold", "acme", "--wait"}, sent: 1,
			world: with(withAcme, func(w *world) {
				another(w)
				change(func(rec *tenant.Record) { rec.Hold = "audit" })(w)
				script(nothing, running(2, 3), settle)(w)
			}),
		},
		{
			name: "status", args: []string{"status", "acme", "--wait"},
			world: with(withAcme, func(w *world) { another(w); script(running(2, 3), settle)(w) }),
		},
		{
			name: "status of a failure", args: []string{"status", "acme", "--wait"}, code: 6,
			world: with(withAcme, func(w *world) { another(w); script(running(2, 3), giveUp)(w) }),
		},
		{name: "status of a settled one", args: []string{"status", "acme", "--wait", "-o", "json"}, world: withAcme},
	}

	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			waitFor(t, c)
		})
	}
}

func waitFor(t *testing.T, c waitCase) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		w := c.world()
		ctx, cancel := context.WithCancel(t.Context())

		defer cancel()

		if c.interrupt > 0 {
			time.AfterFunc(c.interrupt, cancel)
		}

		got := w.run(ctx, c.args...)
		got.golden(t, c.args)
		require.Equal(t, c.code, got.code)
		require.Len(t, w.sent, c.sent)
	})
}

func TestWaitForSentEvents(t *testing.T) {
	t.Parallel()

	suspended := `{"specversion":"1.0","id":"up-suspended","source":"/signup","type":"lessor.tenant.suspended.v1",` +
		`"subject":"acme","time":"2026-03-01T11:30:00Z"}`
	old := strings.Replace(lineSuspend, "T11:00:00Z", "T10:00:00Z", 1)
	duplicate := func(w *world) {
		w.fold(at(tenant.EventSuspended, noon().Add(-30*time.Minute), nil))
		settle(w)
	}
	stdin := func(lines ...string) func(w *world) {
		return func(w *world) { w.stdin = strings.Join(lines, "\n") }
	}
	args := []string{"send", "-f", "-", "--wait"}

	tests := []waitCase{
		{
			name: "fresh", args: args, sent: 1,
			world: with(with(withAcme, stdin(suspended)), script(accept, settle)),
		},
		{
			name: "duplicate", args: args, sent: 1,
			world: with(with(withAcme, duplicate), stdin(suspended)),
		},
		{
			name: "duplicate of one that is in work", args: args, sent: 1,
			world: with(with(withAcme, func(w *world) {
				w.fold(at(tenant.EventSuspended, noon().Add(-30*time.Minute), nil))
				script(running(3, 4), settle)(w)
			}), stdin(suspended)),
		},
		{
			name: "stale", args: args, sent: 1, code: 5,
			world: with(with(withAcme, duplicate), stdin(old)),
		},
		{
			name: "stale as json", args: append(args, "-o", "json"), sent: 1, code: 5,
			world: with(with(withAcme, duplicate), stdin(old)),
		},
		{
			name: "many", args: args, sent: 3, code: 5,
			world: with(with(withAcme, duplicate), func(w *world) {
				w.stdin = suspended + "\n" + old + "\n" + lineResume
				script(nothing, accept)(w)
			}),
		},
		{
			name: "many of which one fails", args: append(args, "-o", "json"), sent: 2, code: 6,
			world: with(with(withAcme, stdin(suspended, lineResume)), script(nothing, accept, running(1, 2), giveUp)),
		},
		{
			name: "no table", args: args, code: 1,
			world: with(with(withAcme, stdin(suspended)), func(w *world) { w.fail["get"] = errBroken }),
		},
	}

	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			waitFor(t, c)
		})
	}
}

func TestElapsed(t *testing.T) {
	t.Parallel()

	for d, want := range map[time.Duration]string{
		0: "0s", 1499 * time.Millisecond: "1s", 59*time.Second + 600*time.Millisecond: "1m00s", 185 * time.Second: "3m05s",
		62 * time.Minute: "1h02m", 26 * time.Hour: "26h00m",
	} {
		require.Equal(t, want, enqueuecli.Elapsed(d))
	}
}

func TestFit(t *testing.T) {
	t.Parallel()

	require.Equal(t, "acme  up  3s", enqueuecli.Fit("acme  up", "  3s", 12))
	require.Equal(t, "acme  …  3s", enqueuecli.Fit("acme  up", "  3s", 11))
	require.Equal(t, "ü…  3s", enqueuecli.Fit("üüüü", "  3s", 6))
	require.Equal(t, "…  3s", enqueuecli.Fit("acme", "  3s", 0))
}
