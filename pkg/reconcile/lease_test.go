package reconcile_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The message under which a lease was taken is the only one that brings somebody
// back if its holder dies, so it is spared even where there is nothing to do.
func TestMessageOfALeaseIsWatched(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		settled bool
		message string
		want    reconcile.Outcome
	}{
		"the lease's":               {message: "m1", want: reconcile.Outcome{Action: reconcile.ActionWatch, Reason: reconcile.ReasonBusy}},
		"the lease's, settled row":  {settled: true, message: "m1", want: reconcile.Outcome{Action: reconcile.ActionWatch, Reason: reconcile.ReasonBusy}},
		"another":                   {message: "m2", want: reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonHandedOver}},
		"another, but not a change": {settled: true, message: "m2", want: reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonUnchanged}},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				w.accept(t, created(1))

				if tt.settled {
					w.provision(t, "silo")
				}

				w.die(t, "m1")

				before := w.row(t)
				require.Equal(t, tt.want, w.deliver(t, tt.message, created(1)))
				require.Equal(t, before, w.row(t))
				require.Empty(t, w.engine.operations())
			})
		})
	}
}

func TestDeadLeaseIsTakenOverAfterItStoodStill(t *testing.T) {
	t.Parallel()

	for name, settled := range map[string]bool{"with work left": false, "settled": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				w.accept(t, created(1))

				if settled {
					w.provision(t, "silo")
				}

				w.die(t, "m1")
				dead := w.row(t)

				watch := reconcile.Outcome{Action: reconcile.ActionWatch, Reason: reconcile.ReasonBusy}
				require.Equal(t, watch, w.deliver(t, "m1", created(1)))
				time.Sleep(duration + margin - time.Nanosecond)
				require.Equal(t, watch, w.deliver(t, "m1", created(1)))
				time.Sleep(time.Nanosecond)

				outcome := w.deliver(t, "m1", created(1))
				require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonSettled}, outcome)

				rec := w.row(t)
				free(t, rec)
				require.False(t, rec.NeedsWork())
				require.Equal(t, dead.Fence+1, rec.Fence)

				if settled {
					require.Less(t, rec.CleanFence, rec.Fence, "a write of the dead owner may still land")
				} else {
					require.False(t, w.engine.operations()[0].CleanPredecessor, "a write of the dead owner may still land")
					require.Equal(t, rec.Fence, rec.CleanFence, "the engine shut it out")
				}

				require.True(t, w.observer.takeovers[len(w.observer.takeovers)-1])
			})
		})
	}
}

// A row that is held gives no ground to delete the lease's own message, whoever
// learns of it only when it asks for the lease.
func TestRaceForTheLease(t *testing.T) {
	t.Parallel()

	// steal is what happens between the read of the row and the acquisition.
	tests := map[string]struct {
		steal func(t *testing.T, w *world)
		want  reconcile.Outcome
		ops   int
	}{
		"somebody else works under another message": {
			steal: func(t *testing.T, w *world) { t.Helper(); w.die(t, "m2") },
			want:  reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonHandedOver},
		},
		"somebody else works under the same message": {
			steal: func(t *testing.T, w *world) { t.Helper(); w.die(t, "m1") },
			want:  reconcile.Outcome{Action: reconcile.ActionWatch, Reason: reconcile.ReasonBusy},
		},
		"somebody was quicker and let go": {
			steal: func(t *testing.T, w *world) {
				t.Helper()

				held, err := newLeases(w.table).Acquire(t.Context(), w.row(t), "m2")
				require.NoError(t, err)
				require.NoError(t, w.rows.Release(t.Context(), acme, held.Token(), true))
			},
			want: reconcile.Outcome{Action: reconcile.ActionDelete, Reason: reconcile.ReasonSettled},
			ops:  1,
		},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				w.slots.onTake = func() {
					w.slots.onTake = nil
					tt.steal(t, w)
				}

				require.Equal(t, tt.want, w.deliver(t, "m1", created(1)))
				require.Len(t, w.engine.operations(), tt.ops)
			})
		})
	}
}

func TestRaceThatIsAlwaysLostGivesTheMessageBack(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.slots.onTake = func() {
			held, err := newLeases(w.table).Acquire(t.Context(), w.row(t), "m2")
			require.NoError(t, err)
			require.NoError(t, w.rows.Release(t.Context(), acme, held.Token(), true))
		}

		outcome := w.deliver(t, "m1", created(1))
		require.Equal(t, reconcile.ActionDelay, outcome.Action)
		require.Equal(t, reconcile.ReasonBusy, outcome.Reason)
		require.Positive(t, outcome.Delay)
		require.Empty(t, w.engine.operations())
	})
}

func TestLostMessageTakesNoLease(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		rec := w.accept(t, created(1))
		outcome, err := w.settle(t, &message{id: "m1", lost: errors.New("receipt lost")}, rec)

		require.NoError(t, err)
		require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDrop, Reason: reconcile.ReasonLost}, outcome)
		require.Equal(t, rec, w.row(t))
	})
}

