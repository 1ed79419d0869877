package enqueuecli_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

var errBroken = errors.New("broken pipe")

type runCase struct {
	name  string
	args  []string
	world func() *world
	code  int
	// sent is how many messages must be in the queue afterwards.
	sent int
	// writes reports that the row or the fleet may change.
	check func(t *testing.T, w *world)
}

func runCases(t *testing.T, cases []runCase) {
	t.Helper()

	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			w := newWorld()
			if c.world != nil {
				w = c.world()
			}

			got := w.run(t.Context(), c.args...)
			got.golden(t, c.args)
			require.Equal(t, c.code, got.code)
			require.Len(t, w.sent, c.sent)

			for _, body := range w.sent {
				_, err := event.NewDecoder(event.Order(w.order()), w.now).Decode(body)
				require.NoError(t, err)
			}

			if c.check != nil {
				c.check(t, w)
			}
		})
	}
}

func with(w func() *world, edit func(w *world)) func() *world {
	return func() *world {
		made := w()
		edit(made)

		return made
	}
}

func TestLifecycle(t *testing.T) {
	t.Parallel()

	runCases(t, []runCase{
		{
			name: "provision", sent: 1,
			args: []string{"provision", "globex", "--tier", "free", "--region", "eu-west-1"},
		},
		{
			name: "provision as json", sent: 1,
			args: []string{"provision", "globex", "--tier", "free", "--region", "eu-west-1", "-o", "json"},
		},
		{
			name: "provision dry run",
			args: []string{
				"provision", "globex", "--tier", "free", "--region", "eu-west-1", "--id", "order-7", "--set", "seats=25",
				"--set", "theme=dark blue", "--set", "empty=", "--set-json", `zones=["a", "b"]`,
				"--set", "big=12345678901234567890", "--dry-run",
			},
		},
		{
			name:  "provision dry run needs no queue",
			world: with(newWorld, func(w *world) { delete(w.env, "LESSOR_QUEUE_URL") }),
			args:  []string{"provision", "globex", "--tier", "free", "--region", "eu-west-1", "--dry-run", "--output", "json"},
		},
		{
			name: "provision without a queue", code: 2,
			world: with(newWorld, func(w *world) { delete(w.env, "LESSOR_QUEUE_URL") }),
			args:  []string{"provision", "globex", "--tier", "free", "--region", "eu-west-1"},
		},
		{
			name: "provision of one that exists", code: 5, world: withAcme,
			args: []string{"provision", "acme", "--tier", "free", "--region", "eu-west-1"},
		},
		{
			name: "provision overwrites", sent: 1, world: withAcme,
			args: []string{"provision", "acme", "--tier", "free", "--region", "eu-west-1", "--overwrite"},
			check: func(t *testing.T, w *world) {
				t.Helper()
				accept(w)
				require.Equal(t, tenant.Spec{Phase: tenant.PhaseActive, Tier: "free", Region: "eu-west-1"}, w.records[acme].Desired.Spec())
			},
		},
		{
			name: "provision with the id of an accepted event", world: withAcmeBy("order-7"),
			args: []string{"provision", "acme", "--tier", "free", "--region", "eu-west-1", "--id", "order-7", "-o", "json"},
		},
		{
			name: "provision without flags", code: 2,
			args: []string{"provision", "globex"},
		},
		{
			name: "provision with a bad region", code: 3,
			args: []string{"provision", "globex", "--tier", "free", "--region", "Europe"},
		},
		{
			name: "provision with a bad id", code: 3,
			args: []string{"provision", "glo/bex", "--tier", "free", "--region", "eu-west-1"},
		},
		{
			name: "update", sent: 1, world: withAcme,
			args: []string{"update", "acme", "--set", "seats=50", "--unset", "theme"},
			check: func(t *testing.T, w *world) {
				t.Helper()
				accept(w)
				require.Equal(t, tenant.Parameters{"seats": []byte("50")}, w.records[acme].Desired.Spec().Parameters)
			},
		},
		{
			name: "update from standard input", world: with(withAcme, func(w *world) { w.stdin = `{"seats": 3, "theme": null}` }),
			args: []string{"update", "acme", "--parameters-file", "-", "--set", "seats=4", "--dry-run"},
		},
		{
			name: "update from a broken file", code: 3, world: with(withAcme, func(w *world) { w.stdin = `[3]` }),
			args: []string{"update", "acme", "--parameters-file", "-"},
		},
		{
			name: "update from no file", code: 1, world: withAcme,
			args: []string{"update", "acme", "--parameters-file", "testdata/no-such-file.json"},
		},
		{name: "update of nothing", code: 2, world: withAcme, args: []string{"update", "acme"}},
		{name: "update of a stranger", code: 4, args: []string{"update", "acme", "--set", "seats=50"}},
		{name: "update of a stranger anyway", sent: 1, args: []string{"update", "acme", "--set", "seats=50", "--allow-missing"}},
		{name: "update sets to null", code: 2, args: []string{"update", "acme", "--set", "seats=null"}},
		{name: "update sets without a value", code: 2, args: []string{"update", "acme", "--set", "seats"}},
		{name: "update sets without a name", code: 2, args: []string{"update", "acme", "--set", "=5"}},
		{name: "update sets twice", code: 2, args: []string{"update", "acme", "--set", "seats=5", "--unset", "seats"}},
		{name: "update sets what is no json", code: 2, args: []string{"update", "acme", "--set-json", "seats=five"}},
		{name: "update unsets with a value", code: 2, args: []string{"update", "acme", "--unset", "seats=5"}},
		{name: "tier", sent: 1, world: withAcme, args: []string{"tier", "acme", "enterprise", "--set", "seats=100"}},
		{name: "tier without one", code: 2, world: withAcme, args: []string{"tier", "acme"}},
		{name: "tier with too much", code: 2, world: withAcme, args: []string{"tier", "acme", "free", "now"}},
		{name: "tier that cannot be", code: 3, world: withAcme, args: []string{"tier", "acme", "FREE"}},
		{name: "suspend", sent: 1, world: withAcme, args: []string{"suspend", "acme"}},
		{
			name: "suspend on hold", sent: 1, args: []string{"suspend", "acme"},
			world: with(withAcme, change(func(rec *tenant.Record) { rec.Hold = "audit" })),
		},
		{name: "resume", sent: 1, world: withSuspended, args: []string{"resume", "acme", "-o", "json"}},
		{name: "deprovision unconfirmed", code: 2, world: withAcme, args: []string{"deprovision", "acme"}},
		{
			name: "deprovision confirmed for another", code: 2,
			world: withAcme, args: []string{"deprovision", "acme", "--confirm", "acmf", "--yes"},
		},
		{name: "deprovision", sent: 1, world: withAcme, args: []string{"deprovision", "acme", "--confirm", "acme"}},
		{
			name: "deprovision dry run", world: withAcme,
			args: []string{"deprovision", "acme", "--dry-run", "--reason", "contract ended", "--accept-data-loss"},
		},
		{name: "deprovision of a stranger", code: 4, args: []string{"deprovision", "acme", "--yes"}},
		{name: "resume of a deleted one", code: 4, world: withDeleted, args: []string{"resume", "acme"}},
		{name: "reprovision", sent: 1, world: withAcme, args: []string{"reprovision", "acme", "--reason", "drift"}},
		{name: "reprovision of a deleted one", code: 4, world: withDeleted, args: []string{"reprovision", "acme"}},
		{name: "reprovision of a failed deletion", sent: 1, world: with(withDeleted, giveUp), args: []string{"reprovision", "acme"}},
		{name: "refresh", sent: 1, world: withAcme, args: []string{"refresh", "acme"}},
		{name: "preview dry run", world: withAcme, args: []string{"preview", "acme", "--dry-run"}},
		{name: "timeout of nothing", code: 2, world: withAcme, args: []string{"suspend", "acme", "--wait", "--timeout", "0s"}},
	})
}

