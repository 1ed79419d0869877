// Package config reads the worker's configuration from the environment, checks
// it, and describes it. The structs belong to the packages that use them.
package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/sethvargo/go-envconfig"

	"github.com/lessor-dev/lessor/pkg/breaker"
	"github.com/lessor-dev/lessor/pkg/capacity"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/queue"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/result"
	"github.com/lessor-dev/lessor/pkg/shard"
	"github.com/lessor-dev/lessor/pkg/sweep"
	"github.com/lessor-dev/lessor/pkg/telemetry"
)

// Worker is the configuration of a worker.
type Worker struct {
	Queue     queue.Config
	Registry  registry.Config
	Lease     lease.Config
	Shard     shard.Config
	Engine    engine.Config
	Capacity  capacity.Config
	Breaker   breaker.Config
	Result    result.Config
	Sweep     sweep.Config
	Schedule  plan.Schedule
	Telemetry telemetry.Config

	// EventOrder is how the fleet orders the facts of a tenant.
	EventOrder event.Order `env:"LESSOR_EVENT_ORDER, default=time"`
	// Catalog is the path of the catalog.
	Catalog string `env:"LESSOR_CATALOG"`
	// Regions are those that tenants may have; none allows every one.
	Regions []string `env:"LESSOR_REGIONS"`
	// DrainTimeout is how long a worker that was told to stop lets operations
	// run before it interrupts them.
	DrainTimeout time.Duration `env:"LESSOR_DRAIN_TIMEOUT, default=30m"`
	// BackoffMin and BackoffMax bound the wait after a failed attempt.
	BackoffMin time.Duration `env:"LESSOR_BACKOFF_MIN, default=10s"`
	BackoffMax time.Duration `env:"LESSOR_BACKOFF_MAX, default=15m"`

	// Warnings are about what is no error but hardly meant.
	Warnings []string
}

const prefix = "LESSOR_"

// LoadWorker reads the configuration. Its error joins everything that is wrong,
// each with the name of the variable and the fix. A variable that is set to
// nothing counts as not set.
func LoadWorker(ctx context.Context, lookuper envconfig.Lookuper) (Worker, error) {
	var (
		worker   Worker
		problems problems
	)

	// What cannot be read is reported and then treated as not set, so that the
	// rest is read and checked too.
	described := variables()
	usable := readable{Lookuper: lookuper, variables: described, unusable: map[string]bool{}}

	for _, s := range settingsOf(reflect.TypeFor[Worker]()) {
		v := described[s.name]

		value, ok := usable.Lookup(s.name)
		if !ok {
			if v.required {
				problems.add(s.name, "is not set", "set it to "+v.form)
				usable.unusable[s.name] = true
			}

			continue
		}

		if err := check(s, v, value); err != nil {
			problems.add(s.name, err.Error(), "set it to "+v.form)
			usable.unusable[s.name] = true
		}
	}

	if err := envconfig.ProcessWith(ctx, &envconfig.Config{Target: &worker, Lookuper: usable}); err != nil {
		return Worker{}, errors.Join(problems.err(), fmt.Errorf("reading the environment: %w", err))
	}

	worker.validate(&problems)
	worker.Warnings = Unknown(inEnvironment(lookuper))

	if err := problems.err(); err != nil {
		return Worker{}, err
	}

	return worker, nil
}

// Validate reports everything that is wrong with a configuration that was made
// by hand, each with the variable that it would come from and the fix.
func (w Worker) Validate() error {
	var problems problems

	w.validate(&problems)

	return problems.err()
}

