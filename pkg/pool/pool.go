package pool

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/lessor-dev/lessor/pkg/catalog"
	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Rows reads rows and asks for pools.
type Rows interface {
	Get(ctx context.Context, id tenant.ID) (tenant.Record, error)
	Accept(ctx context.Context, e tenant.Event) (tenant.Record, bool, error)
	// List reads every row as it is now, Survey the small part of each that
	// says what is desired.
	List(ctx context.Context, yield func(tenant.Record) bool) error
	Survey(ctx context.Context, yield func(tenant.Record) bool) error
}

// Queue sends the messages that make a worker look.
type Queue interface {
	Send(ctx context.Context, body []byte) (string, error)
}

// Catalog knows which tier lives in which pool.
type Catalog interface {
	plan.Resolver

	// Complete resolves with the outputs of the pool.
	Complete(spec tenant.Spec, outputs map[string]json.RawMessage) (tenant.Blueprint, error)
	// PoolTier is the tier of a tier's pool, "" if it has none.
	PoolTier(tier string) string
}

// Parts are what Pools works with.
type Parts struct {
	Rows    Rows
	Queue   Queue
	Catalog Catalog
	Log     *slog.Logger
	Now     func() time.Time
}

// Pools looks after the pools of a fleet. It is safe for concurrent use.
type Pools struct{ Parts }

// New makes Pools.
func New(parts Parts) *Pools { return &Pools{Parts: parts} }

const (
	// source is where events of this package come from, in CloudEvents' sense.
	source = "lessor"
	// creation is the id of the event that asks for a pool.
	creation = "pool-needed"
)

// For returns the resolver of one tenant, for as long as ctx lasts. Its Resolve
// fails with a *tenant.Failure of kind waiting while the tenant's pool is not
// there, after having asked for it, and with a *tenant.InvalidError where there
// will be none. For itself fails with a *tenant.InvalidError if the tenant is a
// pool that shall be deleted and tenants live there.
func (p *Pools) For(ctx context.Context, rec tenant.Record) (plan.Resolver, error) {
	if catalog.IsPool(rec.ID) && rec.Desired.Spec().Phase == tenant.PhaseAbsent && standing(rec) {
		if err := p.vacant(ctx, rec); err != nil {
			return nil, err
		}
	}

	return resolver{Pools: p, ctx: ctx, rec: rec}, nil
}

// vacant fails if anybody lives in a pool, or is about to.
func (p *Pools) vacant(ctx context.Context, pool tenant.Record) error {
	const named = 3

	var tenants []tenant.ID

	err := p.Rows.List(ctx, func(rec tenant.Record) bool {
		if lodges(rec, pool.ID) || rec.NeedsWork() && p.poolOf(rec.Desired.Spec()) == pool.ID {
			tenants = append(tenants, rec.ID)
		}

		return true
	})
	if err != nil {
		return fmt.Errorf("looking for tenants of pool %s: %w", pool.ID, err)
	}

	if len(tenants) == 0 {
		return nil
	}

	slices.Sort(tenants)

	examples := make([]string, 0, named)
	for _, id := range tenants[:min(named, len(tenants))] {
		examples = append(examples, id.String())
	}

	return &tenant.InvalidError{
		Field: "pool",
		Message: fmt.Sprintf("%d of its tenants are left, such as %s, and a deletion would take what they live on",
			len(tenants), strings.Join(examples, ", ")),
		Hint: fmt.Sprintf("delete them or move them to another tier, then delete the pool again; or keep it with "+
			"`enqueue provision %s --tier %s --region %s`", pool.ID, pool.Applied.Spec.Tier, pool.Applied.Spec.Region),
	}
}

// poolOf is the pool that a tenant shall live in, "" if in none. A tenant that
// shall not be has no tier.
func (p *Pools) poolOf(spec tenant.Spec) tenant.ID {
	tier := p.Catalog.PoolTier(spec.Tier)
	if tier == "" {
		return ""
	}

	return catalog.PoolID(tier, spec.Region)
}

// resolver is of one tenant.
type resolver struct {
	*Pools

	ctx context.Context //nolint:containedctx // a resolver lives as long as one look at a row
	rec tenant.Record
}

