package chaos_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// injector does what the schedule says.
type injector struct {
	fleet *fleet
	front *front
	sayf  func(format string, args ...any)

	wait   sync.WaitGroup
	mu     sync.Mutex
	done   map[trouble]int
	missed map[trouble]int
	faults map[string]trouble
	// freezes are the times that workers were frozen.
	freezes []freeze
}

// freeze is a time in which a worker could do nothing.
type freeze struct {
	worker   int
	from, to time.Time
}

func newInjector(f *fleet, fr *front, sayf func(format string, args ...any)) *injector {
	return &injector{
		fleet: f, front: fr, sayf: sayf,
		done: map[trouble]int{}, missed: map[trouble]int{}, faults: map[string]trouble{},
	}
}

// run does all of the schedule and returns when the last trouble has ended.
func (i *injector) run(ctx context.Context, schedule []action) {
	began := time.Now()

	for _, a := range schedule {
		if !pause(ctx, time.Until(began.Add(a.at))) {
			break
		}

		i.wait.Go(func() { i.do(ctx, a) })
	}

	i.wait.Wait()
}

// patience is how long a trouble waits for somebody whom it can hit.
const patience = 4 * time.Second

func (i *injector) do(ctx context.Context, a action) {
	hit := false

	for bound := time.Now().Add(patience); !hit && time.Now().Before(bound); {
		if hit = i.try(ctx, a); !hit && !pause(ctx, 20*time.Millisecond) {
			break
		}
	}

	i.mu.Lock()
	defer i.mu.Unlock()

	if hit {
		i.done[a.what]++
	} else {
		i.missed[a.what]++
	}
}

func (i *injector) try(ctx context.Context, a action) bool {
	switch a.what {
	case killWorker, restartWorker, freezeWorker:
		return i.hitWorker(ctx, a)
	case killChild, killCLI:
		return i.hitOperation(a)
	case failCreate, hangCreate, crashCreate:
		return i.hitProvider(ctx, a)
	default:
		w := window{share: a.share, after: a.after}

		for _, service := range services() {
			for _, what := range []string{cut, refuse, throttle} {
				if onService(what, service) == a.what {
					w.service, w.what = service, what
				}
			}
		}

		shut := i.front.open(w)
		defer shut()

		pause(ctx, a.lasts)

		return true
	}
}

// hitWorker prefers one that works, since that is where it hurts.
func (i *injector) hitWorker(ctx context.Context, a action) bool {
	all := processes()
	healthy := slices.DeleteFunc(i.fleet.live(), func(w *workerProcess) bool { return i.frozen(w) || !w.ready(ctx) })
	busy := slices.DeleteFunc(slices.Clone(healthy), func(w *workerProcess) bool { return len(operationsOf(all, w.pid)) == 0 })

	// One that works must be left, or nothing is ever taken over.
	if len(healthy) < 2 || len(busy) == 0 {
		return false
	}

	victim := busy[a.pick%len(busy)]

	switch a.what {
	case killWorker:
		_ = syscall.Kill(victim.pid, syscall.SIGKILL)
	case restartWorker:
		_ = syscall.Kill(victim.pid, syscall.SIGTERM)
	default:
		from := time.Now()

		i.freeze(victim, true)

		pids := signalTree(victim.pid, syscall.SIGSTOP)
		i.sayf("worker %d is frozen with %d processes", victim.number, len(pids))

		pause(ctx, a.lasts)

		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}

		i.freeze(victim, false)
		i.sayf("worker %d wakes up", victim.number)

		i.mu.Lock()
		i.freezes = append(i.freezes, freeze{victim.number, from, time.Now()})
		i.mu.Unlock()
	}

	return true
}

func (i *injector) frozen(w *workerProcess) bool {
	i.mu.Lock()
	defer i.mu.Unlock()

	return w.frozen
}

func (i *injector) freeze(w *workerProcess, frozen bool) {
	i.mu.Lock()
	defer i.mu.Unlock()

	w.frozen = frozen
}

func (i *injector) hitOperation(a action) bool {
	all := processes()

	var targets []int

	for _, w := range i.fleet.live() {
		if i.frozen(w) {
			continue
		}

		for _, child := range operationsOf(all, w.pid) {
			if a.what == killChild {
				targets = append(targets, child.pid)

				continue
			}

			for _, p := range all {
				if p.session == child.pid && p.cli() && !p.zombie() {
					targets = append(targets, p.pid)
				}
			}
		}
	}

	if len(targets) == 0 {
		return false
	}

	slices.Sort(targets)

	return syscall.Kill(targets[a.pick%len(targets)], syscall.SIGKILL) == nil
}

func (i *injector) hitProvider(ctx context.Context, a action) bool {
	fault := cloudsim.Fault{Operation: cloudsim.OperationCreate, Type: a.kind, Nth: a.nth, Times: 1}

	switch a.what {
	case failCreate:
		fault.Effect, fault.Code, fault.Message = cloudsim.EffectFail, "InternalError", "An internal error has occurred"
	case crashCreate:
		fault.Effect = cloudsim.EffectCrash
	default:
		fault.Effect, fault.After = cloudsim.EffectHang, a.after
	}

	set, err := i.fleet.local.Cloud().SetFault(ctx, fault)
	if err != nil {
		return false
	}

	i.mu.Lock()
	i.faults[set.ID] = a.what
	i.mu.Unlock()

	if a.what == hangCreate {
		i.wait.Go(func() { i.release(ctx, set.ID, a.lasts) })
	}

	return true
}

// release ends a hang a while after it struck.
func (i *injector) release(ctx context.Context, id string, lasts time.Duration) {
	struck := func() bool {
		list, err := i.fleet.local.Cloud().Faults(ctx)

		return err != nil || slices.ContainsFunc(list, func(f cloudsim.Fault) bool { return f.ID == id && f.Struck > 0 })
	}

	for bound := time.Now().Add(frozenFor); !struck() && time.Now().Before(bound); {
		if !pause(ctx, 100*time.Millisecond) {
			return
		}
	}

	pause(ctx, lasts)
	i.note(ctx, id)

	_ = i.fleet.local.Cloud().ClearFaults(ctx, id)
}

// note counts what a provider fault struck, before it is cleared.
func (i *injector) note(ctx context.Context, id string) {
	list, err := i.fleet.local.Cloud().Faults(ctx)
	if err != nil {
		return
	}

	i.mu.Lock()
	defer i.mu.Unlock()

	for _, f := range list {
		what, ours := i.faults[f.ID]
		if !ours || f.ID != id {
			continue
		}

		if f.Struck == 0 {
			i.done[what]--
			i.missed[what]++
		}

		delete(i.faults, f.ID)
	}
}

// heal ends everything that is still wrong.
func (i *injector) heal(ctx context.Context) error {
	i.front.heal()

	i.mu.Lock()
	set := slices.Collect(maps.Keys(i.faults))
	i.mu.Unlock()

	// One by one: those of the doomed tenants stay.
	for _, id := range set {
		i.note(ctx, id)

		if err := i.fleet.local.Cloud().ClearFaults(ctx, id); err != nil {
			return err
		}
	}

	for _, w := range i.fleet.live() {
		if i.frozen(w) {
			signalTree(w.pid, syscall.SIGCONT)
			i.freeze(w, false)
		}
	}

	return i.fleet.tend(ctx)
}

// pause waits and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(max(d, 0))
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
