package lease_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/registry/registrytest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func fakeWorld(t require.TestingT) (*world, *registrytest.Table) {
	table := registrytest.New("tenants")

	return newWorld(t, table, "tenants"), table
}

func TestExpressionsMeanTheSameEverywhere(t *testing.T) {
	t.Parallel()

	expressions := registrytest.Expressions(t, ".")
	require.Len(t, expressions, 6)

	for name, expression := range expressions {
		_, err := registrytest.Lex(expression)
		require.NoError(t, err, name)
	}
}

func TestKeepRenewsEveryThirdOfTheDuration(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, table := fakeWorld(t)

		outcomes := map[string]int{}
		held := w.acquire(t, w.leases(lease.WithRenewals(func(outcome string) { outcomes[outcome]++ })))
		before := table.Calls("UpdateItem")

		ctx, stop := held.Keep(t.Context())

		time.Sleep(time.Hour)
		require.NoError(t, ctx.Err())
		require.Positive(t, time.Until(held.Deadline()))
		stop()
		stop()

		renewals := table.Calls("UpdateItem") - before
		require.InDelta(t, 180, renewals, 10)
		require.Equal(t, map[string]int{"ok": renewals}, outcomes)
		require.ErrorIs(t, context.Cause(ctx), context.Canceled)

		time.Sleep(time.Hour)
		require.Equal(t, before+renewals, table.Calls("UpdateItem"), "nothing is renewed after stop")
	})
}

func TestRenewalsOfManyDoNotMarchInStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		moments := map[time.Duration]bool{}

		for range 10 {
			w, table := fakeWorld(t)
			held := w.acquire(t, w.leases())

			table.Intercept(func(string) error {
				moments[time.Since(began)] = true

				return nil
			}, nil)

			_, stop := held.Keep(t.Context())

			time.Sleep(23 * time.Second)
			stop()

			for moment := range moments {
				require.InDelta(t, 20*time.Second, moment, float64(2*time.Second))
			}

			began = time.Now()
		}

		require.Greater(t, len(moments), 5)
	})
}

func TestKeepEndsWhenSomebodyTookOver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, _ := fakeWorld(t)
		held := w.acquire(t, w.leases())
		ctx, stop := held.Keep(t.Context())

		// Whoever it was, and however wrong: the row says so.
		require.NoError(t, w.rows.Release(t.Context(), acme, held.Token(), false))
		w.acquire(t, w.leases())

		began := time.Now()

		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), lease.ErrLost)
		require.LessOrEqual(t, time.Since(began), 22*time.Second)
		stop()
	})
}

func TestKeepEndsAtTheDeadlineIfTheTableCannotBeReached(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, table := fakeWorld(t)
		held := w.acquire(t, w.leases())
		ctx, stop := held.Keep(t.Context())

		time.Sleep(5 * time.Minute)

		deadline := held.Deadline()

		table.Intercept(func(string) error { return errLost }, nil)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), lease.ErrUncertain)
		require.ErrorIs(t, context.Cause(ctx), errLost, "and why")
		require.Equal(t, deadline, time.Now())
		stop()
	})
}

// The call itself hangs, and does not even look at its context.
func TestKeepEndsAtTheDeadlineThoughARenewalHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, table := fakeWorld(t)
		held := w.acquire(t, w.leases())
		ctx, stop := held.Keep(t.Context())
		deadline := held.Deadline()

		table.Intercept(func(string) error {
			time.Sleep(time.Hour)

			return nil
		}, nil)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), lease.ErrUncertain)
		require.Equal(t, deadline, time.Now())
		stop()
	})
}

func TestKeepOutlivesAnOutageShorterThanTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, table := fakeWorld(t)

		outcomes := map[string]int{}
		held := w.acquire(t, w.leases(lease.WithRenewals(func(outcome string) { outcomes[outcome]++ })))
		ctx, stop := held.Keep(t.Context())

		table.Intercept(func(string) error { return errLost }, nil)
		time.Sleep(40 * time.Second)
		table.Intercept(nil, nil)
		time.Sleep(10 * time.Minute)
		require.NoError(t, ctx.Err())
		stop()
		require.GreaterOrEqual(t, outcomes["error"], 2)
		require.Zero(t, outcomes["lost"])
	})
}

// A renewal that landed, whose answer was lost, must not make the holder
// believe that it lost the lease.
func TestKeepOutlivesLostAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, table := fakeWorld(t)
		held := w.acquire(t, w.leases())
		ctx, stop := held.Keep(t.Context())

		var calls atomic.Int64

		table.Intercept(nil, func(string) error {
			if calls.Add(1)%2 == 1 {
				return errLost
			}

			return nil
		})
		time.Sleep(time.Hour)
		require.NoError(t, ctx.Err())
		stop()
	})
}

func TestStopEndsARenewalUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, table := fakeWorld(t)
		api := &hanging{Table: table}
		held, err := lease.New(api, "tenants", config()).Acquire(t.Context(), w.get(t), "m")
		require.NoError(t, err)

		api.hang.Store(true)

		_, stop := held.Keep(t.Context())
		// Every first renewal has begun by now, and none has timed out.
		time.Sleep(22500 * time.Millisecond)
		require.Equal(t, int64(1), api.waiting.Load())

		began := time.Now()

		stop()
		require.Zero(t, api.waiting.Load(), "none is left behind")
		require.Zero(t, time.Since(began), "and a release does not wait for it")
	})
}

// hanging never answers an update, until its context ends.
type hanging struct {
	*registrytest.Table

	hang    atomic.Bool
	waiting atomic.Int64
}

func (h *hanging) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	if !h.hang.Load() {
		return h.Table.UpdateItem(ctx, in, opts...)
	}

	h.waiting.Add(1)
	defer h.waiting.Add(-1)

	<-ctx.Done()

	return nil, &smithy.CanceledError{Err: ctx.Err()}
}

func TestKeepEndsWithItsParent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w, table := fakeWorld(t)
		held := w.acquire(t, w.leases())
		parent, cancel := context.WithCancelCause(t.Context())
		ctx, stop := held.Keep(parent)

		cancel(errLost)
		<-ctx.Done()
		require.ErrorIs(t, context.Cause(ctx), errLost)

		before := table.Calls("UpdateItem")

		time.Sleep(time.Hour)
		require.Equal(t, before, table.Calls("UpdateItem"))
		stop()
	})
}

// A process that was frozen past its deadline must not renew, even if nobody
// took over: its operation has to stop.
func TestNoRenewalAfterTheDeadline(t *testing.T) {
	t.Parallel()

	w, table := fakeWorld(t)
	c := newClock()
	held := w.acquire(t, w.leases(lease.WithClock(c.Now)))
	before := table.Calls("UpdateItem")

	c.advance(duration - margin)
	require.ErrorIs(t, held.Renew(t.Context()), lease.ErrUncertain)
	require.Equal(t, before, table.Calls("UpdateItem"))
}

func TestAnAcquisitionWhoseAnswerWasLost(t *testing.T) {
	t.Parallel()

	w, table := fakeWorld(t)
	table.Intercept(nil, func(operation string) error {
		if operation == "UpdateItem" {
			return errLost
		}

		return nil
	})

	held := w.acquire(t, w.leases())

	table.Intercept(nil, nil)
	require.Equal(t, registry.Token{Owner: w.get(t).Lease.Owner, Fence: w.get(t).Fence}, held.Token())
	require.NoError(t, held.Renew(t.Context()))
}

// A caller that gives up may have got the lease all the same.
func TestAnAcquisitionOfACallerThatGaveUp(t *testing.T) {
	t.Parallel()

	w, table := fakeWorld(t)
	rec := w.get(t)
	ctx, cancel := context.WithCancel(t.Context())

	table.Intercept(nil, func(operation string) error {
		if operation == "UpdateItem" {
			cancel()

			return context.Canceled
		}

		return nil
	})

	held, err := w.leases().Acquire(ctx, rec, "m")
	require.NoError(t, err)
	require.Equal(t, int64(1), held.Token().Fence)
}

func TestAnAcquisitionThatNeverLanded(t *testing.T) {
	t.Parallel()

	w, table := fakeWorld(t)
	rec := w.get(t)

	table.Intercept(func(operation string) error {
		if operation == "UpdateItem" {
			return errLost
		}

		return nil
	}, nil)

	_, err := w.leases().Acquire(t.Context(), rec, "m")
	require.ErrorIs(t, err, errLost)
	require.NotErrorIs(t, err, lease.ErrChanged)

	table.Intercept(func(string) error { return errLost }, nil)

	_, err = w.leases().Acquire(t.Context(), rec, "m")
	require.ErrorIs(t, err, errLost)
	table.Intercept(nil, nil)
	require.Equal(t, tenant.Lease{}, w.get(t).Lease)
}

func TestDeniedNamesTableAndPermission(t *testing.T) {
	t.Parallel()

	w, table := fakeWorld(t)
	rec := w.get(t)

	table.Intercept(func(string) error { return &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "no"} }, nil)

	_, err := w.leases().Acquire(t.Context(), rec, "m")
	require.ErrorContains(t, err, "LESSOR_TABLE")
	require.ErrorContains(t, err, "tenants")
	require.ErrorContains(t, err, "dynamodb:UpdateItem")
}

func TestConfigNamesVariableAndFix(t *testing.T) {
	t.Parallel()

	require.NoError(t, config().Validate())

	for name, c := range map[string]struct {
		config lease.Config
		want   string
	}{
		"negative duration": {lease.Config{Duration: -time.Second, Margin: time.Second}, "LESSOR_LEASE_DURATION is -1s"},
		"no margin":         {lease.Config{Duration: time.Minute}, "LESSOR_LEASE_MARGIN is 0s"},
		"margin too long":   {lease.Config{Duration: time.Minute, Margin: 31 * time.Second}, "at most half of LESSOR_LEASE_DURATION"},
	} {
		require.ErrorContains(t, c.config.Validate(), c.want, name)
	}
}