// validate checks what takes more than one variable, and asks the parts.
func (w Worker) validate(problems *problems) {
	for _, part := range []interface{ Validate() error }{w.Engine, w.Lease, w.Result, w.EventOrder, w.Breaker} {
		problems.join(part.Validate())
	}

	if w.Queue.URL != "" && w.Queue.URL == w.Queue.DeadLetterURL {
		problems.add("LESSOR_DEAD_LETTER_QUEUE_URL", "is the queue of events itself", "set it to the URL of another queue")
	}

	if w.BackoffMin > w.BackoffMax {
		problems.add("LESSOR_BACKOFF_MIN", fmt.Sprintf("is %s, above LESSOR_BACKOFF_MAX (%s)", w.BackoffMin, w.BackoffMax),
			"lower it, or raise LESSOR_BACKOFF_MAX")
	}

	// Sooner, the sweep would send messages for tenants that are well.
	back := w.Queue.VisibilityTimeout + w.Lease.Duration + w.Lease.Margin
	if w.Lease.Validate() == nil && w.Sweep.Interval > 0 && w.Sweep.Age <= back {
		problems.add("LESSOR_SWEEP_AGE",
			fmt.Sprintf("is %s: it must be above LESSOR_VISIBILITY_TIMEOUT, LESSOR_LEASE_DURATION and LESSOR_LEASE_MARGIN together (%s)",
				w.Sweep.Age, back),
			"raise it, or lower those")
	}

	if w.Schedule.Drift > 0 && w.Schedule.Drift < w.Sweep.Interval {
		problems.add("LESSOR_DRIFT_INTERVAL",
			fmt.Sprintf("is %s: it must not be below LESSOR_SWEEP_INTERVAL (%s), which is how often is seen what is due",
				w.Schedule.Drift, w.Sweep.Interval),
			"raise it, or lower LESSOR_SWEEP_INTERVAL")
	}

	// A limit that is found out is checked by whoever finds it out.
	if w.Capacity.MemoryLimit > 0 {
		if _, err := capacity.Slots(w.Capacity.MemoryLimit, w.Capacity); err != nil {
			problems.join(fmt.Errorf("LESSOR_MEMORY_LIMIT: %w", err))
		}
	}
}

// readable hides variables that are empty or of no use.
type readable struct {
	envconfig.Lookuper

	variables map[string]variable
	unusable  map[string]bool
}

// Lookup finds a variable that has a value.
func (r readable) Lookup(name string) (string, bool) {
	if r.unusable[name] {
		// A missing value that is required ends the reading; an empty one
		// does not.
		return "", r.variables[name].required
	}

	value, ok := r.Lookuper.Lookup(name)

	return value, ok && value != ""
}

// inEnvironment lists the variables of the process that lookuper has too. A
// lookuper cannot list what it has.
func inEnvironment(lookuper envconfig.Lookuper) []string {
	var names []string

	for _, pair := range os.Environ() {
		name, value, _ := strings.Cut(pair, "=")
		if found, ok := lookuper.Lookup(name); ok && found == value {
			names = append(names, name)
		}
	}

	return names
}

// problems are what is wrong, one per variable.
type problems struct {
	found []error
	about map[string]bool
}

// ProblemError is one thing wrong with the configuration.
type ProblemError struct {
	Variable string
	Message  string
	Fix      string
}

// Error names the variable, what is wrong and the fix.
func (p *ProblemError) Error() string { return p.Variable + ": " + p.Message + "; " + p.Fix }

func (p *problems) add(variable, message, fix string) {
	p.note(variable, &ProblemError{Variable: variable, Message: message, Fix: fix})
}

func (p *problems) note(variable string, err error) {
	if p.about[variable] {
		return
	}

	if p.about == nil {
		p.about = map[string]bool{}
	}

	p.about[variable] = true
	p.found = append(p.found, err)
}

var variablePattern = regexp.MustCompile(`LESSOR_[A-Z_]+`)

// join adds what a part says of its own configuration, unless the variable was
// reported already.
func (p *problems) join(err error) {
	if err == nil {
		return
	}

	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			p.join(e)
		}

		return
	}

	p.note(variablePattern.FindString(err.Error()), err)
}

func (p *problems) err() error { return errors.Join(p.found...) }
