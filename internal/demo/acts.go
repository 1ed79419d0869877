package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lessor-dev/lessor/pkg/catalog"
	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The cast.
const (
	acme    tenant.ID = "acme"
	globex  tenant.ID = "globex"
	initech tenant.ID = "initech"

	// A creation is the first change of a tenant, what follows it the second.
	first, second int64 = 1, 2

	freeTier       = "free"
	poolTier       = "pool-free"
	enterpriseTier = "enterprise"
)

var errUnexpected = errors.New("that should not have happened")

// prepare makes the pool of the free tier. The first sign-up would ask for it by
// itself, and wait for it.
func (s *stage) prepare(ctx context.Context) error {
	region := s.variable("AWS_REGION")
	pool := catalog.PoolID(poolTier, region)

	if err := s.enqueue(ctx, "provision", pool.String(), "--tier", poolTier, "--region", region); err != nil {
		return err
	}

	if _, err := s.follow(ctx, pool, first); err != nil {
		return err
	}

	return s.table(ctx, pool)
}

// provision sends three creations at once and waits for all of them.
func (s *stage) provision(ctx context.Context) error {
	group, all := errgroup.WithContext(ctx)

	for id, tier := range map[tenant.ID]string{acme: freeTier, globex: freeTier, initech: enterpriseTier} {
		group.Go(func() error {
			if err := s.enqueue(all, "provision", string(id), "--tier", tier, "--region", s.variable("AWS_REGION")); err != nil {
				return err
			}

			_, err := s.follow(all, id, first)

			return err
		})
	}

	if err := group.Wait(); err != nil {
		return fmt.Errorf("provisioning: %w", err)
	}

	return s.table(ctx, acme, globex, initech)
}

// follow prints the progress of a tenant until sequence is settled.
func (s *stage) follow(ctx context.Context, id tenant.ID, sequence int64) (tenant.Record, error) {
	var (
		rec  tenant.Record
		last string
	)

	err := poll(ctx, fmt.Sprintf("%s to be settled", id), func() (bool, error) {
		var err error
		if rec, err = s.rows.Get(ctx, id); err != nil {
			return false, err
		}

		if p := rec.Progress; p != nil && p.Planned > 0 && rec.NeedsWork() {
			if line := fmt.Sprintf("%-8s %-14s %d of %d resources", id, p.Step, p.Done, p.Planned); line != last {
				s.sayf("%s", line)
				last = line
			}
		}

		if rec.FailedSeq >= sequence || (rec.Last != nil && rec.Last.Failure != nil && rec.NeedsWork()) {
			return false, fmt.Errorf("%s failed: %w", id, rec.Last.Failure)
		}

		return rec.AppliedSeq >= sequence && rec.Lease.Owner == "", nil
	})
	if err == nil {
		s.sayf("%-8s settled at sequence %d", id, rec.AppliedSeq)
	}

	return rec, err
}

