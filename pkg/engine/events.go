package engine

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	stackType      = "pulumi:pulumi:Stack"
	providerPrefix = "pulumi:providers:"
	// eventBuffer lets the engine run ahead of the collector.
	eventBuffer = 256
	// maxDiagnostics bounds how many errors of an operation are kept.
	maxDiagnostics = 50
	// maxDifferences bounds a report.
	maxDifferences = 200
)

// collector learns from the engine's events what a CLI process did.
type collector struct {
	step   plan.Step
	notify func(Progress)
	stream chan events.EngineEvent
	// saw is called for every event.
	saw func(events.EngineEvent)

	mutex sync.Mutex
	// planned is how many resources the step has to do with, as far as known.
	planned int
	// began and ended hold the URNs of resources that are worked on.
	began, ended map[string]bool
	// present are the URNs of the resources in the state, as far as the step
	// touched them.
	present     map[string]bool
	outputs     map[string]any
	changes     map[string]int
	differences []tenant.Difference
	diagnostics []diagnostic
}

// diagnostic is an error that the engine reported.
type diagnostic struct {
	// resource is the type and the name of the resource, or "".
	resource string
	message  string
}

func newCollector(step plan.Step, planned int, notify func(Progress)) *collector {
	return &collector{
		step:    step,
		notify:  notify,
		stream:  make(chan events.EngineEvent, eventBuffer),
		saw:     func(events.EngineEvent) {},
		planned: planned,
		began:   map[string]bool{},
		ended:   map[string]bool{},
		present: map[string]bool{},
		changes: map[string]int{},
	}
}

// collect consumes the stream until it is closed, or until done is closed and
// nothing is left. The SDK closes it only if the CLI opened it: a locked stack
// ends the CLI before that.
func (c *collector) collect(done <-chan struct{}) {
	for {
		select {
		case event, open := <-c.stream:
			if !open {
				return
			}

			c.see(event)
		case <-done:
			for {
				select {
				case event, open := <-c.stream:
					if !open {
						return
					}

					c.see(event)
				default:
					return
				}
			}
		}
	}
}

// register counts a resource that the program declared.
func (c *collector) register(resourceType string, custom bool) {
	if !custom || isProvider(resourceType) {
		return
	}

	c.mutex.Lock()
	c.planned++
	c.mutex.Unlock()
}

func (c *collector) see(event events.EngineEvent) {
	c.saw(event)

	switch {
	case event.DiagnosticEvent != nil:
		c.diagnose(*event.DiagnosticEvent)
	case event.ErrorEvent != nil:
		c.diagnose(apitype.DiagnosticEvent{Severity: "error", Message: event.ErrorEvent.Error})
	case event.SummaryEvent != nil:
		c.mutex.Lock()
		for op, n := range event.SummaryEvent.ResourceChanges {
			c.changes[string(op)] += n
		}
		c.mutex.Unlock()
	case event.ResourcePreEvent != nil:
		c.begin(event.ResourcePreEvent.Metadata)
	case event.ResOutputsEvent != nil:
		c.end(event.ResOutputsEvent.Metadata)
	}
}

func (c *collector) diagnose(event apitype.DiagnosticEvent) {
	if event.Severity != "error" {
		return
	}

	c.mutex.Lock()
	defer c.mutex.Unlock()

	if len(c.diagnostics) < maxDiagnostics {
		c.diagnostics = append(c.diagnostics, diagnostic{resource: describe(event.URN), message: event.Message})
	}
}

// begin sees a step of the engine before it is made.
func (c *collector) begin(m apitype.StepEventMetadata) {
	if !isResource(m) {
		return
	}

	c.mutex.Lock()
	defer c.mutex.Unlock()

	c.began[m.URN] = true

	if m.Old != nil && c.step == plan.StepPreview {
		c.present[m.URN] = true
	}

	if c.step == plan.StepPreview && isChange(m.Op) {
		c.differ(m)
	}
}

