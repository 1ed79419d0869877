package worker_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/pkg/worker"
)

// A poll in flight is never cancelled: what it brings during a drain goes back.
func TestMessageThatAPollBringsDuringADrainIsGivenBack(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		w.start(t)
		w.stop()
		synctest.Wait()
		w.send(t, created("acme"))

		require.Equal(t, queue.Depth{Visible: 1}, w.depth(t), "visible at once")
		require.NoError(t, <-w.stopped)
		require.Len(t, w.sqs.Received(), 1)
		require.Zero(t, w.engine.started())
		require.False(t, w.row(t).Exists())

		w.stop = nil
	})
}

func TestDrainWaitsForOperations(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)

		w.engine.act = func(context.Context, engine.Operation) engine.Result {
			time.Sleep(drainTimeout - time.Minute)

			return done()
		}
		w.start(t)
		w.send(t, created("acme"))
		require.Equal(t, 1, w.engine.started())

		began := time.Now()

		w.end(t)
		require.Equal(t, drainTimeout-time.Minute, time.Since(began))
		require.Equal(t, int64(1), w.row(t).AppliedSeq)
		require.Empty(t, w.sqs.Bodies(w.url))
	})
}

func TestOperationsAreInterrupted(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		hurry bool
		clean bool
		after time.Duration
	}{
		"at the drain timeout":             {clean: true, after: drainTimeout},
		"by the second signal":             {hurry: true, clean: true, after: time.Minute},
		"and do not end in an orderly way": {hurry: true, after: time.Minute},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 2)

				w.engine.act = func(ctx context.Context, _ engine.Operation) engine.Result {
					<-ctx.Done()
					require.ErrorIs(t, context.Cause(ctx), engine.ErrInterrupt)

					return engine.Result{
						Failure:      &tenant.Failure{Kind: tenant.KindInterrupted, Message: "interrupted"},
						StackCreated: true, Clean: tt.clean,
					}
				}
				w.start(t)
				w.send(t, created("acme"))

				began := time.Now()

				w.stop()
				pass(time.Minute)

				if tt.hurry {
					w.hurry <- struct{}{}
				}

				require.NoError(t, <-w.stopped)
				require.Equal(t, tt.after, time.Since(began))
				require.Equal(t, queue.Depth{Visible: 1}, w.depth(t), "visible at once")
				require.Equal(t, tt.clean, w.row(t).Lease.Owner == "")

				w.stop = nil
			})
		})
	}
}

func TestDrainGivesBackWhatWaitsForASlot(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		// Two leases are watched without a hand. Both come free while the one
		// slot is taken.
		release := make(chan struct{})
		w.engine.act = func(context.Context, engine.Operation) engine.Result {
			<-release

			return done()
		}
		w.watched(t, 2)
		w.start(t)
		pass(2 * (leaseDuration + leaseMargin))
		require.Equal(t, 1, w.engine.started())
		require.Equal(t, queue.Depth{InFlight: 2}, w.depth(t))

		w.stop()
		synctest.Wait()
		require.Equal(t, queue.Depth{Visible: 1, InFlight: 1}, w.depth(t))
		close(release)
		require.NoError(t, <-w.stopped)
		require.Equal(t, queue.Depth{Visible: 1}, w.depth(t))

		w.stop = nil
	})
}

func TestPausedFleetReceivesNothing(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		require.NoError(t, w.rows.Pause(t.Context(), "incident"))
		w.send(t, created("acme"))
		w.start(t)
		pass(time.Hour)
		require.Empty(t, w.sqs.Received())
		require.Equal(t, queue.Depth{Visible: 1}, w.depth(t))
		require.NoError(t, w.worker.Live(), "a pause is no standstill")
		require.Contains(t, w.log.String(), "incident")

		require.NoError(t, w.rows.Unpause(t.Context()))
		pass(5 * time.Second)
		require.Equal(t, 1, w.engine.started())
		require.Empty(t, w.sqs.Bodies(w.url))
		require.NoError(t, w.worker.Live(), "nor is the first poll after it")
	})
}

func TestPauseInTheMiddle(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		w.start(t)
		require.NoError(t, w.rows.Pause(t.Context(), "incident"))
		pass(5 * time.Second)

		// The poll in flight may bring a message yet: it goes back, later.
		w.send(t, created("acme"))
		require.Zero(t, w.engine.started())
		require.Equal(t, queue.Depth{InFlight: 1}, w.depth(t))

		polls := len(w.sqs.Received())

		pass(10 * time.Minute)
		require.Len(t, w.sqs.Received(), polls)

		require.NoError(t, w.rows.Unpause(t.Context()))
		pass(5 * time.Second)
		require.Equal(t, 1, w.engine.started())
	})
}

// An outage of the table says nothing of a pause: things stay as they were.
func TestFleetThatCannotBeReadStaysPaused(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		require.NoError(t, w.rows.Pause(t.Context(), "incident"))
		w.start(t)
		w.table.Intercept(func(string) error { return errOutage }, nil)
		w.send(t, created("acme"))
		pass(time.Minute)
		require.Empty(t, w.sqs.Received())
	})
}

func TestPauseEndsWithADrain(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		require.NoError(t, w.rows.Pause(t.Context(), "incident"))
		w.start(t)

		began := time.Now()

		w.end(t)
		require.Equal(t, began, time.Now())
	})
}

func TestLoopThatStandsStillIsNotLive(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		hang := make(chan struct{})

		w.sqs.Intercept(func(string) error {
			<-hang

			return nil
		})
		w.start(t)
		pass(2 * time.Minute)
		require.NoError(t, w.worker.Live())
		pass(time.Second)
		require.ErrorContains(t, w.worker.Live(), "has not polled for 2m1s")

		w.sqs.Intercept(nil)
		close(hang)
		synctest.Wait()
		pass(time.Hour)
		require.NoError(t, w.worker.Live())

		w.stop()
		synctest.Wait()
		require.NoError(t, w.worker.Live(), "a drain is no standstill")
	})
}

// Slots may be full for hours; the first poll afterwards is no standstill.
func TestFullSlotsAreNoStandstill(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)

		w.engine.act = func(context.Context, engine.Operation) engine.Result {
			time.Sleep(time.Hour)

			return done()
		}
		w.start(t)
		w.send(t, created("acme"))

		for range 70 {
			pass(time.Minute)
			require.NoError(t, w.worker.Live())
		}
	})
}

func TestCommandLine(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		"help":            {args: []string{"help"}, stdout: "worker check"},
		"-h":              {args: []string{"-h"}, stdout: "worker check"},
		"version":         {args: []string{"version"}, stdout: "pulumi-aws "},
		"unknown command": {args: []string{"serve"}, code: 2, stderr: `unknown command "serve"`},
		"too many":        {args: []string{"check", "it"}, code: 2, stderr: "too many arguments"},
	}

	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var stdout, stderr bytes.Buffer

			require.Equal(t, tt.code, worker.RunCommand(tt.args, strings.NewReader(""), &stdout, &stderr))
			require.Contains(t, stdout.String(), tt.stdout)
			require.Contains(t, stderr.String(), tt.stderr)
			require.Equal(t, tt.code == 0, stderr.Len() == 0)
		})
	}
}
