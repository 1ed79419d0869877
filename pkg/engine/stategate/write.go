package stategate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	// writePatience is how long a write is tried that S3 does not answer. The
	// CLI waits meanwhile.
	writePatience = 2 * time.Minute
	firstPause    = 200 * time.Millisecond
	longestPause  = 5 * time.Second
)

// fence puts back what was read under this operation's stamp, so that S3 refuses
// every write of an older one that may still be under way: they are conditional
// on what they had seen.
//
// A write in between is read and put back in turn. That ends, since each round
// needs another write of an owner that is gone.
func (g *Gate) fence(ctx context.Context) error {
	for {
		body := g.body
		if body == nil {
			body = checkpoint.Blank(g.cfg.Project, g.cfg.Stack)
		}

		err := g.put(ctx, body)
		if !errors.Is(err, errMoved) {
			return err
		}

		if _, err := g.load(ctx, g.fetch(ctx)); err != nil {
			return err
		}
	}
}

// errMoved reports that the checkpoint is another than the one that was read.
var errMoved = errors.New("the checkpoint has changed")

// save writes what the CLI hands in. An error ends the operation.
func (g *Gate) save(ctx context.Context, body []byte) error {
	g.mu.Lock()
	defer g.mu.Unlock()

	if g.refused != nil {
		return g.refused
	}

	before := g.body
	stateBefore := g.state

	err := g.put(ctx, body)
	if err == nil {
		g.noteLost(stateBefore, before)
	}

	if errors.Is(err, errMoved) {
		err = &tenant.Failure{
			Kind:    tenant.KindConflict,
			Message: "the stack's state was changed by somebody else during the operation",
			Hint:    "it is tried again from what is there now; hold the tenant before working on its stack by hand",
		}
	}

	if err == nil {
		return nil
	}

	g.refused = failed(err)
	if g.cfg.Refused != nil {
		go g.cfg.Refused()
	}

	return g.refused
}

// put writes the checkpoint if it still is the one that was last seen, and the
// lease is good. errMoved is its error if it is not.
func (g *Gate) put(ctx context.Context, body []byte) error {
	if len(body)+stampBytes > MaxObject {
		return &tenant.Failure{
			Kind:    tenant.KindInvalid,
			Message: fmt.Sprintf("the stack's state has %d bytes, more than the %d that are allowed", len(body), MaxObject),
			Hint:    "let the program make fewer resources, or keep large documents out of their properties",
		}
	}

	g.writes++
	mine := Stamp{Fence: g.cfg.Fence, Operation: g.cfg.Operation, Write: g.writes}
	condition := Condition{ETag: g.etag, Absent: g.etag == ""}
	stamped := stamp(body, mine)
	until := time.Now().Add(writePatience)

	for pause := firstPause; ; pause = min(pause+pause, longestPause) {
		left := g.cfg.Left()
		if left <= 0 {
			return leaseEnded()
		}

		attempt, cancel := context.WithTimeout(ctx, min(left, time.Until(until)))
		etag, err := g.store.Put(attempt, g.keys.checkpoint, stamped, mine, condition)

		cancel()

		switch {
		case err == nil:
			return g.acknowledged(body, etag)
		case errors.Is(err, ErrPrecondition), errors.Is(err, ErrNotFound):
			// Whatever was sent before was answered by this: it landed and is
			// what is there, or it never will, since the condition is gone.
			return g.moved(ctx, body, mine)
		case errors.Is(err, ErrDenied):
			return err
		case !errors.Is(err, ErrRaced):
			g.unanswered = true
		}

		if time.Until(until) <= pause {
			return err
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("writing the state: %w", context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// acknowledged takes note of a write that landed, and with it that none before
// it is still under way: its condition no longer holds.
func (g *Gate) acknowledged(body []byte, etag string) error {
	g.unanswered = false
	g.etag = etag

	return g.adopt(body, false)
}

// moved looks at what is there in place of what was expected. A write whose
// answer was lost finds itself.
func (g *Gate) moved(ctx context.Context, body []byte, mine Stamp) error {
	object, err := g.store.Get(ctx, g.keys.checkpoint, "")

	switch {
	case errors.Is(err, ErrNotFound):
		g.unanswered = false

		return errMoved
	case err != nil:
		return err
	}

	g.unanswered = false

	switch {
	case object.Stamp == mine:
		return g.acknowledged(body, object.ETag)
	case object.Stamp.Fence > g.cfg.Fence:
		return superseded(object.Stamp.Fence)
	default:
		return errMoved
	}
}

func leaseEnded() error {
	return &tenant.Failure{
		Kind:    tenant.KindLeaseLost,
		Message: "the lease ended before a write of the state",
		Hint:    "nothing to do: another worker goes on with the tenant",
	}
}
