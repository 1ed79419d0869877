package engine

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

const mib = mebibyte

// fakeMeter is a session whose memory is made up.
type fakeMeter struct {
	mutex     sync.Mutex
	processes map[int]footprint
	// lists and readings count what it was asked.
	lists, readings int
}

func (m *fakeMeter) list() []int {
	m.mutex.Lock()
	defer m.mutex.Unlock()

	m.lists++

	pids := make([]int, 0, len(m.processes))
	for pid := range m.processes {
		pids = append(pids, pid)
	}

	slices.Sort(pids)

	return pids
}

func (m *fakeMeter) resident(pid int) int64 { return m.get(pid).resident }

func (m *fakeMeter) proportional(pid int) int64 {
	m.readings++

	return m.get(pid).proportional
}

func (m *fakeMeter) get(pid int) footprint {
	m.mutex.Lock()
	defer m.mutex.Unlock()

	return m.processes[pid]
}

// set changes the memory of a process, or ends it.
func (m *fakeMeter) set(pid int, f footprint) {
	m.mutex.Lock()
	defer m.mutex.Unlock()

	if m.processes[pid] = f; f.resident == 0 {
		delete(m.processes, pid)
	}
}

func (m *fakeMeter) total() (total int64) {
	for _, p := range m.processes {
		total += p.proportional
	}

	return total
}

// looks lets a watch look at every tick for a while, as watch does.
func looks(w *memoryWatch, from time.Time, ticks int) (over bool, now time.Time) {
	for range ticks {
		from = from.Add(memoryTick)
		over = w.look(from, false)
	}

	return over, from
}

func TestAnIdleOperationIsMeasuredCheaply(t *testing.T) {
	t.Parallel()

	m := &fakeMeter{processes: map[int]footprint{
		1: {resident: 50 * mib, proportional: 20 * mib}, 2: {resident: 100 * mib, proportional: 80 * mib},
	}}
	w := newMemoryWatch(m, 768*mib)

	over, _ := looks(w, time.Unix(0, 0), 4*60)
	require.False(t, over)
	require.LessOrEqual(t, m.lists, 65)
	require.LessOrEqual(t, m.readings, 2*13, "every five seconds")
	require.Equal(t, int64(100*mib), w.peak.Load())
}

func TestResidentMemoryAboveTheBudgetIsNoExcess(t *testing.T) {
	t.Parallel()

	m := &fakeMeter{processes: map[int]footprint{}}
	for pid := range 10 {
		m.processes[pid] = footprint{resident: 100 * mib, proportional: 15 * mib}
	}

	w := newMemoryWatch(m, 200*mib)

	over, _ := looks(w, time.Unix(0, 0), 4*60)
	require.False(t, over)
	require.LessOrEqual(t, m.readings, 10*13, "what does not grow is not read again")
}

func TestWhatIsSharedNoMoreIsNoticed(t *testing.T) {
	t.Parallel()

	m := &fakeMeter{processes: map[int]footprint{1: {resident: 300 * mib, proportional: 100 * mib}}}
	w := newMemoryWatch(m, 200*mib)

	_, now := looks(w, time.Unix(0, 0), 4)
	m.processes[1] = footprint{resident: 300 * mib, proportional: 300 * mib}

	over := false

	for until := now.Add(memoryWeigh + time.Second); !over && now.Before(until); {
		over, now = looks(w, now, 1)
	}

	require.True(t, over)
}

func TestANewProcessIsFound(t *testing.T) {
	t.Parallel()

	m := &fakeMeter{processes: map[int]footprint{1: {resident: 50 * mib, proportional: 50 * mib}}}
	w := newMemoryWatch(m, 200*mib)
	_, now := looks(w, time.Unix(0, 0), 40)

	m.processes[2] = footprint{resident: 400 * mib, proportional: 400 * mib}

	over, _ := looks(w, now, int(memoryList/memoryTick)+1)
	require.True(t, over)
}

// The peak of an operation that is over in a moment is of use too.
func TestAShortOperationIsMeasured(t *testing.T) {
	t.Parallel()

	m := &fakeMeter{processes: map[int]footprint{1: {resident: 50 * mib, proportional: 50 * mib}}}
	w := newMemoryWatch(m, 768*mib)
	_, now := looks(w, time.Unix(0, 0), 1)
	m.processes[2] = footprint{resident: 90 * mib, proportional: 80 * mib}

	looks(w, now, 2)
	require.Equal(t, int64(130*mib), w.peak.Load())
}

