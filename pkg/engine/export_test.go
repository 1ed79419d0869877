package engine

import (
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// WithGraces shortens what takes minutes.
func WithGraces(terminate, timeout, backstop time.Duration) Option {
	return func(o *options) { o.terminateGrace, o.timeoutGrace, o.backstop = terminate, timeout, backstop }
}

// WithBuiltInPlugins asks for the plugins of this executable's modules.
func WithBuiltInPlugins() Option { return WithPlugins(builtInPlugins()) }

// Order is the first line for a child, with its working directory in dir.
func Order(op Operation, pulumi, dir string, grace time.Duration) any {
	return order{Operation: op, Settings: settings{
		Pulumi: pulumi, Version: "3.274.1", Parallel: 1, SecretsProvider: "awskms://x",
		Slot: slot{Work: dir, Home: dir, Temp: dir}, InterruptGrace: grace, TerminateGrace: grace, PlainState: true,
	}}
}

// LeaseLine is the line that tells a child of a lease.
func LeaseLine(left time.Duration) any {
	now, err := bootTime()
	if err != nil {
		panic(err)
	}

	return instruction{LeaseUntil: int64(now + left)}
}

// InterruptLine is the line that interrupts a child, KillLine ends it.
func InterruptLine(grace time.Duration) any { return instruction{Interrupt: &interrupt{Grace: grace}} }
func KillLine() any                         { return instruction{Kill: true} }

// Classify judges the messages of resources and the CLI's stderr.
func Classify(messages []string, stderr, fallback string) *tenant.Failure {
	e := evidence{stderr: stderr, fallback: fallback}
	for _, m := range messages {
		e.diagnostics = append(e.diagnostics, diagnostic{resource: "aws:ec2/vpc:Vpc t1-vpc", message: m})
	}

	return classify(e)
}

// Uncertain reports whether errors leave open what became of creations.
func Uncertain(messages []string) bool {
	found := make([]diagnostic, 0, len(messages))
	for _, m := range messages {
		found = append(found, diagnostic{message: m})
	}

	return uncertain(found)
}

// Exportable masks outputs.
var Exportable = exportable

// BackendURLIn is BackendURL in another environment.
var BackendURLIn = backendURL

// CountTypes counts URNs by type.
var CountTypes = countTypes

// The guard's parts.
var (
	Exceeding  = exceeding
	NewExceeds = newExceeds
	Covers     = (*Exceeds).covers
	Objection  = objection
)

// Collected is what events tell.
type Collected struct {
	Present     int
	Types       map[string]int
	Outputs     map[string]any
	Changes     map[string]int
	Differences []tenant.Difference
	Errors      []string
	Progress    []Progress
}

// Collect feeds events to a collector, whose stream is closed or not.
func Collect(step plan.Step, planned int, seen []events.EngineEvent, closed bool) Collected {
	var result Collected

	c := newCollector(step, planned, func(p Progress) { result.Progress = append(result.Progress, p) })
	for _, e := range seen {
		c.stream <- e
	}

	done := make(chan struct{})

	if closed {
		close(c.stream)
	} else {
		close(done)
	}

	c.collect(done)

	result.Present, result.Outputs, result.Changes, result.Differences = len(c.present), c.outputs, c.changes, c.report()

	result.Types = countTypes(c.present)
	for _, d := range c.diagnostics {
		result.Errors = append(result.Errors, d.resource+": "+d.message)
	}

	return result
}