func TestLeaseLostDuringAnOperation(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		lose func(w *world)
		want error
	}{
		"taken over": {
			lose: func(w *world) { rob(w.table) },
			want: lease.ErrLost,
		},
		"not renewed": {
			lose: func(w *world) { w.table.Intercept(func(string) error { return errOutage }, nil) },
			want: lease.ErrUncertain,
		},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				var before tenant.Record

				stopped := newStop()

				w.engine.will(during(func() {
					before = w.row(t)
					tt.lose(w)
				}, stopped.until(tenant.KindLeaseLost, false)))

				require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDrop, Reason: reconcile.ReasonLost}, w.deliver(t, "m1", created(1)))
				require.ErrorIs(t, stopped.cause, engine.ErrLeaseLost)
				require.ErrorIs(t, stopped.cause, tt.want)

				w.table.Intercept(nil, nil)

				after := w.row(t)
				after.Lease = before.Lease
				require.Equal(t, before, after, "nothing was written")
				require.NotNil(t, after.Progress, "a successor sees that an operation was under way")
				require.Empty(t, w.publisher.published())

				synctest.Wait()
				require.Len(t, w.observer.lost, 1)
			})
		})
	}
}

// The engine is told when the lease ends, and that it was renewed.
func TestEngineKnowsHowLongTheLeaseIsGood(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.engine.will(func(_ context.Context, _ engine.Operation, watch engine.Watch) engine.Result {
			first := watch.LeaseUntil()
			require.Equal(t, time.Now().Add(duration-margin), first)
			time.Sleep(duration / 2)
			require.True(t, watch.LeaseUntil().After(first))

			return good()
		})

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)
	})
}

// rob gives the lease to somebody else.
func rob(table *registrytest.Table) {
	row := table.Item("tenant#acme")
	row["lease_owner"] = row["lease_message"]
	table.Put(row)
}

// The lease may also turn out to be lost only when the outcome is recorded.
func TestLeaseLostBeforeTheRecord(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.engine.will(during(func() { rob(w.table) }, succeed))

		outcome := w.deliver(t, "m1", created(1))
		require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDrop, Reason: reconcile.ReasonLost}, outcome)
		require.Zero(t, w.row(t).AppliedSeq)
		require.Empty(t, w.publisher.published())
	})
}

func TestInterruptedOperation(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		clean   bool
		unclean bool // the owner before died
		free    bool
	}{
		"clean":                               {clean: true, free: true},
		"clean, after an owner that was not":  {clean: true, unclean: true, free: true},
		"killed, so that writes may be about": {},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld()

				rec := w.accept(t, created(1))

				if tt.unclean {
					w.die(t, "m1")

					rec = w.row(t)
					w.leases.Stale(rec)
					time.Sleep(duration + margin)
				}

				stopped := newStop()
				w.engine.will(stopped.until(tenant.KindInterrupted, tt.clean))

				go func() {
					<-stopped.started
					w.interrupt(engine.ErrInterrupt)
				}()

				began := time.Now()

				outcome, err := w.settle(t, &message{id: "m1"}, rec)
				require.NoError(t, err)
				require.ErrorIs(t, stopped.cause, engine.ErrInterrupt)
				require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelay, Reason: reconcile.ReasonDrain}, outcome, "visible at once")

				op := w.engine.operations()[0]
				require.Equal(t, !tt.unclean, op.CleanPredecessor)

				if tt.unclean {
					require.Equal(t, began.Add(duration), op.LookAfter, "what the dead owner began ends with its lease")
				} else {
					require.Zero(t, op.LookAfter)
				}

				rec = w.row(t)
				require.True(t, rec.NeedsWork())
				require.Zero(t, rec.Attempts, "nobody is to blame")
				require.Empty(t, w.publisher.published())

				if !tt.free {
					require.Equal(t, "m1", rec.Lease.Message, "the lease must expire")
					require.NotNil(t, rec.Progress)

					return
				}

				free(t, rec)
				require.Equal(t, rec.Fence, rec.CleanFence, "the engine has shut older writes out")
				require.False(t, time.Now().Before(rec.NotBefore), "no backoff")
				require.True(t, rec.Stack.Created)
			})
		})
	}
}

// A change that comes in between the last look and the release was handed over:
// the own message must stand for it, and the lease must not be in its way.
func TestReleaseRace(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		rec := w.accept(t, created(1))
		ledger := &racingLedger{Registry: w.rows, race: func() {
			require.Equal(t, reconcile.ReasonHandedOver, w.handOver(t, "m2", updated(2, "large")).Reason)
		}}
		w.Ledger = ledger
		w.slots.onTake = func() { w.gate.set(reconcile.ReasonPaused) }

		outcome, err := w.settle(t, &message{id: "m1"}, rec)
		require.NoError(t, err)
		require.Equal(t, reconcile.Outcome{Action: reconcile.ActionDelay, Reason: reconcile.ReasonBusy}, outcome, "visible at once")
		require.Empty(t, w.engine.operations())
		free(t, w.row(t))

		w.gate.set("")
		w.slots.onTake = nil

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)
		require.Equal(t, int64(2), w.row(t).AppliedSeq)
		require.Equal(t, [][]plan.Step{{plan.StepUp}}, w.engine.steps())
	})
}

// racingLedger lets something happen right before a release.
type racingLedger struct {
	*registry.Registry

	race func()
}

func (l *racingLedger) ReleaseSeen(ctx context.Context, id tenant.ID, token registry.Token, seen int64, clean bool) error {
	l.race()

	return l.Registry.ReleaseSeen(ctx, id, token, seen, clean)
}
