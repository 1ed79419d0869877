package enqueuecli

import (
	"encoding/json"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The states of a tenant's work, in the order in which they are judged.
const (
	stateRunning  = "running"
	stateSettled  = "settled"
	stateFailed   = "failed"
	stateHeld     = "held"
	stateAwaiting = "awaiting-creation"
	stateBackoff  = "backoff"
	statePending  = "pending"
)

func stateOf(rec tenant.Record, now time.Time) string {
	switch {
	case rec.Lease.Owner != "":
		return stateRunning
	case !rec.NeedsWork() && rec.FailedSeq > rec.AppliedSeq:
		return stateFailed
	case !rec.NeedsWork():
		return stateSettled
	case rec.Hold != "":
		return stateHeld
	case rec.Desired.Existence.Version.IsZero():
		return stateAwaiting
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
	Parameters tenant.Parameters          `json:"parameters,omitempty"`
	Sequence   sequences                  `json:"sequence"`
	Operation  *operation                 `json:"operation,omitempty"`
	Lease      *lease                     `json:"lease,omitempty"`
	Hold       string                     `json:"hold,omitempty"`
	NotBefore  *time.Time                 `json:"notBefore,omitempty"`
	Attempts   int                        `json:"attempts,omitempty"`
	Applied    *applied                   `json:"applied,omitempty"`
	Stack      *stack                     `json:"stack,omitempty"`
	Outputs    map[string]json.RawMessage `json:"outputs,omitempty"`
	Last       *outcome                   `json:"last,omitempty"`
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
	Failure     *tenant.Failure     `json:"failure,omitempty"`
	Report      []tenant.Difference `json:"report,omitempty"`
	Repairs     []tenant.Repair     `json:"repairs,omitempty"`
	Orphans     []string            `json:"orphans,omitempty"`
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
		CreatedAt: instant(rec.CreatedAt), UpdatedAt: instant(rec.UpdatedAt),
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
	}

	if rec.Stack.Name != "" {
		s.Stack = &stack{Project: rec.Stack.Project, Name: rec.Stack.Name, Shard: rec.Stack.Shard}
	}

	if l := rec.Last; l != nil {
		s.Last = &outcome{
			OperationID: l.OperationID, Steps: l.Steps, Sequence: l.Sequence, StartedAt: l.StartedAt.UTC(), Seconds: l.Duration.Seconds(),
			Changes: l.Changes, Failure: l.Failure, Report: l.Report,
			Repairs: l.Repairs, Orphans: l.Orphans,
		}

		// Below zero means that nobody knows.
		if l.Resources >= 0 {
			s.Last.Resources = &l.Resources
		}
	}

	return s
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
