package worker_test

import (
	"context"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// endOf is the line of the log that ends an operation: its time, and the
// milliseconds of each phase that took time.
func (w *world) endOf(t *testing.T, message string) (at time.Time, phases map[phase.Phase]float64) {
	t.Helper()

	line := regexp.MustCompile(`(?m)^time=(\S+) .*msg="` + message + `.*$`).FindStringSubmatch(w.log.String())
	require.NotNil(t, line, w.log)

	at, err := time.Parse(time.RFC3339Nano, line[1])
	require.NoError(t, err)

	phases = map[phase.Phase]float64{}

	found := regexp.MustCompile(`phases\.(\w+)=(\S+)`).FindAllStringSubmatch(line[0], -1)
	require.Len(t, found, len(phase.All()))

	for _, pair := range found {
		ms, err := strconv.ParseFloat(pair[2], 64)
		require.NoError(t, err)

		if ms > 0 {
			phases[phase.Phase(pair[1])] = ms
		}
	}

	return at, phases
}

func TestTheLogSaysWhereTheTimeWent(t *testing.T) {
	t.Parallel()

	for message, failure := range map[string]*tenant.Failure{
		"operation succeeded": nil,
		"operation failed":    {Kind: tenant.KindTransient, Message: "no", Step: "up"},
	} {
		t.Run(message, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)

				var ended time.Time

				w.table.Intercept(func(string) error { time.Sleep(time.Second); return nil }, nil)
				w.engine.act = func(ctx context.Context, _ engine.Operation) engine.Result {
					if !ended.IsZero() {
						// The next attempt is of no interest.
						<-ctx.Done()

						return engine.Result{Failure: failure}
					}

					time.Sleep(5 * time.Second)

					ended = time.Now()
					res := done()
					res.Failure, res.Phases = failure, phase.Times{phase.Engine: 3 * time.Second}

					return res
				}
				w.start(t)
				w.send(t, created("acme"))
				pass(time.Minute)

				at, phases := w.endOf(t, message)
				require.True(t, ended.Equal(at), "the line has the time of the operation's end: %s, %s", ended, at)

				want := map[phase.Phase]float64{
					phase.Accept: 2000, phase.Lease: 1000, phase.Engine: 3000, phase.Other: 2000, phase.Commit: 2000,
				}
				if failure == nil {
					// What is tried again is not told outside.
					want[phase.Publish] = 1000
				}

				require.Equal(t, want, phases)

				for p, ms := range want {
					require.InDelta(t, ms/1000, testutil.ToFloat64(w.worker.Metrics().OperationPhases.WithLabelValues(string(p))), 1e-9, p)
				}
			})
		})
	}
}

// A message waits for the lease of another worker, even if that was only found held
// when it was to be taken.
func TestTheWaitForALeaseIsTheMessages(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		e := created("acme")
		id := w.send(t, e)
		writes := 0

		w.table.Intercept(func(operation string) error {
			if operation != "UpdateItem" {
				return nil
			}

			writes++

			// The second is the acquisition.
			if writes == 2 {
				_, err := w.leases().Acquire(t.Context(), w.row(t), id)
				require.NoError(t, err)
			}

			return nil
		}, nil)
		w.start(t)
		pass(10 * time.Minute)

		_, phases := w.endOf(t, "operation succeeded")
		require.GreaterOrEqual(t, phases[phase.Receive], float64((leaseDuration + leaseMargin).Milliseconds()))
		require.Zero(t, phases[phase.Lease])
	})
}

func TestTheWaitForASlotIsTheMessages(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		// Whoever took a lease over has the only slot, and no hand.
		w.engine.act = func(_ context.Context, op engine.Operation) engine.Result {
			if op.Tenant != "late" {
				time.Sleep(time.Hour)
			}

			return done()
		}
		w.watched(t, 1)
		w.start(t)
		pass(10 * time.Minute)
		require.Equal(t, 1, w.engine.started())
		w.send(t, created("late"))
		pass(2 * time.Hour)

		_, phases := w.endOf(t, "operation succeeded.*tenant_id=late")
		require.Greater(t, phases[phase.Receive], float64((40 * time.Minute).Milliseconds()))
	})
}
