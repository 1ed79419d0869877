package bed

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Parts are what the processes of a side hold, in bytes (PSS).
type Parts struct {
	// Stays is the process that stays, Child what runs the program where that is
	// another, CLI the Pulumi CLI and Provider its plugins.
	Stays, Child, CLI, Provider int64
}

// Operation is what there is only for operations.
func (p Parts) Operation() int64 { return p.Child + p.CLI + p.Provider }

// Total is all of it.
func (p Parts) Total() int64 { return p.Stays + p.Operation() }

// MemoryWatch finds when a process with all its descendants holds the most.
type MemoryWatch struct {
	stop chan struct{}
	done sync.WaitGroup
	// most are the parts when the operations held the most, total and anonymous
	// the highest of all, and of the process that stays.
	most             Parts
	total, anonymous int64
}

// sampleEvery is how often memory is looked at. A look costs milliseconds, so
// that times are not measured at the same time.
const sampleEvery = 20 * time.Millisecond

// WatchMemory looks at a process until Stop.
func WatchMemory(pid int) *MemoryWatch {
	w := &MemoryWatch{stop: make(chan struct{})}

	w.done.Go(func() {
		ticker := time.NewTicker(sampleEvery)
		defer ticker.Stop()

		for {
			w.look(pid)

			select {
			case <-w.stop:
				return
			case <-ticker.C:
			}
		}
	})

	return w
}

func (w *MemoryWatch) look(pid int) {
	var now Parts

	if m, err := MemoryOf(pid); err == nil {
		now.Stays = m.Proportional
		w.anonymous = max(w.anonymous, m.Anonymous)
	}

	for _, child := range descendants(pid) {
		program, err := programOf(child)
		if err != nil {
			continue // it has ended
		}

		m, err := MemoryOf(child)
		if err != nil {
			continue // as above
		}

		switch {
		case program == "pulumi":
			now.CLI += m.Proportional
		case strings.HasPrefix(program, "pulumi-"):
			now.Provider += m.Proportional
		default:
			now.Child += m.Proportional
		}
	}

	w.total = max(w.total, now.Total())

	if now.Operation() > w.most.Operation() {
		w.most = now
	}
}

// Watched is what a watch has seen.
type Watched struct {
	// Most are the parts when operations held the most.
	Most Parts
	// Total is the most that all held together, Anonymous what the process that
	// stays held of memory that no file backs.
	Total, Anonymous int64
}

// Stop ends the watch.
func (w *MemoryWatch) Stop() Watched {
	close(w.stop)
	w.done.Wait()

	return Watched{Most: w.most, Total: w.total, Anonymous: w.anonymous}
}

// programOf is the name of a process's executable.
func programOf(pid int) (string, error) {
	name, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe")
	if err != nil {
		return "", fmt.Errorf("finding the program of a process: %w", err)
	}

	return filepath.Base(name), nil
}