// TestNoExcessIsMissed lets processes grow, shrink, come and go.
func TestNoExcessIsMissed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		budget := rapid.Int64Range(100, 1000).Draw(t, "budget") * mib
		m := &fakeMeter{processes: map[int]footprint{1: {resident: 10 * mib, proportional: 10 * mib}}}
		w := newMemoryWatch(m, budget)
		now := time.Unix(0, 0)

		var highest int64

		for next := 2; next < 40; next++ {
			for _, pid := range m.list() {
				// Memory that is not shared; shared memory is another test's.
				private := max(0, m.processes[pid].resident+rapid.Int64Range(-50, 80).Draw(t, "growth")*mib)
				m.processes[pid] = footprint{resident: private, proportional: private}
			}

			switch rapid.IntRange(0, 5).Draw(t, "what else") {
			case 0:
				m.processes[next] = footprint{resident: 30 * mib, proportional: 30 * mib}
			case 1:
				delete(m.processes, next-1)
			}

			now = now.Add(time.Duration(rapid.IntRange(100, 400).Draw(t, "ms")) * time.Millisecond)
			over := w.look(now, false)
			total := m.total()

			if len(w.pids) < len(m.processes) || !slices.Equal(w.pids, m.list()) {
				continue
			}

			highest = max(highest, total)
			require.Equal(t, total > budget, over)
			require.GreaterOrEqual(t, w.peak.Load()+w.peak.Load()/memoryStep, highest)
		}
	})
}

// A process that is about to become another one counts twice for a moment.
func TestAMomentaryExcessIsForgiven(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMeter{processes: map[int]footprint{1: {resident: 150 * mib, proportional: 150 * mib}}}
		w := newMemoryWatch(m, 200*mib)
		stop, stopped := make(chan struct{}), make(chan struct{})

		// Between two looks of the watch nothing else runs: the clock stands
		// still until all wait.
		go func() {
			defer close(stopped)

			w.watch(stop)
		}()

		time.Sleep(memoryTick / 2)
		synctest.Wait()

		m.set(2, m.get(1))

		time.Sleep(memoryTick / 2)
		synctest.Wait()
		require.Equal(t, int64(300*mib), w.peak.Load(), "it was seen")
		m.set(2, footprint{})

		time.Sleep(10 * time.Second)
		synctest.Wait()

		select {
		case <-w.exceeded:
			require.Fail(t, "a momentary excess counts")
		default:
		}

		m.set(2, m.get(1))

		// It comes before the time is up, or the test would never end.
		<-w.exceeded
		<-stopped
		close(stop)
		require.Equal(t, "the operation took 300 MiB of memory with all its processes, more than the 200 MiB that one may have", w.verdict())
	})
}

func TestWithoutABudgetThePeakIsKept(t *testing.T) {
	t.Parallel()

	m := &fakeMeter{processes: map[int]footprint{1: {resident: 1 << 40, proportional: 1 << 40}}}
	w := newMemoryWatch(m, 0)

	over, _ := looks(w, time.Unix(0, 0), 4)
	require.False(t, over)
	require.Equal(t, int64(1<<40), w.peak.Load())
}

func TestReadingTheMemoryOfAProcess(t *testing.T) {
	t.Parallel()

	page := int64(os.Getpagesize())

	const (
		statm  = "9000 300 200 1 0 40 0\n"
		rollup = "55aef8a32000-7ffc15d9e000 ---p 00000000 00:00 0    [rollup]\nRss:     1672 kB\nPss:      379 kB\nPss_Dirty:   112 kB\nSwapPss:   7 kB\n"
		smaps  = "00400000-00452000 r-xp 00000000 08:02 173521 /a\nRss: 20 kB\nPss: 10 kB\n00500000-00552000 r-xp 0 0 0 /b\nRss: 20 kB\nPss: 5 kB\n"
	)

	for name, test := range map[string]struct {
		files                  map[string]string
		resident, proportional int64
	}{
		"all":         {files: map[string]string{"statm": statm, "smaps_rollup": rollup, "smaps": smaps}, resident: 300 * page, proportional: 379 << 10},
		"no rollup":   {files: map[string]string{"statm": statm, "smaps": smaps}, resident: 300 * page, proportional: 15 << 10},
		"no PSS":      {files: map[string]string{"statm": statm}, resident: 300 * page, proportional: 100 * page},
		"empty files": {files: map[string]string{"statm": statm, "smaps_rollup": "", "smaps": ""}, resident: 300 * page, proportional: 100 * page},
		"nonsense":    {files: map[string]string{"statm": "a b c", "smaps_rollup": "Pss: x kB\n", "smaps": "Pss: -\n"}},
		"less":        {files: map[string]string{"statm": "1 2"}},
		"more shared": {files: map[string]string{"statm": "9 3 7 0 0 0 0"}, resident: 3 * page},
		"gone":        {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			m := procMeter{root: t.TempDir()}
			require.NoError(t, os.Mkdir(filepath.Join(m.root, "7"), privateDir))

			for file, text := range test.files {
				require.NoError(t, os.WriteFile(filepath.Join(m.root, "7", file), []byte(text), privateFile))
			}

			require.Equal(t, test.resident, m.resident(7))
			require.Equal(t, test.proportional, m.proportional(7))
		})
	}
}

func TestReadingTheMemoryOfThisProcess(t *testing.T) {
	t.Parallel()

	own, err := unix.Getsid(0)
	require.NoError(t, err)

	m := newMeter(session(own))
	require.Contains(t, m.list(), os.Getpid())

	resident := m.resident(os.Getpid())
	require.Greater(t, resident, int64(mib))
	require.Positive(t, m.proportional(os.Getpid()))
}
