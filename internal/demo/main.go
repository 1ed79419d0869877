// Command demo shows the fleet at work on this machine: it starts local mode
// and a worker, takes three tenants through their lives, and proves each step.
// It exits non-zero if anything did not happen as it says.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// demoTimeout bounds the whole show: something hangs if it takes that long.
const demoTimeout = 10 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	// A reader that goes away (`make demo | head`) must not end the demo before
	// it has cleaned up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	if err := run(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "\nerror: %v\n", err)
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
}

func run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, demoTimeout)
	defer cancel()

	binDir, err := filepath.Abs(".bin")
	if err != nil {
		return fmt.Errorf("finding the tools: %w", err)
	}

	began := time.Now()

	s, err := openStage(ctx, binDir)
	if err != nil {
		return err
	}

	if err := s.play(ctx); err != nil {
		s.keepLog()

		return errors.Join(err, s.close())
	}

	if err := s.close(); err != nil {
		return err
	}

	s.sayf("done in %s; everything happened as told", time.Since(began).Round(time.Second))

	return nil
}

// play goes through the acts in order.
func (s *stage) play(ctx context.Context) error {
	acts := []struct {
		title string
		do    func(context.Context) error
	}{
		{"Make what the tenants of the free tier share, before the first one comes", s.prepare},
		{"Provision three tenants in two tiers at once", s.provision},
		{"Send a duplicate and a stale event: no operation runs", s.repeat},
		{"Move a tenant from the free to the enterprise tier", s.changeTier},
		{"Delete a tenant and prove its state empty", s.deprovision},
		{"Metrics that moved", s.showMetrics},
		{"Drain the worker", s.drain},
	}

	for i, act := range acts {
		fmt.Printf("\n%d. %s\n", i+1, act.title)

		if err := act.do(ctx); err != nil {
			return fmt.Errorf("%s: %w", act.title, err)
		}
	}

	return nil
}
