package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
	"github.com/lessor-dev/lessor/test/bench/bed"
)

// slow is a program that runs until it is let go.
const slow = "slow"

// parameterBarrier is the path of the file that lets it go.
const parameterBarrier = "barrier"

type slowProgram struct{}

type slowParameters struct {
	parameters

	Barrier string `json:"barrier"`
}

func (slowProgram) Check(given tenant.Parameters) error {
	return engine.Decode(given, &slowParameters{})
}

func (slowProgram) Deploy(ctx *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
	var p slowParameters
	if err := engine.Decode(t.Parameters, &p); err != nil {
		return nil, err
	}

	b := barrier{path: p.Barrier}
	if err := b.mark(b.reachedPath()); err != nil {
		return nil, err
	}

	if err := b.await(ctx.Context(), b.path); err != nil {
		return nil, err
	}

	return deployBare(ctx, t, p.parameters)
}

// barrier is where a slow program stops, in another process: files tell how far
// it is.
type barrier struct{ path string }

// newBarrier is closed.
func (l *lab) newBarrier() barrier { return barrier{path: filepath.Join(l.Dir, l.Name("barrier"))} }

func (b barrier) reachedPath() string { return b.path + ".reached" }

// reached returns once the program is there.
func (b barrier) reached(ctx context.Context) error { return b.await(ctx, b.reachedPath()) }

// open lets the program go on, and all that come later.
func (b barrier) open() error { return b.mark(b.path) }

func (barrier) mark(path string) error {
	const private = 0o600

	if err := os.WriteFile(path, nil, private); err != nil {
		return fmt.Errorf("telling of a slow program: %w", err)
	}

	return nil
}

// occupy makes a tenant and returns once its first operation runs, which ends no
// sooner than the barrier opens.
func (b barrier) occupy(ctx context.Context, f *bed.Fleet, id tenant.ID) error {
	err := f.Send(ctx, tenant.EventCreated, id, func(e *tenant.Event) {
		e.Tier = slow
		e.Parameters = tenant.Parameters{parameterBarrier: quote(b.path)}
	})
	if err != nil {
		return err
	}

	return b.reached(ctx)
}

// await returns once a file is there.
func (barrier) await(ctx context.Context, path string) error {
	const (
		often    = 5 * time.Millisecond
		patience = 2 * time.Minute
	)

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	ticker := time.NewTicker(often)
	defer ticker.Stop()

	for {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return err //nolint:wrapcheck // it names the file
		}

		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for a slow program: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}