// withAcmeBy is a world in which this program created acme.
func withAcmeBy(id string) func() *world {
	return func() *world {
		w := newWorld()
		e := at(tenant.EventCreated, noon().Add(-time.Hour), nil)
		e.ID, e.Source, e.Tier, e.Region = id, "/lessor/enqueue", "free", "eu-west-1"
		e.Version = tenant.TimeVersion(e.Time, e.ID, e.Source)
		w.fold(e)
		settle(w)

		return w
	}
}

func withSuspended() *world {
	w := withAcme()
	w.fold(at(tenant.EventSuspended, noon().Add(-time.Minute), nil))
	settle(w)

	return w
}

func withDeleted() *world {
	w := withAcme()
	w.fold(at(tenant.EventDeleted, noon().Add(-time.Minute), nil))
	settle(w)

	return w
}

// Facts of an engineer win over every fact that the row knows.
func TestEventVersion(t *testing.T) {
	t.Parallel()

	ahead := noon().Add(3 * time.Minute)

	tests := []struct {
		name  string
		order string
		world func(w *world)
		args  []string
		time  time.Time
		n     int64
	}{
		{name: "now", args: []string{"suspend", "acme"}, time: noon(), n: noon().UnixNano()},
		{
			name: "a fact from a clock that is ahead", args: []string{"resume", "acme"}, time: ahead.Add(1), n: ahead.UnixNano() + 1,
			world: func(w *world) { w.fold(at(tenant.EventSuspended, ahead, nil)) },
		},
		{
			name: "a request does not compete with facts", args: []string{"refresh", "acme"}, time: noon(), n: noon().UnixNano(),
			world: func(w *world) { w.fold(at(tenant.EventSuspended, ahead, nil)) },
		},
		{
			name: "a request from a clock that is ahead", args: []string{"refresh", "acme"}, time: ahead.Add(1), n: ahead.UnixNano() + 1,
			world: func(w *world) { w.fold(at(tenant.EventRefresh, ahead, nil)) },
		},
		{
			name: "sequence", order: "sequence", args: []string{"suspend", "acme"}, time: noon(), n: 42,
			world: func(w *world) {
				w.fold(at(tenant.EventResumed, noon(), func(e *tenant.Event) { e.Version = tenant.SequenceVersion(41, e.ID, e.Source) }))
			},
		},
		{name: "requests have no sequence", order: "sequence", args: []string{"refresh", "acme"}, time: noon(), n: noon().UnixNano()},
	}

	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()

			w := withAcme()
			if test.order == "sequence" {
				w = newWorld()
				w.env["LESSOR_EVENT_ORDER"] = "sequence"
				w.fold(at(tenant.EventCreated, noon(), func(e *tenant.Event) {
					e.Tier, e.Region, e.Version = "free", "eu-west-1", tenant.SequenceVersion(7, e.ID, e.Source)
				}))
			}

			if test.world != nil {
				test.world(w)
			}

			got := w.run(t.Context(), test.args...)
			require.Zero(t, got.code, got.stderr)
			require.Len(t, w.sent, 1)

			e, err := event.NewDecoder(event.Order(w.order()), w.now).Decode(w.sent[0])
			require.NoError(t, err)
			require.Equal(t, test.time, e.Time)
			require.Equal(t, test.n, e.Version.N)

			_, changed := tenant.Apply(w.records[acme].Desired, e)
			require.True(t, changed)
		})
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()

	api := func(code string) error { return &smithy.GenericAPIError{Code: code, Message: "no"} }
	suspend := []string{"suspend", "acme"}

	runCases(t, []runCase{
		{name: "table not reachable", code: 1, args: suspend, world: with(withAcme, func(w *world) { w.fail["get"] = errBroken })},
		{
			name: "table denied", code: 1, args: suspend,
			world: with(withAcme, func(w *world) { w.fail["get"] = api("AccessDeniedException") }),
		},
		{
			name: "table missing", code: 1, args: suspend,
			world: with(withAcme, func(w *world) { w.fail["get"] = api("ResourceNotFoundException") }),
		},
		{name: "queue denied", code: 1, args: suspend, world: with(withAcme, func(w *world) { w.fail["send"] = api("AccessDenied") })},
		{
			name: "queue throttled", code: 1, args: suspend,
			world: with(withAcme, func(w *world) { w.fail["send"] = api("ThrottlingException") }),
		},
		{name: "token expired", code: 1, args: suspend, world: with(withAcme, func(w *world) { w.fail["send"] = api("ExpiredToken") })},
		{name: "no connection", code: 1, args: suspend, world: with(withAcme, func(w *world) { w.fail["connect"] = errBroken })},
		{
			name: "clock behind", code: 5, args: suspend,
			world: with(withAcme, func(w *world) { w.fold(at(tenant.EventResumed, noon().Add(time.Hour), nil)) }),
		},
		{name: "order that is none", code: 2, args: []string{"suspend", "acme", "--event-order", "alphabet"}, world: withAcme},
		{name: "unknown command", code: 2, args: []string{"provison"}},
		{name: "unknown sub-command", code: 2, args: []string{"dlq", "drain"}},
		{name: "unknown topic", code: 2, args: []string{"help", "exit-code"}},
		{name: "unknown flag", code: 2, args: []string{"status", "--yaml"}},
		{name: "unknown output", code: 2, args: []string{"status", "-o", "yaml"}},
		{name: "unknown shell", code: 2, args: []string{"completion", "tcsh"}},
	})
}