// repeat sends the creation of acme a second time and an update from before
// it. Both are accepted as known, and no process runs for them.
func (s *stage) repeat(ctx context.Context) error {
	rec, err := s.rows.Get(ctx, acme)
	if err != nil {
		return err
	}

	before, err := s.scrape(ctx)
	if err != nil {
		return err
	}

	again, err := duplicate(rec)
	if err != nil {
		return err
	}

	stale, err := event.Encode(tenant.Event{
		ID: "demo-stale", Source: "demo", Type: tenant.EventTierChanged, Tenant: acme,
		Time: time.Now().Add(-time.Hour), Tier: enterpriseTier,
	}, event.OrderTime)
	if err != nil {
		return fmt.Errorf("encoding a stale event: %w", err)
	}

	messages := []struct {
		name string
		body []byte
	}{
		{"the creation of acme once more", again},
		{"a tier change of acme from before its creation", stale},
		{"the same again", stale},
	}
	for _, m := range messages {
		if _, err := s.queue.Send(ctx, m.body); err != nil {
			return fmt.Errorf("sending %s: %w", m.name, err)
		}

		s.sayf("sent %s", m.name)
	}

	err = poll(ctx, "the messages to be gone", func() (bool, error) {
		now, err := s.scrape(ctx)

		gone := now.sum("lessor_messages_deleted_total") - before.sum("lessor_messages_deleted_total")

		return err == nil && gone >= float64(len(messages)), err
	})
	if err != nil {
		return err
	}

	after, err := s.scrape(ctx)
	if err != nil {
		return err
	}

	newest, err := s.rows.Get(ctx, acme)
	if err != nil {
		return err
	}

	for _, name := range []string{"lessor_operations_total", "lessor_cli_processes_total"} {
		s.sayf("%s: %g before, %g after", name, before.sum(name), after.sum(name))

		if before.sum(name) != after.sum(name) {
			return fmt.Errorf("%w: %s moved", errUnexpected, name)
		}
	}

	s.sayf("acme: sequence %d before, %d after", rec.DesiredSeq, newest.DesiredSeq)

	if newest.DesiredSeq != rec.DesiredSeq || newest.Last.OperationID != rec.Last.OperationID {
		return fmt.Errorf("%w: the stale events changed acme", errUnexpected)
	}

	return nil
}

// duplicate is the event that created a tenant, as SQS might deliver it again.
func duplicate(rec tenant.Record) ([]byte, error) {
	created := rec.Desired.Existence.Version
	id, source, _ := strings.Cut(created.Tie, " ")

	body, err := event.Encode(tenant.Event{
		ID: id, Source: source, Type: tenant.EventCreated, Tenant: rec.ID, Time: time.Unix(0, created.N),
		Version: created, Tier: rec.Desired.Tier.Value.Name, Region: rec.Desired.Region.Value,
	}, event.OrderTime)
	if err != nil {
		return nil, fmt.Errorf("encoding the duplicate: %w", err)
	}

	return body, nil
}

func (s *stage) changeTier(ctx context.Context) error {
	if err := s.enqueue(ctx, "tier", string(acme), enterpriseTier); err != nil {
		return err
	}

	rec, err := s.follow(ctx, acme, second)
	if err != nil {
		return err
	}

	if rec.Applied.Spec.Tier != enterpriseTier || rec.Last.Resources == 0 {
		return fmt.Errorf("%w: acme is in tier %q with %d resources", errUnexpected, rec.Applied.Spec.Tier, rec.Last.Resources)
	}

	return s.table(ctx, acme, globex, initech)
}

func (s *stage) deprovision(ctx context.Context) error {
	err := s.enqueue(ctx, "deprovision", string(initech), "--confirm", string(initech), "--accept-data-loss",
		"--reason", "the demo is over")
	if err != nil {
		return err
	}

	rec, err := s.follow(ctx, initech, second)
	if err != nil {
		return err
	}

	resources, err := s.local.Cloud().OfTenant(ctx, string(initech))
	if err != nil {
		return fmt.Errorf("asking the cloud: %w", err)
	}

	state, err := s.stateResources(ctx, rec.Stack)
	if err != nil {
		return err
	}

	s.sayf("resources in the cloud with tag tenant-id=%s: %d", initech, len(resources))
	s.sayf("resources in the state of %s/%s in %s: %d", rec.Stack.Project, rec.Stack.Name, rec.Stack.Shard, state)

	if rec.Applied.Spec.Phase != tenant.PhaseAbsent || len(resources) != 0 || state != 0 {
		return fmt.Errorf("%w: something of %s is left", errUnexpected, initech)
	}

	return s.table(ctx, acme, globex, initech)
}

// checkpoint is as much of a Pulumi state file as is needed to count.
type checkpoint struct {
	Checkpoint struct {
		Latest struct {
			Resources []json.RawMessage `json:"resources"`
		} `json:"latest"`
	} `json:"checkpoint"`
}
