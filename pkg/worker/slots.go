package worker

import (
	"context"
	"errors"
	"fmt"
)

// slots are the places in which operations run. A slot is a number, because
// each has a work directory of its own.
type slots struct {
	free chan int
	// drain is closed when no operation may start any more.
	drain <-chan struct{}
}

// errDraining ends the wait for a slot.
var errDraining = errors.New("the worker is draining")

func newSlots(n int, drain <-chan struct{}) *slots {
	s := &slots{free: make(chan int, n), drain: drain}
	for i := range n {
		s.free <- i
	}

	return s
}

// Take waits for a free slot. It fails only when the worker drains.
func (s *slots) Take(ctx context.Context) (int, error) {
	select {
	case slot := <-s.free:
		return slot, nil
	case <-s.drain:
		return 0, errDraining
	case <-ctx.Done():
		return 0, fmt.Errorf("waiting for a slot: %w", context.Cause(ctx))
	}
}

// Give puts a slot back.
func (s *slots) Give(slot int) { s.free <- slot }

// used is how many slots are taken.
func (s *slots) used() int { return cap(s.free) - len(s.free) }

// hands bounds the messages in hand to what the slots can work off, so that no
// message waits here while another worker is idle.
type hands struct {
	free chan struct{}
}

func newHands(n int) *hands {
	h := &hands{free: make(chan struct{}, n)}
	for range n {
		h.free <- struct{}{}
	}

	return h
}

// take waits for one free hand and takes at most limit.
func (h *hands) take(ctx context.Context, limit int) (int, error) {
	select {
	case <-h.free:
	case <-ctx.Done():
		return 0, fmt.Errorf("waiting for a free hand: %w", context.Cause(ctx))
	}

	n := 1
	for n < limit {
		select {
		case <-h.free:
			n++
		default:
			return n, nil
		}
	}

	return n, nil
}

func (h *hands) give(n int) {
	for range n {
		h.free <- struct{}{}
	}
}
