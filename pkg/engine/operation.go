package engine

import (
	"encoding/json"
	"time"

	"github.com/lessor-dev/lessor/pkg/phase"
	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Operation is one run of a plan for a tenant, all that a child process needs
// to know.
type Operation struct {
	ID     string      `json:"id"`
	Tenant tenant.ID   `json:"tenant"`
	Fence  int64       `json:"fence"`
	Steps  []plan.Step `json:"steps"`
	// Stack is where the state is; Stack.Created decides between the
	// creation and the selection of the stack.
	Stack tenant.Stack `json:"stack"`
	// Topologies are all live generations of the tenant's infrastructure. The
	// outputs of the last are the tenant's.
	Topologies []Topology `json:"topologies,omitempty"`
	// Leaving are what the next up removes. The step prepare-delete prepares them
	// where there are any, and otherwise all Topologies.
	Leaving []Topology `json:"leaving,omitempty"`
	// Guard bounds what the step up may do. It is nil where it may do everything:
	// nothing is previewed then.
	Guard *tenant.Guard `json:"guard,omitempty"`
	// Approved is what may exceed the guard.
	Approved *Exceeds `json:"approved,omitempty"`
	// Retain keeps what the bucket has of the stack's history when the stack is
	// removed. The step purge takes it.
	Retain bool `json:"retain,omitempty"`
	// CleanPredecessor reports that the last writer of the state got an answer
	// to every write, so that none of its writes can still arrive.
	CleanPredecessor bool `json:"cleanPredecessor,omitempty"`
	// LookAfter is when nothing of an earlier owner can still be at work, if it
	// did not end cleanly. A tenant only counts as gone if nothing is found then
	// that carries its tag. It is zero if no look is due.
	LookAfter time.Time `json:"lookAfter"`
	// Resources is how many the state held when that was last known. It only
	// serves to tell how far a step is that runs no program.
	Resources int `json:"resources,omitempty"`
	// Deadline ends the operation, whatever it does. The runner's timeout does
	// so where it is earlier, or where this is zero.
	Deadline time.Time `json:"deadline"`
}

// Result is how an operation ended.
type Result struct {
	// Failure is nil if every step succeeded.
	Failure *tenant.Failure `json:"failure,omitempty"`
	// Outputs are those of the last up. A secret is replaced by "[secret]".
	Outputs map[string]json.RawMessage `json:"outputs,omitempty"`
	// Changes counts resources by what was done to them, over all steps.
	Changes map[string]int `json:"changes,omitempty"`
	// Resources is how many the state holds afterwards, without the stack
	// itself, components and providers. It is -1 if that is not known.
	Resources int `json:"resources"`
	// Types counts them by Pulumi type: 40 types at most, and the rest as
	// "other". It is nil where Resources is not known.
	Types  map[string]int      `json:"types,omitempty"`
	Report []tenant.Difference `json:"report,omitempty"`
	// Exceeds is what the guard stopped, if Failure is of that kind. Nothing was
	// changed then.
	Exceeds *Exceeds `json:"exceeds,omitempty"`
	// Repairs and Orphans are as in tenant.Outcome.
	Repairs []tenant.Repair `json:"repairs,omitempty"`
	Orphans []string        `json:"orphans,omitempty"`
	// Complaints are for the log: what went wrong and did no harm.
	Complaints []string `json:"complaints,omitempty"`
	// Refused is why a write of the state was refused, "" if none was: the kind
	// of Failure then.
	Refused tenant.Kind `json:"refused,omitempty"`
	// StackCreated reports that the stack has a checkpoint.
	StackCreated bool `json:"stackCreated"`
	// Clean reports that every CLI process ended by itself, so that it
	// released the lock and every write of state was answered.
	Clean bool `json:"clean"`
	// Processes counts the CLI processes that were started.
	Processes int `json:"processes"`
	// PeakMemory is the highest PSS of the session, in bytes.
	PeakMemory int64 `json:"peakMemory,omitempty"`
	// Phases are where the time went, as far as the operation's process told: one
	// that was killed told of its start alone. What is missing of the whole is
	// phase.Other.
	Phases phase.Times `json:"phases,omitempty"`
}

// Progress tells how far an operation is.
type Progress struct {
	Step    plan.Step `json:"step"`
	Done    int       `json:"done"`
	Planned int       `json:"planned"`
	// Resource is the type and name of the resource that changed last.
	Resource string `json:"resource,omitempty"`
}
