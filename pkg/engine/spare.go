package engine

import "sync"

// spare keeps one child process started that waits for its order. Most of a
// child's start is the initialization of the packages that programs are made of,
// and no operation has to wait for that. A nil spare is always empty.
type spare struct {
	start func() (*process, error)

	mu     sync.Mutex
	ready  *process
	closed bool
}

// fill starts a process if none is ready. That it cannot is no trouble: the next
// operation starts its own, and tells.
func (s *spare) fill() {
	if s == nil {
		return
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if s.closed || s.ready != nil {
		return
	}

	if p, err := s.start(); err == nil {
		s.ready = p
	}
}

// take returns the process, or nil if none is ready or it has died: the kernel
// takes it before any other if memory is short.
func (s *spare) take() *process {
	if s == nil {
		return nil
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	p := s.ready
	s.ready = nil

	if p != nil && p.session.leaderless() {
		p.finish()

		return nil
	}

	return p
}

// close ends the process, and keeps others from being started.
func (s *spare) close() {
	if s == nil {
		return
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.closed = true

	if s.ready != nil {
		s.ready.killLeader()
		s.ready.finish()
		s.ready = nil
	}
}