// Resolve implements plan.Resolver.
func (r resolver) Resolve(spec tenant.Spec) (tenant.Blueprint, error) {
	if err := catalog.Suits(r.rec.ID, spec); err != nil {
		return tenant.Blueprint{}, err
	}

	blueprint, err := r.Catalog.Resolve(spec)
	if err != nil || blueprint.Pool == "" {
		return blueprint, err
	}

	pool, err := r.Rows.Get(r.ctx, blueprint.Pool)
	if err != nil {
		return tenant.Blueprint{}, fmt.Errorf("reading the row of pool %s: %w", blueprint.Pool, err)
	}

	found, why := judge(pool, lodges(r.rec, pool.ID))

	switch found {
	case verdictServes:
		return r.Catalog.Complete(spec, pool.Outputs)
	case verdictFailed:
		return tenant.Blueprint{}, failed(pool, r.rec.ID)
	case verdictMissing:
		err = r.create(r.ctx, pool, r.Catalog.PoolTier(spec.Tier), spec.Region)
	case verdictUnseen:
		err = r.nudge(r.ctx, pool.ID)
	case verdictWait:
	}

	if err != nil {
		return tenant.Blueprint{}, fmt.Errorf("asking for pool %s: %w", pool.ID, err)
	}

	return tenant.Blueprint{}, &tenant.Failure{
		Kind:    tenant.KindWaiting,
		Message: fmt.Sprintf("waiting for pool %s, %s", pool.ID, why),
		Hint:    fmt.Sprintf("it goes on by itself once the pool is there: see `enqueue status %s`", pool.ID),
	}
}

func failed(pool tenant.Record, id tenant.ID) error {
	cause := "see its status"
	if pool.Last != nil && pool.Last.Failure != nil {
		cause = pool.Last.Failure.Error()
	}

	return &tenant.InvalidError{
		Field:   "pool",
		Message: fmt.Sprintf("pool %s, which the tier's tenants live in, could not be made: %s", pool.ID, cause),
		Hint: fmt.Sprintf("put right what `enqueue status %s` says, then `enqueue reprovision %s --wait` and `enqueue reprovision %s`",
			pool.ID, pool.ID, id),
	}
}

// create asks for a pool. Many who do so at once say the same, since the event
// is made of what the row says: it is newer than all that is known of the pool,
// and older than what people will say.
func (p *Pools) create(ctx context.Context, rec tenant.Record, tier, region string) error {
	_, changed, err := p.Rows.Accept(ctx, tenant.Event{
		ID: creation, Source: source, Type: tenant.EventCreated, Tenant: rec.ID, Time: p.Now(), Tier: tier, Region: region,
		Version: tenant.SequenceVersion(rec.Desired.Newest().N+1, creation, source),
	})
	if err != nil {
		return fmt.Errorf("accepting its creation: %w", err)
	}

	if changed {
		p.Log.InfoContext(ctx, "asked for a pool", "tenant_id", rec.ID.String(), "tier", tier, "region", region)
	}

	return p.nudge(ctx, rec.ID)
}

// nudge sends the event that says nothing and makes a worker look.
func (p *Pools) nudge(ctx context.Context, id tenant.ID) error {
	return p.send(ctx, tenant.Event{ID: rand.Text(), Source: source, Type: tenant.EventNudged, Tenant: id, Time: p.Now()})
}

func (p *Pools) send(ctx context.Context, e tenant.Event) error {
	body, err := event.Encode(e, event.OrderTime)
	if err != nil {
		return err
	}

	if _, err := p.Queue.Send(ctx, body); err != nil {
		return fmt.Errorf("sending a message for %s: %w", e.Tenant, err)
	}

	return nil
}

// Settled lets the tenants go on that waited for a pool, once the work on it has
// ended well or badly. Anything else than a pool is left alone. It is safe to
// repeat: the messages of one operation of the pool all say the same.
func (p *Pools) Settled(ctx context.Context, pool tenant.Record) error {
	if !catalog.IsPool(pool.ID) || pool.Last == nil {
		return nil
	}

	var waiting []tenant.ID

	err := p.Rows.Survey(ctx, func(rec tenant.Record) bool {
		if rec.NeedsWork() && rec.NotBefore.After(p.Now()) && p.poolOf(rec.Desired.Spec()) == pool.ID {
			waiting = append(waiting, rec.ID)
		}

		return true
	})
	if err != nil {
		return fmt.Errorf("looking for tenants that wait for pool %s: %w", pool.ID, err)
	}

	for _, id := range waiting {
		e := tenant.Event{
			ID: "pool-" + pool.Last.OperationID, Source: source, Type: tenant.EventDue, Tenant: id,
			Time: pool.Last.StartedAt.Add(pool.Last.Duration),
		}
		if err := p.send(ctx, e); err != nil {
			return err
		}
	}

	return nil
}
