package enqueuecli_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/lessor-dev/lessor/pkg/enqueuecli"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// failing answers with an error of the test's choice.
func (w *world) failing(port string) error {
	if n, limited := w.limit[port]; limited {
		if n == 0 {
			return nil
		}

		w.limit[port] = n - 1
	}

	return w.fail[port]
}

func (w *world) open(ctx context.Context, s enqueuecli.Settings) error {
	var cfg struct {
		Table string `env:"LESSOR_TABLE, default=lessor-tenants"`
	}

	if err := s.Load(ctx, &cfg); err != nil {
		return err
	}

	w.reached["table"] = cfg.Table

	return w.failing("connect")
}

func (w *world) Sender(ctx context.Context, s enqueuecli.Settings) (enqueuecli.Sender, error) {
	var cfg struct {
		URL string `env:"LESSOR_QUEUE_URL, required"`
	}

	if err := s.Load(ctx, &cfg); err != nil {
		return nil, err
	}

	w.reached["queue"] = cfg.URL

	return senderFake{w}, nil
}

func (w *world) Rows(ctx context.Context, s enqueuecli.Settings) (enqueuecli.Rows, error) {
	return rowsFake{w}, w.open(ctx, s)
}

func (w *world) Fleet(ctx context.Context, s enqueuecli.Settings) (enqueuecli.Fleet, error) {
	return fleetFake{w}, w.open(ctx, s)
}

func (w *world) DeadLetters(_ context.Context, s enqueuecli.Settings) (enqueuecli.DeadLetters, error) {
	return lettersFake{w}, s.Need("LESSOR_DEAD_LETTER_QUEUE_URL")
}

func (w *world) Cloud(_ context.Context, _ enqueuecli.Settings, at enqueuecli.Place) (enqueuecli.Cloud, error) {
	name := at.Region()
	if at.Role() != "" {
		name += " as " + at.Role()
	}

	w.looked = append(w.looked, name)

	return cloudFake{w, name}, nil
}

func (w *world) States(context.Context, enqueuecli.Settings) (enqueuecli.States, error) {
	return statesFake{w}, nil
}

type cloudFake struct {
	*world

	at string
}

func (w cloudFake) FindAll(context.Context) ([]inventory.Resource, error) {
	return w.clouds[w.at], w.failing(w.at)
}

func (w cloudFake) Find(ctx context.Context, id tenant.ID) ([]inventory.Resource, error) {
	all, err := w.FindAll(ctx)

	return slices.DeleteFunc(slices.Clone(all), func(r inventory.Resource) bool { return r.Tenant() != id }), err
}

func (w cloudFake) Inspect(_ context.Context, resources []inventory.Resource) ([]inventory.Resource, error) {
	inspected := slices.Clone(resources)

	for i, r := range inspected {
		if r.Type() != "kms:key" {
			continue
		}

		if err := w.failing("inspect"); err != nil {
			return nil, err
		}

		inspected[i].PendingDeletion = slices.Contains(w.dying, r.ARN)
	}

	return inspected, nil
}

type statesFake struct{ *world }

func (w statesFake) Read(_ context.Context, stack tenant.Stack) ([]byte, error) {
	data, ok := w.stored[stack.Shard+"/"+stack.Project+"/"+stack.Name]
	if !ok {
		return nil, enqueuecli.ErrAbsent
	}

	return []byte(data), w.failing("states")
}

type senderFake struct{ *world }

func (w senderFake) Send(_ context.Context, body []byte) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	if len(w.sent) >= w.healthy {
		if err := w.failing("send"); err != nil {
			return "", err
		}
	}

	w.sent = append(w.sent, bytes.Clone(body))

	return fmt.Sprintf("message-%d", len(w.sent)), nil
}

type rowsFake struct{ *world }

func (w rowsFake) Get(_ context.Context, id tenant.ID) (tenant.Record, error) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.reads++

	if w.reads > w.healthyReads {
		if err := w.failing("get"); err != nil {
			return tenant.Record{}, err
		}
	}

	if len(w.script) > 0 && w.reads > 1 {
		w.script[0](w.world)
		w.script = w.script[1:]
	}

	rec, ok := w.records[id]
	if !ok {
		return tenant.Record{ID: id}, nil
	}

	return rec, nil
}

func (w rowsFake) List(_ context.Context, yield func(tenant.Record) bool) error {
	ids := make([]tenant.ID, 0, len(w.records))
	for id := range w.records {
		ids = append(ids, id)
	}

	// A scan has no order, least of all this one.
	slices.Sort(ids)
	slices.Reverse(ids)

	for _, id := range ids {
		if !yield(w.records[id]) {
			return nil
		}
	}

	return w.failing("list")
}

func (w rowsFake) SetHold(_ context.Context, id tenant.ID, reason string) error {
	rec := w.records[id]
	rec.Hold = reason
	w.records[id] = rec

	return w.failing("hold")
}

func (w rowsFake) ClearHold(ctx context.Context, id tenant.ID) error { return w.SetHold(ctx, id, "") }

type fleetFake struct{ *world }

func (w fleetFake) State(context.Context) (enqueuecli.FleetState, error) {
	return w.fleet, w.failing("fleet")
}

func (w fleetFake) Pause(_ context.Context, reason string) error {
	w.fleet = enqueuecli.FleetState{Paused: true, Reason: reason, At: noon()}

	return w.failing("fleet")
}

func (w fleetFake) Unpause(context.Context) error {
	w.fleet = enqueuecli.FleetState{}

	return w.failing("fleet")
}

type lettersFake struct{ *world }

func (w lettersFake) List(_ context.Context, limit int) ([]enqueuecli.DeadLetter, error) {
	return w.letters[:min(limit, len(w.letters))], w.failing("dlq")
}

func (w lettersFake) Show(_ context.Context, id string) (enqueuecli.DeadLetter, error) {
	for _, l := range w.letters {
		if l.ID == id {
			return l, nil
		}
	}

	return enqueuecli.DeadLetter{}, enqueuecli.ErrAbsent
}

func (w lettersFake) Redrive(ctx context.Context, ids []string) ([]string, error) {
	if len(ids) == 0 {
		for _, l := range w.letters {
			ids = append(ids, l.ID)
		}
	}

	for _, l := range w.letters {
		if slices.Contains(ids, l.ID) {
			w.sent = append(w.sent, l.Body)
		}
	}

	return w.Drop(ctx, ids)
}

func (w lettersFake) Drop(_ context.Context, ids []string) ([]string, error) {
	if err := w.failing("dlq"); err != nil {
		return nil, err
	}

	var done []string

	for _, id := range ids {
		before := len(w.letters)
		w.letters = slices.DeleteFunc(w.letters, func(l enqueuecli.DeadLetter) bool { return l.ID == id })

		if len(w.letters) == before {
			return done, enqueuecli.ErrAbsent
		}

		done = append(done, id)
	}

	return done, nil
}
