package tenant

import (
	"encoding/json"
	"time"
)

// Record is the row of one tenant: what it shall be, what it is, and who works
// on it. docs/contract.md is the contract of its layout.
type Record struct {
	ID      ID
	Desired Desired
	// DesiredSeq counts the accepted changes of Desired. AppliedSeq is the
	// one that the last successful operation made, FailedSeq the newest one
	// that was given up on.
	DesiredSeq int64
	AppliedSeq int64
	FailedSeq  int64

	// Applied is nil until an operation of this tenant succeeded.
	Applied *Applied
	// Stack is where the state is kept; its zero value means that no
	// operation ever began.
	Stack Stack
	// Change is a tier change that is under way, nil if none is.
	Change *Change
	// Pending is an operation that waits for approval, nil if none does.
	Pending *Pending
	// Outputs are the program's outputs without secrets.
	Outputs map[string]json.RawMessage

	Lease Lease
	// Fence is the number of the newest lease. CleanFence is the newest one
	// whose holder let go with every write of state answered.
	Fence      int64
	CleanFence int64

	// Hold is the reason why no operation may start, empty if one may.
	Hold string
	// NotBefore holds a backoff; zero if there is none.
	NotBefore time.Time
	// Attempts counts the failed attempts at DesiredSeq.
	Attempts int
	// DueAt is when the clock makes work, zero if it makes none. Looks for drift
	// are no part of it: how often those are is not the row's to say.
	DueAt time.Time
	// LookedAt is when the cloud was last compared with the state, zero if that
	// never was.
	LookedAt time.Time

	// Progress is of the operation that runs, Last of the one before.
	Progress *Progress
	Last     *Outcome
	// History are the last operations in brief, the newest first. Last is among
	// them, unless it asked for no step, or was a look by the clock that found
	// nothing.
	History []Past
	// Unpublished is the id of the operation whose result event may not have
	// reached the target yet, or "".
	Unpublished string

	CreatedAt time.Time
	UpdatedAt time.Time
}

// NeedsWork reports whether an accepted change was neither applied nor given
// up on.
func (r Record) NeedsWork() bool { return r.DesiredSeq > max(r.AppliedSeq, r.FailedSeq) }

// Exists reports whether the row was ever written.
func (r Record) Exists() bool { return !r.CreatedAt.IsZero() }

// Lease is the right to work on a tenant. Nobody holds it while Owner is "".
type Lease struct {
	Owner string
	// RVN (record version number) changes with every renewal.
	RVN      string
	Duration time.Duration
	// Until is the holder's wall clock: a hint for people, never a ground to
	// take over.
	Until time.Time
	// Message is the id of the SQS message that only the holder may delete.
	Message string
}

// Stack names the Pulumi stack of a tenant. It is recorded before the first
// operation and never changes by itself.
type Stack struct {
	Project string `json:"project"`
	Name    string `json:"name"`
	// Shard is the state bucket.
	Shard string `json:"shard"`
	// Created is set once the stack is known to have a checkpoint.
	Created bool `json:"created,omitempty"`
	// Generation is the highest that an operation ever began with. Its names
	// are not used again.
	Generation int `json:"generation,omitempty"`
	// RemovedAt is since when the state is proven empty, while the bucket keeps
	// something of it, and PurgedAt when the last of that was removed. Both are
	// zero again in the tenant's next life.
	RemovedAt time.Time `json:"removedAt,omitzero"`
	PurgedAt  time.Time `json:"purgedAt,omitzero"`
}

// Begun reports that an operation ever began.
func (s Stack) Begun() bool { return s.Project != "" }

// Applied is what the last successful operation made: the topology that serves.
type Applied struct {
	Spec      Spec                    `json:"spec"`
	Blueprint Blueprint               `json:"blueprint"`
	Requests  map[RequestKind]Version `json:"requests,omitempty"`
	// Build is the version of the worker whose programs made it.
	Build string `json:"build,omitempty"`
	// Generation numbers the topology: "t1", "t2", …
	Generation int       `json:"generation,omitempty"`
	At         time.Time `json:"at"`
}

// FailurePolicy says what happens after an operation failed for good.
type FailurePolicy string

// The failure policies. Rollback destroys what a first provision left behind,
// Revert goes back to what is applied, Keep leaves it for people.
const (
	PolicyRollback FailurePolicy = "rollback"
	PolicyRevert   FailurePolicy = "revert"
	PolicyKeep     FailurePolicy = "keep"
)

