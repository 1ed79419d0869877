package enqueuecli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lessor-dev/lessor/pkg/enqueuecli"
	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

var update = flag.Bool("update", false, "write golden files and docs/enqueue.md anew") //nolint:gochecknoglobals // a flag

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	acme     = tenant.ID("acme")
	queueURL = "https://sqs.eu-west-1.amazonaws.com/111122223333/lessor"
	letters  = "https://sqs.eu-west-1.amazonaws.com/111122223333/lessor-dead"
)

func noon() time.Time { return time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC) }

// world is the fleet in memory: what was sent, and what the rows say. A script
// plays the workers: its steps run one by one before the reads that follow the
// first message.
type world struct {
	mu      sync.Mutex
	start   time.Time
	records map[tenant.ID]tenant.Record
	fleet   enqueuecli.FleetState
	letters []enqueuecli.DeadLetter
	sent    [][]byte
	reads   int
	script  []func(w *world)

	// clouds is what there is by place: REGION, or REGION as ROLE. stored are
	// the states by bucket/project/stack.
	clouds map[string][]inventory.Resource
	stored map[string]string
	// dying are the ARNs of keys that wait for their deletion.
	dying []string

	// Errors of the ports by name: connect, send, get, list, hold, fleet, dlq,
	// states, inspect, and each place.
	fail map[string]error
	// limit is how often a port fails before it works; for ever if it is not
	// there. healthy is how many messages are sent before sending fails.
	limit   map[string]int
	healthy int
	// healthyReads is how many reads work before reading fails.
	healthyReads int

	env           map[string]string
	width, height int

	stdin string
	// looked are the places that were looked at, in order.
	looked []string
	// reached is the configuration that the ports were opened with.
	reached map[string]string
}

func newWorld() *world {
	return &world{
		start:   time.Now(),
		records: map[tenant.ID]tenant.Record{},
		fail:    map[string]error{},
		limit:   map[string]int{},
		reached: map[string]string{},
		env:     map[string]string{"LESSOR_QUEUE_URL": queueURL, "LESSOR_DEAD_LETTER_QUEUE_URL": letters},
	}
}

// now is noon at the start of the test. It moves in a synctest bubble only.
func (w *world) now() time.Time { return noon().Add(time.Since(w.start).Truncate(time.Second / 4)) }

// failAfter makes the queue fail after n messages.
func (w *world) failAfter(n int) { w.fail["send"], w.healthy = errBroken, n }

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

type ran struct {
	code           int
	stdout, stderr string
}

func (w *world) run(ctx context.Context, args ...string) ran {
	var stdout, stderr bytes.Buffer

	ids := 0
	code := enqueuecli.Run(ctx, enqueuecli.World{
		Stdin: strings.NewReader(w.stdin), Stdout: &stdout, Stderr: &stderr, Env: w.env, Connector: w, Now: w.now, Width: w.width, Height: w.height,
		NewID: func() string {
			ids++

			return fmt.Sprintf("event-%d", ids)
		},
	}, args...)

	return ran{code: code, stdout: stdout.String(), stderr: stderr.String()}
}

// golden compares a whole run with the file of the test's name.
func (r ran) golden(t *testing.T, args []string) {
	t.Helper()

	text := fmt.Sprintf("$ enqueue %s\n-- exit %d\n-- stdout\n%s-- stderr\n%s", strings.Join(args, " "), r.code, r.stdout,
		strings.NewReplacer("\r", "␍", "\x1b", "␛").Replace(r.stderr))
	golden(t, filepath.Join("testdata", filepath.FromSlash(strings.ReplaceAll(t.Name(), "#", "-"))+".golden"), text)
}

func golden(t *testing.T, path, text string) {
	t.Helper()

	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}

	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to write it")
	require.Equal(t, string(want), text)
}

// accept is what a worker does first with every message that was sent.
func accept(w *world) {
	for _, body := range w.sent {
		e, err := event.NewDecoder(event.Order(w.order()), w.now).Decode(body)
		if err != nil {
			panic(err)
		}

		w.fold(e)
	}
}

