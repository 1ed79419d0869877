package chaos_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws"
	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	// shortRun is what runs as one of many tests, always with the same seed.
	shortRun  = time.Minute
	shortSeed = 1
	minRun    = 45 * time.Second

	settlePatience = 5 * time.Minute
	drainPatience  = 90 * time.Second
	readyPatience  = time.Minute
)

// options say what to run: CHAOS_FOR for how long, CHAOS_SEED with which seed, by
// default a new one where CHAOS_FOR is given.
func options(t *testing.T) (duration time.Duration, seed uint64) {
	t.Helper()

	duration, seed = shortRun, shortSeed

	if value := os.Getenv("CHAOS_FOR"); value != "" {
		var err error

		duration, err = time.ParseDuration(value)
		require.NoError(t, err, "CHAOS_FOR is a duration such as 3m")
		require.GreaterOrEqual(t, duration, minRun, "CHAOS_FOR is too short to freeze a worker in")

		seed = rand.Uint64N(1_000_000)
	}

	if value := os.Getenv("CHAOS_SEED"); value != "" {
		var err error

		seed, err = strconv.ParseUint(value, 10, 64)
		require.NoError(t, err, "CHAOS_SEED is a number")
	}

	return duration, seed
}

func TestChaos(t *testing.T) { //nolint:paralleltest // it takes all of the machine
	if testing.Short() {
		t.Skip("chaos needs tools and minutes")
	}

	if runtime.GOOS != "linux" {
		t.Skip("chaos looks for processes in /proc")
	}

	duration, seed := options(t)
	r := newRun(t, duration, seed)

	r.sayf("seed %d for %s; again with: CHAOS_FOR=%s CHAOS_SEED=%d make chaos", seed, duration, duration, seed)
	r.sayf("%d tenants, %d events in %d messages; the schedule:%s",
		len(r.flow.subjects), r.flow.events, len(r.flow.deliveries), compact(r.schedule))

	r.play()
	r.settle()
	r.report(r.inspect())
}

// run is one run from the first event to the verdict.
type run struct {
	t        *testing.T
	ctx      context.Context //nolint:containedctx // it is the life of the test
	duration time.Duration
	seed     uint64
	flow     *traffic
	schedule []action
	dir      string
	front    *front
	fleet    *fleet
	injector *injector
	unclean  []string
}

func newRun(t *testing.T, duration time.Duration, seed uint64) *run {
	t.Helper()

	// One generator each, so that a change of one changes nothing of the others.
	generator := func(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, stream)) }

	dir, err := os.MkdirTemp("", "lessor-chaos-") //nolint:usetesting // the logs are kept if the test fails
	require.NoError(t, err)

	r := &run{
		t: t, ctx: t.Context(), duration: duration, seed: seed, dir: dir,
		schedule: newSchedule(generator(0), duration), front: newFront(generator(2)),
	}

	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs of the workers: %s", filepath.Join(dir, "fleet", "logs"))

			return
		}

		_ = os.RemoveAll(dir)
	})

	local, err := localaws.Start(t.Context(), localaws.Options{
		BinDir: filepath.Join(root(), ".bin"), Dir: filepath.Join(dir, "aws"), Intercept: r.front.intercept,
	})
	require.NoError(t, err, "run `make tools build`")
	t.Cleanup(func() { require.NoError(t, local.Stop()) })

	r.fleet = newFleet(t, local, filepath.Join(dir, "fleet"))
	t.Cleanup(r.fleet.end)
	r.endOnSignal(local)

	r.injector = newInjector(r.fleet, r.front, r.sayf)

	require.NoError(t, r.fleet.tend(r.ctx))
	r.await("the workers to be ready", readyPatience, func() bool {
		for _, w := range r.fleet.live() {
			if !w.ready(r.ctx) {
				return false
			}
		}

		return len(r.fleet.live()) == workers
	})

	// Events happen in the future of the start, a little: never ahead of now by
	// what the decoder refuses.
	r.flow = newTraffic(generator(1), time.Now().Truncate(time.Millisecond), duration)

	return r
}

// endOnSignal leaves nothing behind where somebody ends the run: what is frozen
// would stay so for ever.
func (r *run) endOnSignal(local *localaws.Env) {
	signals, over := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	r.t.Cleanup(func() {
		signal.Stop(signals)
		close(over)
	})

	go func() {
		select {
		case <-over:
		case <-signals:
			r.fleet.end()

			_ = local.Stop()

			os.Exit(1)
		}
	}()
}

func (r *run) sayf(format string, args ...any) {
	r.t.Helper()
	r.t.Logf("%s %s", time.Now().Format(clock), fmt.Sprintf(format, args...))
}

func (r *run) await(what string, bound time.Duration, ok func() bool) {
	r.t.Helper()

	for deadline := time.Now().Add(bound); !ok(); {
		if time.Now().After(deadline) || !pause(r.ctx, 100*time.Millisecond) {
			require.FailNow(r.t, "timeout", "waited %s for %s", bound, what)
		}
	}
}