// Blueprint is what the catalog makes of a tier and the tenant's parameters:
// everything an operation needs to know.
type Blueprint struct {
	Program string `json:"program"`
	// Parameters are the tier's, overridden by the tenant's.
	Parameters Parameters `json:"parameters,omitempty"`
	RoleARN    string     `json:"roleArn,omitempty"`
	// Protect guards resources that hold data against deletion, in the engine
	// and at AWS, from the first successful up until a deletion is prepared.
	Protect bool `json:"protect,omitempty"`
	// DataLoss reports that a deletion needs AcceptDataLoss, because the
	// tier keeps data and takes no final snapshot.
	DataLoss bool `json:"dataLoss,omitempty"`
	// FinalSnapshot makes a deletion keep a last snapshot of the data,
	// unless AcceptDataLoss was given.
	FinalSnapshot bool          `json:"finalSnapshot,omitempty"`
	OnCreate      FailurePolicy `json:"onCreate,omitempty"`
	OnUpdate      FailurePolicy `json:"onUpdate,omitempty"`
	MaxAttempts   int           `json:"maxAttempts,omitempty"`
	// Addresses is where a topology gets the range of its network from; nil
	// where the program has its own way.
	Addresses *AddressPool `json:"addresses,omitempty"`
	// Bake is how long what a change to this tier replaced still stands.
	Bake time.Duration `json:"bakeNanos,omitempty"`
	// Hook moves the data of a tenant that changes to this tier. Without one
	// nothing is moved.
	// The row does not have it: its address may be known to few.
	Hook *Hook `json:"-"`
	// Guard is nil where updates need no approval.
	Guard *Guard `json:"guard,omitempty"`
	// RetainDays is how long history and versions of the state of a deleted
	// tenant are kept.
	RetainDays int `json:"retainDays,omitempty"`
	// Release names the set of parameters, for people.
	Release string `json:"release,omitempty"`
	// Pool is the tenant whose outputs are among the parameters, "" if none is.
	Pool ID `json:"pool,omitempty"`
}

// Progress is how far the running operation is.
type Progress struct {
	OperationID string    `json:"operationId"`
	Step        string    `json:"step"`
	Done        int       `json:"done"`
	Planned     int       `json:"planned"`
	StartedAt   time.Time `json:"startedAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
}

// Outcome is how an operation ended.
type Outcome struct {
	OperationID string        `json:"operationId"`
	Steps       []string      `json:"steps"`
	Fence       int64         `json:"fence"`
	Sequence    int64         `json:"sequence"`
	StartedAt   time.Time     `json:"startedAt"`
	Duration    time.Duration `json:"durationNanos"`
	// Changes counts resources by what was done to them: create, update,
	// replace, delete, same.
	Changes map[string]int `json:"changes,omitempty"`
	// Resources is how many the state holds, without the stack itself,
	// components and providers.
	Resources int `json:"resources"`
	// Types counts them by Pulumi type, as far as that was ever known. Where
	// there are very many types, the rarest are counted as "other".
	Types   map[string]int `json:"types,omitempty"`
	Failure *Failure       `json:"failure,omitempty"`
	// Report lists what a preview or a refresh found.
	Report []Difference `json:"report,omitempty"`
	// Repairs lists what was mended because an earlier worker died.
	Repairs []Repair `json:"repairs,omitempty"`
	// Orphans are the ARNs of resources that carry the tenant's tag and that
	// its state does not know. They are only looked for after a worker died.
	Orphans []string `json:"orphans,omitempty"`
}

// RepairAction names what was mended, for machines.
type RepairAction string

// The repairs, in the order in which they are made.
const (
	// RepairLock removed the lock of a dead operation.
	RepairLock RepairAction = "lock-removed"
	// RepairRestored put an older version of the state in place of one that
	// was missing or could not be read.
	RepairRestored RepairAction = "restored"
	// RepairMended took dangling references out of the state.
	RepairMended RepairAction = "mended"
	// RepairImported took a resource into the state whose creation was cut
	// short, RepairCleared forgot one that never came to be.
	RepairImported RepairAction = "imported"
	RepairCleared  RepairAction = "cleared"
)

// RepairActions lists every action, for metrics that start at zero.
func RepairActions() []RepairAction {
	return []RepairAction{RepairLock, RepairRestored, RepairMended, RepairImported, RepairCleared}
}

// Repair is one thing that was mended.
type Repair struct {
	Action RepairAction `json:"action"`
	// Detail is one line for people.
	Detail string `json:"detail,omitempty"`
}

// Difference is one resource that a preview would change, or that a refresh found
// to be other than it was made. It has names of properties and no values.
type Difference struct {
	Type string `json:"type"`
	Name string `json:"name"`
	// Action is the engine's word. Of what a refresh found, "update" means that
	// properties differ, and "delete" that the resource is there no more.
	Action string `json:"action"`
	// Properties differ.
	Properties []string `json:"properties,omitempty"`
	// Missing are properties that were made and are there no more, Extra those
	// that are there and were not made. A preview tells neither apart.
	Missing []string `json:"missing,omitempty"`
	Extra   []string `json:"extra,omitempty"`
	// Drift is set on what a refresh found.
	Drift bool `json:"drift,omitempty"`
}

// Drifted counts the differences that a refresh found.
func Drifted(report []Difference) int {
	n := 0

	for _, d := range report {
		if d.Drift {
			n++
		}
	}

	return n
}