func (w *world) order() string {
	if o := w.env["LESSOR_EVENT_ORDER"]; o != "" {
		return o
	}

	return "time"
}

// fold is Accept of the registry.
func (w *world) fold(e tenant.Event) {
	rec := w.records[e.Tenant]

	desired, changed := tenant.Apply(rec.Desired, e)
	if !changed {
		return
	}

	rec.ID, rec.Desired = e.Tenant, desired
	rec.DesiredSeq++
	rec.NotBefore, rec.Attempts = time.Time{}, 0

	if rec.CreatedAt.IsZero() {
		rec.CreatedAt = w.now()
	}

	rec.UpdatedAt = w.now()
	w.records[e.Tenant] = rec
}

// change edits the row of acme.
func change(edit func(rec *tenant.Record)) func(w *world) {
	return func(w *world) {
		rec := w.records[acme]
		edit(&rec)
		w.records[acme] = rec
	}
}

func nothing(*world) {}

// stay is nothing, under a name that says so in the middle of a script.
func stay(*world) {}

// running says that an operation is at done of planned resources.
func running(done, planned int) func(w *world) {
	return change(func(rec *tenant.Record) {
		rec.Lease = tenant.Lease{Owner: "host-1/boot/4f2a", Until: noon().Add(time.Minute)}
		rec.Progress = &tenant.Progress{
			OperationID: "op-2", Step: "up", Done: done, Planned: planned, StartedAt: noon(), UpdatedAt: noon(),
		}
	})
}

func leased(w *world) {
	change(func(rec *tenant.Record) { rec.Lease = tenant.Lease{Owner: "host-1/boot/4f2a"} })(w)
}

// settle ends the operation well.
func settle(w *world) {
	change(func(rec *tenant.Record) {
		rec.AppliedSeq = rec.DesiredSeq
		rec.Lease, rec.Progress = tenant.Lease{}, nil
		rec.Last = &tenant.Outcome{
			OperationID: "op-2", Steps: []string{"up"}, Sequence: rec.DesiredSeq, StartedAt: noon(), Duration: 41 * time.Second,
			Changes: map[string]int{"create": 11, "update": 1}, Resources: 12,
		}
	})(w)
}

// giveUp ends the operation for good, without success.
func giveUp(w *world) {
	settle(w)
	change(func(rec *tenant.Record) {
		rec.AppliedSeq--
		rec.FailedSeq = rec.DesiredSeq
		rec.Last.Failure = &tenant.Failure{
			Kind: tenant.KindDenied, Message: "not authorized to create the key", Hint: "grant kms:CreateKey to the worker's role",
			Resource: "aws:kms/key:Key data", Step: "up",
		}
	})(w)
}

// at is an event of upstream.
func at(kind tenant.EventType, when time.Time, edit func(e *tenant.Event)) tenant.Event {
	e := tenant.Event{ID: "up-" + string(kind), Source: "/signup", Type: kind, Tenant: acme, Time: when}
	e.Version = tenant.TimeVersion(when, e.ID, e.Source)

	if edit != nil {
		edit(&e)
	}

	return e
}

// withAcme is a world in which acme was created an hour ago and stands.
func withAcme() *world {
	w := newWorld()
	w.fold(at(tenant.EventCreated, noon().Add(-time.Hour), func(e *tenant.Event) {
		e.Tier, e.Region = "standard", "eu-west-1"
		e.Parameters = tenant.Parameters{"seats": []byte("25"), "theme": []byte(`"dark"`)}
	}))
	settle(w)
	change(func(rec *tenant.Record) {
		spec := rec.Desired.Spec()
		rec.Applied = &tenant.Applied{
			Spec: spec, Blueprint: tenant.Blueprint{Program: "pool"}, Build: "v1.0.0", Generation: 1, At: noon().Add(-time.Hour),
		}
		rec.Stack = tenant.Stack{Project: "lessor", Name: "acme", Shard: "state-b", Created: true}
		rec.Outputs = map[string]json.RawMessage{"endpoint": []byte(`"https://acme.example.com"`), "ports": []byte("[443]")}
		rec.Fence, rec.CleanFence = 1, 1
	})(w)

	return w
}