// play sends the events and makes the trouble.
func (r *run) play() {
	for _, s := range r.flow.subjects {
		if s.life != lifeDoomed {
			continue
		}

		_, err := r.fleet.local.Cloud().SetFault(r.ctx, cloudsim.Fault{
			Effect: cloudsim.EffectFail, Operation: cloudsim.OperationCreate, Type: cloudsim.TypeVPC, Tenant: string(s.id), Times: -1,
			Code: "UnauthorizedOperation", Message: "You are not authorized to perform this operation.",
		})
		require.NoError(r.t, err)
	}

	ctx, stop := context.WithCancel(r.ctx)

	var wait sync.WaitGroup

	wait.Go(func() { r.tend(ctx) })

	var sent sync.WaitGroup

	sent.Go(r.send)
	r.injector.run(r.ctx, r.schedule)
	sent.Wait()
	stop()
	wait.Wait()
}

// tend puts workers in the place of those that died, as an orchestrator does.
func (r *run) tend(ctx context.Context) {
	const restartDelay = time.Second

	for pause(ctx, restartDelay) {
		if err := r.fleet.tend(ctx); err != nil {
			r.sayf("%v", err)
		}
	}
}

func (r *run) send() {
	began := time.Now()

	for _, d := range r.flow.deliveries {
		if !pause(r.ctx, time.Until(began.Add(d.at))) {
			return
		}

		// The emulator may be busy, and an event that was not sent is not lost.
		var err error
		for range 3 {
			if _, err = r.fleet.queue.Send(r.ctx, d.body); err == nil {
				break
			}
		}

		if err != nil {
			r.t.Errorf("sending an event: %v", err)
		}
	}
}

// settle ends all trouble and waits until nothing is left to do.
func (r *run) settle() {
	r.sayf("all events are sent: %v", r.injector.summary())

	require.NoError(r.t, r.injector.heal(r.ctx))

	ctx, stop := context.WithCancel(r.ctx)
	defer stop()

	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()

	wait.Go(func() { r.tend(ctx) })

	began := time.Now()

	var told time.Time

	for {
		open, queued := r.open()
		if len(open) == 0 && queued == 0 {
			r.sayf("everything is settled, %s after the last trouble", time.Since(began).Round(time.Second))

			return
		}

		if time.Since(began) > settlePatience {
			// Not the end: what is wrong is worth more than that it took too long.
			r.sayf("gave up waiting for %d tenants and %d messages", len(open), queued)

			return
		}

		if time.Since(told) > 10*time.Second {
			told = time.Now()

			r.sayf("%d tenants and %d messages to go: %v", len(open), queued, open[:min(len(open), 5)])
		}

		if !pause(r.ctx, 500*time.Millisecond) {
			return
		}
	}
}

// open are the tenants that something is left to do for, and how many messages
// there are.
func (r *run) open() (open []tenant.ID, queued int) {
	seen := map[tenant.ID]bool{}

	err := r.fleet.rows.List(r.ctx, func(rec tenant.Record) bool {
		seen[rec.ID] = true

		if rec.NeedsWork() || rec.Lease.Owner != "" || changing(rec) {
			open = append(open, rec.ID)
		}

		return true
	})
	if err != nil {
		r.sayf("reading the rows: %v", err)

		return []tenant.ID{"?"}, 0
	}

	for _, s := range r.flow.subjects {
		if !seen[s.id] {
			open = append(open, s.id)
		}
	}

	depth, err := r.fleet.queue.Depth(r.ctx)
	if err != nil {
		r.sayf("counting messages: %v", err)

		return open, 1
	}

	return open, depth.Visible + depth.InFlight + depth.Delayed
}

// inspect stops the fleet and looks at what it leaves.
func (r *run) inspect() (*world, verdict) {
	r.unclean = r.fleet.drain(drainPatience)

	// What a worker leaves that was killed is cleaned by the next one that
	// starts, so the last word has one that was not killed.
	last, err := r.fleet.start(r.ctx)
	require.NoError(r.t, err)
	r.await("the last worker to be ready", readyPatience, func() bool { return !last.running() || last.ready(r.ctx) })

	r.unclean = append(r.unclean, r.fleet.drain(drainPatience)...)

	r.sayf("the workers are gone: looking at what they leave")

	w, err := observe(r.ctx, r.fleet, r.front, r.flow)
	require.NoError(r.t, err)

	w.unclean, w.freezes = r.unclean, r.injector.freezes

	v := w.judge()

	return w, v
}

// root is the repository.
func root() string {
	_, file, _, _ := runtime.Caller(0) //nolint:dogsled // only the file is of interest

	return filepath.Join(filepath.Dir(file), "..", "..")
}
