package reconcile_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/reconcile"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestResultIsPublishedAtLeastOnce(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.publisher.breaks(errOutage)

		outcome := w.deliver(t, "m1", created(1))
		require.Equal(t, reconcile.ActionDelay, outcome.Action, "the message stands for the result")
		require.Equal(t, reconcile.ReasonError, outcome.Reason)
		require.Positive(t, outcome.Delay)

		rec := w.row(t)
		free(t, rec)
		require.Equal(t, int64(1), rec.AppliedSeq, "the outcome is recorded all the same")
		require.Equal(t, rec.Last.OperationID, rec.Unpublished)
		require.NotEmpty(t, w.observer.troubles)

		// Still not: the error brings the message back.
		_, err := w.settle(t, &message{id: "m1"}, rec)
		require.ErrorIs(t, err, errOutage)
		require.Equal(t, rec.Unpublished, w.row(t).Unpublished)

		w.publisher.breaks(nil)
		require.Equal(t, reconcile.ReasonUnchanged, w.deliver(t, "m1", created(1)).Reason)
		require.Empty(t, w.row(t).Unpublished)
		require.Len(t, w.publisher.published(), 1)
		require.Equal(t, rec.Unpublished, w.publisher.published()[0].ID)
		require.Len(t, w.engine.operations(), 1)

		// And no more.
		require.Equal(t, reconcile.ReasonUnchanged, w.deliver(t, "m2", created(1)).Reason)
		require.Len(t, w.publisher.published(), 1)
	})
}

func TestResultIsRepeatedWithItsIDIfTheNoteWasLost(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.Ledger = &forgetfulLedger{Ledger: w.Ledger}

		require.Equal(t, reconcile.ActionDelay, w.deliver(t, "m1", created(1)).Action)
		require.Equal(t, reconcile.ReasonUnchanged, w.deliver(t, "m1", created(1)).Reason)

		published := w.publisher.published()
		require.Len(t, published, 2)
		require.Equal(t, published[0], published[1])
	})
}

// forgetfulLedger fails to note a publication, once.
type forgetfulLedger struct {
	reconcile.Ledger

	failed bool
}

func (l *forgetfulLedger) Published(ctx context.Context, id tenant.ID, operationID string) error {
	if !l.failed {
		l.failed = true

		return errOutage
	}

	return l.Ledger.Published(ctx, id, operationID)
}

// A worker may die between the record and the publication. The next outcome
// would take the place of the one that nobody was told of.
func TestResultOfADeadWorkerIsPublishedBeforeTheNextOperation(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.publisher.breaks(errOutage)
		require.Equal(t, reconcile.ReasonError, w.deliver(t, "m1", created(1)).Reason)

		first := w.row(t).Unpublished
		w.publisher.breaks(nil)
		w.engine.will(during(func() {
			require.Len(t, w.publisher.published(), 1)
		}, fail(tenant.KindTransient, "no luck")))

		require.Equal(t, reconcile.ReasonBackoff, w.deliver(t, "m2", updated(2, "large")).Reason)
		require.Equal(t, first, w.publisher.published()[0].ID)
	})
}

// A dead lease on a settled row may hide a result, too.
func TestResultUnderADeadLeaseIsPublished(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.publisher.breaks(errOutage)
		require.Equal(t, reconcile.ReasonError, w.deliver(t, "m1", created(1)).Reason)
		w.die(t, "m1")
		w.leases.Stale(w.row(t))
		time.Sleep(duration + margin)

		outcome := w.deliver(t, "m1", created(1))
		require.Equal(t, reconcile.ActionDelay, outcome.Action)
		require.Equal(t, reconcile.ReasonError, outcome.Reason)
		require.NotEmpty(t, w.row(t).Unpublished)

		w.publisher.breaks(nil)
		require.Equal(t, reconcile.ActionDelete, w.deliver(t, "m1", created(1)).Action)
		require.Empty(t, w.row(t).Unpublished)
		require.Len(t, w.publisher.published(), 1)
	})
}

// A target that cannot be reached does not stop the work.
func TestOutageOfTheTargetDoesNotStopTheRounds(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.publisher.breaks(errOutage)
		w.engine.will(during(func() { w.handOver(t, "m2", updated(2, "large")) }, succeed))

		require.Equal(t, reconcile.ReasonError, w.deliver(t, "m1", created(1)).Reason)
		require.Equal(t, int64(2), w.row(t).AppliedSeq)
	})
}

func TestProgressIsShown(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.engine.will(reporting(func(progress func(engine.Progress)) {
			rec := w.row(t)
			require.Equal(t, w.engine.operations()[0].ID, rec.Progress.OperationID, "before it begins")
			require.Equal(t, "up", rec.Progress.Step)

			writes := w.table.Calls("UpdateItem")

			for done := range 1000 {
				progress(engine.Progress{Step: plan.StepUp, Done: done, Planned: 1000})
			}

			time.Sleep(5 * time.Second)

			rec = w.row(t)
			require.Equal(t, 999, rec.Progress.Done, "the newest")
			require.Equal(t, 1000, rec.Progress.Planned)
			require.LessOrEqual(t, w.table.Calls("UpdateItem")-writes, 2)
		}))

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)
		require.Nil(t, w.row(t).Progress)
	})
}

// The row has the first progress before an operation begins.
func TestAShortOperationWritesNoProgress(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.engine.will(reporting(func(progress func(engine.Progress)) {
			writes := w.table.Calls("UpdateItem")

			progress(engine.Progress{Step: plan.StepUp, Done: 1, Planned: 2})
			time.Sleep(900 * time.Millisecond)
			require.Equal(t, writes, w.table.Calls("UpdateItem"))
		}))

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)
	})
}

// A table that hangs slows no operation: in this bubble a report that blocks
// would be a deadlock.
func TestProgressNeverBlocks(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.engine.will(func(_ context.Context, _ engine.Operation, watch engine.Watch) engine.Result {
			hang := make(chan struct{})

			w.table.Intercept(func(string) error {
				<-hang

				return nil
			}, nil)

			for done := range 1000 {
				watch.Progress(engine.Progress{Step: plan.StepUp, Done: done})
			}

			w.table.Intercept(nil, nil)
			close(hang)

			return good()
		})

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)
	})
}

func TestFailingProgressIsOnlyTrouble(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld()

		w.engine.will(func(_ context.Context, _ engine.Operation, watch engine.Watch) engine.Result {
			w.table.Intercept(func(string) error { return errOutage }, nil)
			watch.Progress(engine.Progress{Step: plan.StepUp, Done: 1})
			time.Sleep(1500 * time.Millisecond)
			w.table.Intercept(nil, nil)

			return good()
		})

		require.Equal(t, reconcile.ReasonSettled, w.deliver(t, "m1", created(1)).Reason)
		require.Len(t, w.observer.troubles, 1)
	})
}
