package sweep

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	mathrand "math/rand/v2"
	"time"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/telemetry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Rows are the rows of all tenants, and the claim to sweep them.
type Rows interface {
	Survey(ctx context.Context, yield func(tenant.Record) bool) error
	ClaimSweep(ctx context.Context, owner string, d time.Duration) (bool, error)
	YieldSweep(ctx context.Context, owner string) error
	// DriftSince is since when the fleet looks for drift at an interval.
	DriftSince(ctx context.Context, every time.Duration) (time.Time, error)
}

// Leases watches leases and ends dead ones.
type Leases interface {
	Stale(rec tenant.Record) bool
	End(ctx context.Context, rec tenant.Record) error
}

// Queue sends messages to the fleet.
type Queue interface {
	Send(ctx context.Context, body []byte) (string, error)
}

// Parts are what a Sweeper works with.
type Parts struct {
	Rows   Rows
	Leases Leases
	Queue  Queue
	Log    *slog.Logger
	// Schedule is what the fleet does by the clock.
	Schedule plan.Schedule
	// Now is the clock of the machine.
	Now func() time.Time
	// WaitOpen returns once sweeping is allowed, and fails only with ctx.
	WaitOpen func(ctx context.Context) error
	// Swept is called after every attempt to sweep.
	Swept func(Report)
}

// Report is how a sweep went.
type Report struct {
	// Sweeping is false if another worker sweeps; then nothing else is set.
	Sweeping bool
	// Complete says that every row was seen and all that was due was done.
	Complete bool
	// Ended counts the leases that were ended, Nudged the messages sent, and
	// Failed the rows that must wait for the next sweep.
	Ended, Nudged, Failed int
	// Waiting counts tenants by why they wait.
	Waiting  map[Reason]int
	Duration time.Duration
}

// Sweeper sweeps from time to time. It is for one goroutine.
type Sweeper struct {
	Parts

	config Config
	owner  string
	// reminded and told are what it did before, by tenants that still wait.
	reminded map[tenant.ID]reminder
	told     map[tenant.ID]int64
}

// reminder is a message that was sent for a row, as it was then.
type reminder struct {
	seq, fence int64
	updated    time.Time
	due        time.Time
	wait       time.Duration
}

// New makes a Sweeper.
func New(cfg Config, parts Parts) *Sweeper {
	return &Sweeper{Parts: parts, config: cfg, owner: rand.Text()}
}

// Run sweeps every interval, if no other worker does, until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	if s.config.Interval <= 0 {
		return
	}

	defer s.yield(ctx)

	// Workers that start together do not look together.
	for wait := mathrand.N(s.config.Interval); ; wait = s.jittered() { //nolint:gosec // jitter needs no secrecy
		if !rest(ctx, wait) || s.WaitOpen(ctx) != nil {
			return
		}

		s.Swept(s.sweep(ctx))
	}
}

func (s *Sweeper) jittered() time.Duration {
	spread := time.Duration(jitterShare * float64(s.config.Interval))

	return s.config.Interval - spread + mathrand.N(2*spread+1) //nolint:gosec // jitter needs no secrecy
}

// rest waits for d and reports whether ctx goes on.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// yieldTimeout bounds the last call of a worker that ends.
const yieldTimeout = 5 * time.Second

// yield lets another worker sweep without waiting for the claim to end.
func (s *Sweeper) yield(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), yieldTimeout)
	defer cancel()

	if err := s.Rows.YieldSweep(ctx, s.owner); err != nil {
		s.Log.WarnContext(ctx, "yielding the claim to sweep; it ends by itself", "error", err)
	}
}

// due is a row for which something is to be done.
type due struct {
	finding

	rec tenant.Record
}

// sweep looks at every row once. What fails is left to the next sweep.
func (s *Sweeper) sweep(parent context.Context) Report {
	ctx, cancel := context.WithTimeout(parent, s.config.timeout())
	defer cancel()

	claimed, err := s.Rows.ClaimSweep(ctx, s.owner, s.config.claim())
	if err != nil && parent.Err() == nil {
		s.Log.ErrorContext(ctx, "claiming the sweep", "error", err)
	}

	if !claimed {
		return Report{}
	}

	began := s.Now()
	report := Report{Sweeping: true, Waiting: map[Reason]int{}}

	found, err := s.look(ctx, &report)
	if err != nil && parent.Err() == nil {
		s.Log.ErrorContext(ctx, "looking for tenants that wait", "error", err)
	}

	for i, d := range found {
		if ctx.Err() != nil {
			report.Failed += len(found) - i

			break
		}

		if err := s.serve(ctx, d, &report); err != nil {
			report.Failed++

			s.Log.ErrorContext(ctx, "reminding of a tenant that waits", telemetry.KeyTenant, string(d.rec.ID), "error", err)
		}
	}

	report.Complete = err == nil && report.Failed == 0
	report.Duration = s.Now().Sub(began)

	return report
}

