package worker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/sethvargo/go-envconfig"

	"github.com/lessor-dev/lessor/pkg/config"
	"github.com/lessor-dev/lessor/pkg/engine"
)

// checkTimeout bounds one look at everything that the worker needs.
const checkTimeout = 20 * time.Second

// probe is one thing that must be reachable.
type probe struct {
	name string
	look func(ctx context.Context) error
}

// probes look at queue, table and buckets with the rights of the worker.
func probes(p parts, buckets []string) []probe {
	list := slices.Grow([]probe{
		{"queue", func(ctx context.Context) error { return discard(p.queue.Depth(ctx)) }},
		{"table", func(ctx context.Context) error { return discard(p.registry.Fleet(ctx)) }},
	}, len(buckets))

	buckets3 := s3.NewFromConfig(p.aws, func(o *s3.Options) { o.UsePathStyle = p.aws.BaseEndpoint != nil })

	for _, bucket := range buckets {
		list = append(list, probe{"bucket " + bucket, func(ctx context.Context) error {
			if _, err := buckets3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: aws.String(bucket)}); err != nil {
				return fmt.Errorf("LESSOR_STATE_BUCKETS: %s: %w; it must exist and the role needs s3:ListBucket", bucket, err)
			}

			return nil
		}})
	}

	return list
}

func discard[T any](_ T, err error) error { return err }

// check prints a line for each thing that the worker needs.
func check(programs engine.Programs, stdout io.Writer) error {
	ctx, cancel := context.WithTimeout(context.Background(), checkTimeout)
	defer cancel()

	cfg, err := config.LoadWorker(ctx, envconfig.OsLookuper())
	if err != nil {
		return fmt.Errorf("reading the configuration: %w", err)
	}

	for _, warning := range cfg.Warnings {
		fmt.Fprintf(stdout, "warning  %s\n", warning)
	}

	p, err := connect(ctx, cfg, programs)
	if err != nil {
		return err
	}

	fmt.Fprintf(stdout, "ok       configuration, catalog (%d tiers), versions\n", len(p.catalog.Tiers()))
	fmt.Fprintf(stdout, "ok       %d slots in %s of memory (%s)\n", p.slots, p.limit, p.source)

	var errs []error

	// A worker without it works, so it is none of those that make it ready.
	counting := probe{"dead-letter queue", func(ctx context.Context) error { return discard(p.queue.DeadLetterDepth(ctx)) }}

	for _, probe := range append(probes(p, cfg.Shard.Buckets), counting) {
		if err := probe.look(ctx); err != nil {
			errs = append(errs, err)

			fmt.Fprintf(stdout, "failed   %s\n", probe.name)

			continue
		}

		fmt.Fprintf(stdout, "ok       %s\n", probe.name)
	}

	return errors.Join(errs...)
}

// readiness is the check of /readyz.
func readiness(p parts, buckets []string, w *Worker) func(ctx context.Context) error {
	list := probes(p, buckets)

	return func(ctx context.Context) error {
		if w.gate.draining() {
			return errDraining
		}

		errs := make([]error, 0, len(list))
		for _, probe := range list {
			errs = append(errs, probe.look(ctx))
		}

		return errors.Join(errs...)
	}
}

// stuckAfter is how long the loop may go without a tick: a poll, plus a call
// that fails and is waited for, with ample room. Full slots are no standstill.
const stuckAfter = 2 * time.Minute

// live reports a loop that stands still although it could work.
func (w *Worker) live() error {
	if w.gate.draining() || w.gate.Closed() != "" || w.slots.used() > 0 {
		return nil
	}

	if idle := time.Since(time.Unix(0, w.lastTick.Load())); idle > stuckAfter {
		return fmt.Errorf("the loop has not polled for %s", idle.Round(time.Second))
	}

	return nil
}

// buildVersion is the version of the module that this worker was built from.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}

	version := info.Main.Version

	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && version == "(devel)" {
			return setting.Value
		}
	}

	return version
}

func printVersion(stdout io.Writer) error {
	_, err := fmt.Fprintf(stdout, "worker %s\npulumi sdk %s\npulumi-aws %s\n", buildVersion(),
		moduleVersion("github.com/pulumi/pulumi/sdk/v3"), moduleVersion("github.com/pulumi/pulumi-aws/sdk/v6"))
	if err != nil {
		return fmt.Errorf("printing the version: %w", err)
	}

	return nil
}

func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}

	for _, dep := range info.Deps {
		if dep.Path == path {
			return dep.Version
		}
	}

	return "not linked"
}
