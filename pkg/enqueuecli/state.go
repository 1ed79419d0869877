package enqueuecli

import (
	"encoding/json"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The states of a tenant's work, in the order in which they are judged.
const (
	stateRunning          = "running"
	stateAwaitingApproval = "awaiting-approval"
	stateFailed           = "failed"
	stateSettled          = "settled"
	stateHeld             = "held"
	stateAwaiting         = "awaiting-creation"
	stateAwaitingCutover  = "awaiting-cutover"
	stateBackoff          = "backoff"
	statePending          = "pending"
)

const statesHelp = `States: settled, running, pending (waits for a worker), backoff (waits to try
again), held, failed (given up on until the next event), awaiting-creation,
awaiting-approval (the guard of its tier stopped it: see enqueue approve),
awaiting-cutover (a tier change waits for its data hook: see enqueue confirm).`

func stateOf(rec tenant.Record, now time.Time) string {
	switch {
	case rec.Lease.Owner != "":
		return stateRunning
	case awaitsApproval(rec):
		return stateAwaitingApproval
	case failed(rec):
		return stateFailed
	case !rec.NeedsWork():
		return stateSettled
	case rec.Hold != "":
		return stateHeld
	case rec.Desired.Existence.Version.IsZero():
		return stateAwaiting
	case awaitsCutover(rec, now):
		return stateAwaitingCutover
	case rec.NotBefore.After(now):
		return stateBackoff
	}

	return statePending
}

// status is the documented form of a tenant: `enqueue help json`. Fields are
// only ever added to it.
type status struct {
	Tenant     tenant.ID                  `json:"tenant"`
	State      string                     `json:"state"`
	Settled    bool                       `json:"settled"`
	Phase      tenant.Phase               `json:"phase"`
	Tier       string                     `json:"tier,omitempty"`
	Region     string                     `json:"region,omitempty"`
	Release    string                     `json:"release,omitempty"`
	Parameters tenant.Parameters          `json:"parameters,omitempty"`
	Sequence   sequences                  `json:"sequence"`
	Operation  *operation                 `json:"operation,omitempty"`
	Lease      *lease                     `json:"lease,omitempty"`
	Hold       string                     `json:"hold,omitempty"`
	NotBefore  *time.Time                 `json:"notBefore,omitempty"`
	Attempts   int                        `json:"attempts,omitempty"`
	DueAt      *time.Time                 `json:"dueAt,omitempty"`
	Change     *changeStatus              `json:"change,omitempty"`
	Pending    *pendingStatus             `json:"pending,omitempty"`
	Applied    *applied                   `json:"applied,omitempty"`
	Stack      *stack                     `json:"stack,omitempty"`
	Outputs    map[string]json.RawMessage `json:"outputs,omitempty"`
	Last       *outcome                   `json:"last,omitempty"`
	History    []past                     `json:"history,omitempty"`
	CreatedAt  *time.Time                 `json:"createdAt,omitempty"`
	UpdatedAt  *time.Time                 `json:"updatedAt,omitempty"`
	Fleet      *fleetStatus               `json:"fleet,omitempty"`
}

type sequences struct {
	Desired int64 `json:"desired"`
	Applied int64 `json:"applied"`
	Failed  int64 `json:"failed"`
}

type operation struct {
	ID        string    `json:"id"`
	Step      string    `json:"step"`
	Done      int       `json:"done"`
	Planned   int       `json:"planned"`
	StartedAt time.Time `json:"startedAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

type lease struct {
	Owner string     `json:"owner"`
	Fence int64      `json:"fence"`
	Until *time.Time `json:"until,omitempty"`
}

type applied struct {
	Phase      tenant.Phase `json:"phase"`
	Tier       string       `json:"tier,omitempty"`
	Region     string       `json:"region,omitempty"`
	Program    string       `json:"program,omitempty"`
	Generation int          `json:"generation,omitempty"`
	Build      string       `json:"build,omitempty"`
	At         time.Time    `json:"at"`
}

type stack struct {
	Project string `json:"project"`
	Name    string `json:"name"`
	Shard   string `json:"shard"`
}

type outcome struct {
	OperationID string              `json:"operationId"`
	Steps       []string            `json:"steps"`
	Sequence    int64               `json:"sequence"`
	StartedAt   time.Time           `json:"startedAt"`
	Seconds     float64             `json:"seconds"`
	Changes     map[string]int      `json:"changes,omitempty"`
	Resources   *int                `json:"resources,omitempty"`
	Types       map[string]int      `json:"types,omitempty"`
	Failure     *tenant.Failure     `json:"failure,omitempty"`
	Report      []tenant.Difference `json:"report,omitempty"`
	Repairs     []tenant.Repair     `json:"repairs,omitempty"`
	Orphans     []string            `json:"orphans,omitempty"`
}

// past is an operation that ended, in brief.
type past struct {
	OperationID string      `json:"operationId"`
	Steps       []string    `json:"steps,omitempty"`
	Sequence    int64       `json:"sequence"`
	StartedAt   time.Time   `json:"startedAt"`
	Seconds     float64     `json:"seconds"`
	Kind        tenant.Kind `json:"kind,omitempty"`
	Message     string      `json:"message,omitempty"`
}

type fleetStatus struct {
	Paused bool       `json:"paused"`
	Reason string     `json:"reason,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

func statusOf(rec tenant.Record, now time.Time) status {
	spec := rec.Desired.Spec()
	s := status{
		Tenant: rec.ID, State: stateOf(rec, now), Settled: !rec.NeedsWork(),
		Phase: spec.Phase, Tier: spec.Tier, Region: spec.Region, Parameters: spec.Parameters,
		Sequence: sequences{Desired: rec.DesiredSeq, Applied: rec.AppliedSeq, Failed: rec.FailedSeq},
		Hold:     rec.Hold, NotBefore: instant(rec.NotBefore), Attempts: rec.Attempts, Outputs: rec.Outputs,
		Change: changeOf(rec), Pending: pendingOf(rec), History: historyOf(rec.History),
		CreatedAt: instant(rec.CreatedAt), UpdatedAt: instant(rec.UpdatedAt),
	}

	// Of those that failed the clock wants nothing.
	if !failed(rec) {
		s.DueAt = instant(rec.DueAt)
	}

	if rec.Lease.Owner != "" {
		s.Lease = &lease{Owner: rec.Lease.Owner, Fence: rec.Fence, Until: instant(rec.Lease.Until)}
		s.Operation = operationOf(rec.Progress)
	}

	if a := rec.Applied; a != nil {
		s.Applied = &applied{
			Phase: a.Spec.Phase, Tier: a.Spec.Tier, Region: a.Spec.Region, Program: a.Blueprint.Program,
			Generation: a.Generation, Build: a.Build, At: a.At.UTC(),
		}
		s.Release = a.Blueprint.Release
	}

	if rec.Stack.Name != "" {
		s.Stack = &stack{Project: rec.Stack.Project, Name: rec.Stack.Name, Shard: rec.Stack.Shard}
	}

	if l := rec.Last; l != nil {
		s.Last = &outcome{
			OperationID: l.OperationID, Steps: l.Steps, Sequence: l.Sequence, StartedAt: l.StartedAt.UTC(), Seconds: l.Duration.Seconds(),
			Changes: l.Changes, Types: l.Types, Failure: l.Failure, Report: l.Report,
			Repairs: l.Repairs, Orphans: l.Orphans,
		}

		// Below zero means that nobody knows.
		if l.Resources >= 0 {
			s.Last.Resources = &l.Resources
		}
	}

	return s
}

func historyOf(history []tenant.Past) []past {
	out := make([]past, 0, len(history))

	for _, p := range history {
		out = append(out, past{
			OperationID: p.OperationID, Steps: p.Steps, Sequence: p.Sequence, StartedAt: p.StartedAt.UTC(),
			Seconds: p.Duration.Seconds(), Kind: p.Kind, Message: p.Message,
		})
	}

	return out
}

func operationOf(p *tenant.Progress) *operation {
	if p == nil {
		return nil
	}

	return &operation{
		ID: p.OperationID, Step: p.Step, Done: p.Done, Planned: p.Planned, StartedAt: p.StartedAt.UTC(), UpdatedAt: p.UpdatedAt.UTC(),
	}
}

func fleetStatusOf(f fleetState) fleetStatus {
	return fleetStatus{Paused: f.Paused, Reason: f.Reason, At: instant(f.At)}
}

// instant is nil for the zero time.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}

	utc := t.UTC()

	return &utc
}