// look goes through all rows. An error does not take back what was found.
func (s *Sweeper) look(ctx context.Context, report *Report) ([]due, error) {
	var found []due

	began, err := s.Rows.DriftSince(ctx, s.Schedule.Drift)
	if err != nil {
		return nil, err
	}

	now := s.Now()
	reminded, told := map[tenant.ID]reminder{}, map[tenant.ID]int64{}

	err = s.Rows.Survey(ctx, func(rec tenant.Record) bool {
		rec.DueAt = s.dueAt(rec, began)

		f := judge(rec, s.Leases.Stale(rec), now, s.config.Age)

		if f.waiting != "" {
			report.Waiting[f.waiting]++
		}

		if f.waiting == ReasonUncreated {
			s.tell(ctx, rec, told)
		}

		if r, ok := s.reminded[rec.ID]; ok && f.nudge {
			reminded[rec.ID] = r
		}

		if f.end || f.nudge {
			found = append(found, due{rec: rec, finding: f})
		}

		return true
	})

	// Those that a survey which broke off did not see are reminded of once more.
	s.reminded, s.told = reminded, told

	return found, err
}

// dueAt is when the clock makes work of a tenant, by its row or by the schedule.
func (s *Sweeper) dueAt(rec tenant.Record, began time.Time) time.Time {
	// What is settled is as desired. A survey does not show what is applied, and
	// nothing is due of what is not settled.
	if rec.Desired.Spec().Phase == tenant.PhaseAbsent {
		return rec.DueAt
	}

	look := s.Schedule.NextLook(rec.ID, rec.LookedAt, began)
	if rec.DueAt.IsZero() || !look.IsZero() && look.Before(rec.DueAt) {
		return look
	}

	return rec.DueAt
}

// tell says once that a tenant's events wait for its creation.
func (s *Sweeper) tell(ctx context.Context, rec tenant.Record, told map[tenant.ID]int64) {
	told[rec.ID] = rec.DesiredSeq

	if s.told[rec.ID] != rec.DesiredSeq {
		s.Log.WarnContext(ctx, "events came for a tenant that was never created; send its created event",
			telemetry.KeyTenant, string(rec.ID), telemetry.KeySequence, rec.DesiredSeq, "first", rec.CreatedAt, "last", rec.UpdatedAt)
	}
}

// serve ends the lease first: the message would be handed over to the dead
// holder (model, finding 4). If it ends here, the next sweep finds a free row.
func (s *Sweeper) serve(ctx context.Context, d due, report *Report) error {
	if d.end {
		err := s.Leases.End(ctx, d.rec)

		if _, alive := errors.AsType[*lease.HeldError](err); alive || errors.Is(err, lease.ErrChanged) {
			return nil
		}

		if err != nil {
			return err
		}

		report.Ended++
		d.rec.Fence++

		s.Log.WarnContext(ctx, "ended the lease of a worker that is gone", telemetry.KeyTenant, string(d.rec.ID),
			"owner", d.rec.Lease.Owner, telemetry.KeyFence, d.rec.Fence)
	}

	if !d.nudge || !s.mayRemind(d.rec) {
		return nil
	}

	if err := s.send(ctx, d.rec.ID, d.event); err != nil {
		return err
	}

	report.Nudged++

	level := slog.LevelWarn
	if d.waiting == ReasonDue {
		level = slog.LevelInfo
	}

	s.Log.Log(ctx, level, "reminded the fleet of a tenant that waits", telemetry.KeyTenant, string(d.rec.ID),
		"reason", string(d.waiting), telemetry.KeySequence, d.rec.DesiredSeq, "since", d.rec.UpdatedAt)
	s.remember(d.rec)

	return nil
}

// send makes a worker look: with the event that says nothing, or the one that has
// it see what is due.
func (s *Sweeper) send(ctx context.Context, id tenant.ID, kind tenant.EventType) error {
	body, err := event.Encode(tenant.Event{
		ID: rand.Text(), Source: "lessor", Type: kind, Tenant: id, Time: s.Now(),
	}, event.OrderTime)
	if err != nil {
		return err
	}

	_, err = s.Queue.Send(ctx, body)

	return err
}

// mayRemind reports whether the last reminder was long ago, or of another row.
func (s *Sweeper) mayRemind(rec tenant.Record) bool {
	last, ok := s.reminded[rec.ID]

	return !ok || !last.of(rec) || !s.Now().Before(last.due)
}

func (s *Sweeper) remember(rec tenant.Record) {
	wait := s.config.Age
	if last, ok := s.reminded[rec.ID]; ok && last.of(rec) {
		wait = min(2*last.wait, maxWaits*s.config.Age) //nolint:mnd // it doubles
	}

	s.reminded[rec.ID] = reminder{
		seq: rec.DesiredSeq, fence: rec.Fence, updated: rec.UpdatedAt, due: s.Now().Add(wait), wait: wait,
	}
}

// of reports whether nothing happened to the row since.
func (r reminder) of(rec tenant.Record) bool {
	return r.seq == rec.DesiredSeq && r.fence == rec.Fence && r.updated.Equal(rec.UpdatedAt)
}