// end sees a step of the engine with its result.
func (c *collector) end(m apitype.StepEventMetadata) {
	if m.Type == stackType {
		c.mutex.Lock()
		if m.New != nil && c.step != plan.StepPreview {
			c.outputs = m.New.Outputs
		}
		c.mutex.Unlock()

		return
	}

	if !isResource(m) || c.step == plan.StepPreview {
		return
	}

	// A refresh that goes before another step tells what it found as well.
	refreshed := c.step == plan.StepRefresh || m.Op == apitype.OpRefresh
	m.Op = foundOp(m)

	c.mutex.Lock()
	c.ended[m.URN] = true

	if present, known := leavesPresent(m.Op); known {
		if present {
			c.present[m.URN] = true
		} else {
			delete(c.present, m.URN)
		}
	}

	if refreshed && (m.Op == apitype.OpUpdate || m.Op == apitype.OpDelete) {
		c.differ(m)
	}

	progress := Progress{
		Step:     c.step,
		Done:     len(c.ended),
		Planned:  max(c.planned, len(c.began), len(c.ended)),
		Resource: describe(m.URN),
	}
	c.mutex.Unlock()

	c.notify(progress)
}

// differ adds to what differs. Only names of properties get there, no values.
func (c *collector) differ(m apitype.StepEventMetadata) {
	d := tenant.Difference{Action: string(m.Op), Drift: c.step != plan.StepPreview}
	d.Type, d.Name = splitURN(m.URN)

	if d.Drift {
		d.Properties, d.Missing, d.Extra = drift(m)
	} else {
		d.Properties = bounded(changedProperties(m))
	}

	c.differences = append(c.differences, d)
}

// leavesPresent reports whether a resource is in the state after a step of the
// engine. A step that only ends a replaced one tells nothing.
func leavesPresent(op apitype.OpType) (present, known bool) {
	switch op {
	case apitype.OpDelete, apitype.OpReadDiscard:
		return false, true
	case apitype.OpDeleteReplaced, apitype.OpDiscardReplaced, apitype.OpRemovePendingReplace:
		return false, false
	case apitype.OpSame, apitype.OpCreate, apitype.OpUpdate, apitype.OpReplace, apitype.OpCreateReplacement,
		apitype.OpRead, apitype.OpReadReplacement, apitype.OpRefresh, apitype.OpImport, apitype.OpImportReplacement:
		return true, true
	}

	return false, false
}

// isChange reports whether a step of the engine stands for a change of a
// resource. A replacement consists of several steps, of which one counts.
func isChange(op apitype.OpType) bool {
	switch op {
	case apitype.OpCreate, apitype.OpUpdate, apitype.OpDelete, apitype.OpReplace, apitype.OpImport:
		return true
	case apitype.OpSame, apitype.OpCreateReplacement, apitype.OpDeleteReplaced, apitype.OpRead, apitype.OpReadReplacement,
		apitype.OpRefresh, apitype.OpReadDiscard, apitype.OpDiscardReplaced, apitype.OpRemovePendingReplace,
		apitype.OpImportReplacement:
	}

	return false
}

// report returns the differences in a fixed order, the gravest first: whoever has
// no room for all of them cuts the end.
func (c *collector) report() []tenant.Difference {
	sorted := slices.SortedFunc(slices.Values(c.differences), func(a, b tenant.Difference) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), compareLosses(a, b))
	})

	return sorted[:min(len(sorted), maxDifferences)]
}

// rank orders differences by what there is to lose.
func rank(d tenant.Difference) int {
	order := []apitype.OpType{apitype.OpDelete, apitype.OpReplace, apitype.OpUpdate, apitype.OpImport, apitype.OpCreate}

	return slices.Index(order, apitype.OpType(d.Action))
}

// isResource reports whether the step is about a resource in the cloud that the
// stack owns.
func isResource(m apitype.StepEventMetadata) bool {
	state := m.New
	if state == nil {
		state = m.Old
	}

	return state != nil && state.Custom && !state.External && !isProvider(m.Type)
}

func isProvider(resourceType string) bool { return strings.HasPrefix(resourceType, providerPrefix) }

// describe turns a URN into type and name, for people.
func describe(urn string) string {
	typeName, name := splitURN(urn)
	if name == "" || typeName == stackType {
		return ""
	}

	return typeName + " " + name
}

// splitURN finds type and name in urn:pulumi:stack::project::parent$type::name.
func splitURN(urn string) (typeName, name string) {
	const types, names = 2, 3

	parts := strings.SplitN(urn, "::", names+1)
	if len(parts) <= names {
		return "", ""
	}

	typeName = parts[types]
	if i := strings.LastIndexByte(typeName, '$'); i >= 0 {
		typeName = typeName[i+1:]
	}

	return typeName, parts[names]
}
