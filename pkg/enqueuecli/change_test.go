package enqueuecli_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	stoppedID  = "01JQ8M7C4H8K2V5N9T3W6X0Y1Z"
	hookToken  = "7KX4R3N6VX8Z5YME7WRJ3D6P4B"
	otherToken = "00000000000000000000000000"
)

// stopped is a world in which the guard stopped an update of acme.
func stopped() *world {
	w := withAcme()
	w.fold(at(tenant.EventUpdated, noon().Add(-time.Minute), func(e *tenant.Event) {
		e.Parameters = tenant.Parameters{"seats": []byte("1")}
	}))
	giveUp(w)
	change(func(rec *tenant.Record) {
		rec.Last.OperationID = stoppedID
		rec.Last.Failure = &tenant.Failure{
			Kind: tenant.KindApproval, Message: "the guard of the tier stops an update that would replace 1 resource",
			Hint: "see `enqueue status acme`, then `enqueue approve acme`", Step: "up",
		}
		rec.Pending = &tenant.Pending{
			Operation: stoppedID, Sequence: rec.FailedSeq, Digest: "d1", At: noon().Add(-30 * time.Second),
			Report: []tenant.Difference{
				{Type: "aws:rds/instance:Instance", Name: "t1-db", Action: "replace", Properties: []string{"engine"}},
				{Type: "aws:sqs/queue:Queue", Name: "t1-\x1b[2Jjobs", Action: "delete"},
			},
		}
	})(w)

	return w
}

// approved is stopped, and somebody approved it.
func approved() *world {
	w := stopped()
	w.fold(at(tenant.EventApproved, noon(), func(e *tenant.Event) { e.Operation = stoppedID }))

	return w
}

// building is a world in which acme is on its way from standard to enterprise.
func building() *world {
	w := withAcme()
	another(w)
	change(func(rec *tenant.Record) {
		rec.Change = &tenant.Change{
			ID: "change-1", Stage: tenant.StageBuilding,
			Other: tenant.Applied{Spec: rec.Desired.Spec(), Blueprint: tenant.Blueprint{Program: "silo"}, Generation: 2},
		}
	})(w)

	return w
}

// asking is building, and the hook was asked a moment ago.
func asking() *world {
	w := building()
	change(func(rec *tenant.Record) {
		rec.Change.Stage, rec.Change.Asked = tenant.StageCutover, true
		rec.Change.Tokens = []string{tenant.TokenDigest("an older token"), tenant.TokenDigest(hookToken)}
		rec.Change.Deadline = noon().Add(2 * time.Hour)
		rec.NotBefore = rec.Change.Deadline
	})(w)

	return w
}

// baking is a world in which enterprise serves acme and standard stands by.
func baking() *world {
	w := building()
	settle(w)
	change(func(rec *tenant.Record) {
		old := *rec.Applied
		old.Blueprint.FinalSnapshot, old.Blueprint.Protect = true, true
		rec.Applied = &tenant.Applied{
			Spec: rec.Desired.Spec(), Blueprint: tenant.Blueprint{Program: "silo", Release: "2026.3"}, Build: "v1.0.0", Generation: 2, At: noon(),
		}
		rec.Change = &tenant.Change{ID: "change-1", Stage: tenant.StageBaking, Other: old, Until: noon().Add(24 * time.Hour)}
		rec.DueAt = rec.Change.Until
	})(w)

	return w
}

// kept is baking, and an operation failed since.
func kept() *world {
	w := baking()
	w.fold(at(tenant.EventRefresh, noon(), nil))
	giveUp(w)

	return w
}

func retiring() *world {
	w := baking()
	w.fold(at(tenant.EventRetire, noon(), nil))
	change(func(rec *tenant.Record) { rec.Change.Stage = tenant.StageRetiring })(w)

	return w
}

// decoded is the one event that was sent.
func decoded(t *testing.T, w *world) tenant.Event {
	t.Helper()
	require.Len(t, w.sent, 1)

	e, err := event.NewDecoder(event.Order(w.order()), w.now).Decode(w.sent[0])
	require.NoError(t, err)

	_, changed := tenant.Apply(w.records[e.Tenant].Desired, e)
	require.True(t, changed, "it wins over what is known")

	return e
}

func TestApprove(t *testing.T) {
	t.Parallel()

	approves := func(reason string) func(t *testing.T, w *world) {
		return func(t *testing.T, w *world) {
			t.Helper()

			e := decoded(t, w)
			require.Equal(t, tenant.EventApproved, e.Type)
			require.Equal(t, stoppedID, e.Operation)
			require.Equal(t, reason, e.Reason)
		}
	}

	runCases(t, []runCase{
		{name: "what waits", sent: 1, world: stopped, args: []string{"approve", "acme", "--reason", "seen"}, check: approves("seen")},
		{name: "by name", sent: 1, world: stopped, args: []string{"approve", "acme", "--operation", stoppedID}, check: approves("")},
		{name: "as json", sent: 1, world: stopped, args: []string{"approve", "acme", "-o", "json"}, check: approves("")},
		{name: "dry run", world: stopped, args: []string{"approve", "acme", "--dry-run"}},
		{
			name: "against a clock that is ahead", sent: 1, args: []string{"approve", "acme"}, check: approves(""),
			world: with(stopped, func(w *world) {
				w.fold(at(tenant.EventApproved, noon().Add(time.Minute), func(e *tenant.Event) { e.Operation = otherToken }))
				giveUp(w)
				change(func(rec *tenant.Record) { rec.Pending.Sequence = rec.FailedSeq })(w)
			}),
		},
		{name: "another operation", code: 5, world: stopped, args: []string{"approve", "acme", "--operation", "01JQ8M7C4H8K2V5N9T3W6X0Y20"}},
		{name: "nothing", code: 5, world: withAcme, args: []string{"approve", "acme"}},
		{name: "what was approved", code: 5, world: approved, args: []string{"approve", "acme"}},
		{name: "what changed since", code: 5, world: with(stopped, another), args: []string{"approve", "acme"}},
		{
			name: "what failed since in another way", code: 5, world: with(stopped, func(w *world) { another(w); giveUp(w) }),
			args: []string{"approve", "acme"},
		},
		{name: "of a stranger", code: 4, world: stopped, args: []string{"approve", "globex"}},
		{name: "of nobody", code: 2, world: stopped, args: []string{"approve"}},
	})
}

func TestConfirm(t *testing.T) {
	t.Parallel()

	answers := func(refused bool, reason string) func(t *testing.T, w *world) {
		return func(t *testing.T, w *world) {
			t.Helper()

			e := decoded(t, w)
			require.Equal(t, tenant.EventCutoverConfirmed, e.Type)
			require.Equal(t, hookToken, e.Token)
			require.Equal(t, refused, e.Refused)
			require.Equal(t, reason, e.Reason)
		}
	}
	confirm := []string{"confirm", "acme", "--token", hookToken}
	refuse := []string{"confirm", "acme", "--token", hookToken, "--refuse", "--reason", "rows differ", "-o", "json"}

	runCases(t, []runCase{
		{name: "the data is there", sent: 1, world: asking, args: confirm, check: answers(false, "")},
		{
			name: "the data cannot follow", sent: 1, world: asking, check: answers(true, "rows differ"), args: refuse,
		},
		{
			name: "with a token from standard input", sent: 1, check: answers(false, ""), args: []string{"confirm", "acme", "--token", "-"},
			world: with(asking, func(w *world) { w.stdin = hookToken + "\n" }),
		},
		{
			name: "an answer is taken back", sent: 1, args: confirm, check: answers(false, ""),
			world: with(asking, func(w *world) {
				w.fold(at(tenant.EventCutoverConfirmed, noon().Add(time.Minute), func(e *tenant.Event) {
					e.Token, e.Refused = hookToken, true
				}))
			}),
		},
		{
			name: "once more", args: []string{"confirm", "acme", "--token", hookToken, "--id", "answer-1"},
			world: with(asking, func(w *world) {
				w.fold(at(tenant.EventCutoverConfirmed, noon(), func(e *tenant.Event) {
					e.ID, e.Source, e.Token = "answer-1", "/lessor/enqueue", hookToken
					e.Version = tenant.TimeVersion(e.Time, e.ID, e.Source)
				}))
			}),
		},
		{name: "with the wrong token", code: 5, world: asking, args: []string{"confirm", "acme", "--token", otherToken}},
		{name: "with what is no token", code: 5, world: asking, args: []string{"confirm", "acme", "--token", "abc"}},
		{name: "with no token", code: 2, world: asking, args: []string{"confirm", "acme"}},
		{name: "while it is being made", code: 5, world: building, args: confirm},
		{name: "after it serves", code: 5, world: baking, args: confirm},
		{name: "where nothing changes", code: 5, world: withAcme, args: confirm},
		{name: "of a stranger", code: 4, world: asking, args: []string{"confirm", "globex", "--token", hookToken}},
	})
}

func TestRetire(t *testing.T) {
	t.Parallel()

	retires := func(t *testing.T, w *world) {
		t.Helper()
		require.Equal(t, tenant.EventRetire, decoded(t, w).Type)
	}

	runCases(t, []runCase{
		{name: "what stands by", sent: 1, world: baking, args: []string{"retire", "acme", "--reason", "signed off"}, check: retires},
		{name: "what is kept", sent: 1, world: kept, args: []string{"retire", "acme"}, check: retires},
		{name: "once more", sent: 1, world: with(retiring, giveUp), args: []string{"retire", "acme"}, check: retires},
		{name: "dry run", world: baking, args: []string{"retire", "acme", "-n"}},
		{
			name: "with its data", sent: 1, args: []string{"retire", "acme"}, check: retires,
			world: with(baking, change(func(rec *tenant.Record) { rec.Change.Other.Blueprint.FinalSnapshot = false })),
		},
		{
			name: "what has no data", sent: 1, args: []string{"retire", "acme"}, check: retires,
			world: with(baking, change(func(rec *tenant.Record) { rec.Change.Other.Blueprint = tenant.Blueprint{Program: "pool"} })),
		},
		{name: "what is being made", code: 5, world: building, args: []string{"retire", "acme"}},
		{name: "what waits for its data", code: 5, world: asking, args: []string{"retire", "acme"}},
		{name: "nothing", code: 5, world: withAcme, args: []string{"retire", "acme"}},
		{name: "of a stranger", code: 4, world: baking, args: []string{"retire", "globex"}},
	})
}

// What a worker would find to change nothing is told before it is sent.
func TestWhatIsSoAlready(t *testing.T) {
	t.Parallel()

	runCases(t, []runCase{
		{name: "a change to the same tier", code: 5, world: withAcme, args: []string{"tier", "acme", "standard"}},
		{name: "a change to the same tier with parameters", code: 5, world: withAcme, args: []string{"tier", "acme", "standard", "--set", "a=1"}},
		{name: "a change that is on its way", code: 5, world: building, args: []string{"tier", "acme", "enterprise"}},
		{name: "a change back", sent: 1, world: baking, args: []string{"tier", "acme", "standard"}},
		{name: "a change that failed", sent: 1, world: with(building, giveUp), args: []string{"tier", "acme", "enterprise"}},
		{
			name: "a change that drops data", sent: 1, world: withAcme, args: []string{"tier", "acme", "free", "--accept-data-loss"},
			check: func(t *testing.T, w *world) {
				t.Helper()
				require.True(t, decoded(t, w).AcceptDataLoss)
			},
		},
		{name: "a change of a stranger", code: 4, args: []string{"tier", "acme", "free"}},
		{name: "a change of a deleted one", code: 4, world: withDeleted, args: []string{"tier", "acme", "standard"}},
		{
			name: "a change of a deleted one anyway", sent: 1, world: withDeleted,
			args: []string{"tier", "acme", "standard", "--allow-missing"},
		},
		{name: "resume of an active one", code: 5, world: withAcme, args: []string{"resume", "acme"}},
		{
			name: "resume of one whose resumption failed", sent: 1, args: []string{"resume", "acme"},
			world: with(withSuspended, func(w *world) { w.fold(at(tenant.EventResumed, noon(), nil)); giveUp(w) }),
		},
		{name: "suspend of a suspended one", code: 5, world: withSuspended, args: []string{"suspend", "acme"}},
		{name: "delete of a deleted one", code: 4, world: withDeleted, args: []string{"deprovision", "acme", "--yes"}},
		{
			name: "delete of one whose deletion failed", sent: 1, world: with(withDeleted, giveUp),
			args: []string{"deprovision", "acme", "--yes", "--accept-data-loss"},
		},
		{
			name: "a second creation", code: 5, world: withAcme,
			args: []string{"provision", "acme", "--tier", "standard", "--region", "eu-west-1"},
		},
		{
			name: "a creation after a deletion", sent: 1, world: withDeleted,
			args: []string{"provision", "acme", "--tier", "standard", "--region", "eu-west-1"},
		},
	})
}

// eventful is a world in which much happened to acme.
func eventful() *world {
	w := baking()
	change(func(rec *tenant.Record) {
		rec.Last.Types = map[string]int{"aws:ec2/subnet:Subnet": 6, "aws:ec2/vpc:Vpc": 1, "aws:kms/key:Key": 1, "other": 4}
		rec.Outputs = map[string]json.RawMessage{"endpoint": []byte(`"https://acme.example.com"`)}

		for i, f := range []*tenant.Failure{nil, {Kind: tenant.KindThrottled, Message: "slow \x1b[2Jdown"}, nil} {
			rec.History = tenant.Remember(rec.History, tenant.Outcome{
				OperationID: "op-" + string(rune('0'+i)), Steps: []string{"refresh", "up"}, Sequence: int64(i),
				StartedAt: noon().Add(time.Duration(i) * time.Hour), Duration: 90 * time.Second, Failure: f,
			})
		}

		rec.History = tenant.Remember(rec.History, tenant.Outcome{
			OperationID: "op-9", StartedAt: noon().Add(4 * time.Hour),
			Failure: &tenant.Failure{Kind: tenant.KindInvalid, Message: "tier: there is no tier gold"},
		})
	})(w)

	return w
}

func TestStatusOfAChange(t *testing.T) {
	t.Parallel()

	status := []string{"status", "acme"}

	runCases(t, []runCase{
		{name: "eventful", args: status, world: eventful},
		{name: "eventful as json", args: append(status, "-o", "json"), world: eventful},
		{
			name: "types as last known", args: status,
			world: with(failedOnce, change(func(rec *tenant.Record) { rec.Last.Types = map[string]int{"aws:ec2/vpc:Vpc": 1} })),
		},
		{name: "awaiting approval", args: status, world: stopped},
		{name: "awaiting approval as json", args: append(status, "-o", "json"), world: stopped},
		{name: "approved", args: status, world: approved},
		{name: "building", args: status, world: building},
		{name: "building failed and was kept", args: status, world: with(building, giveUp)},
		{name: "awaiting cutover", args: status, world: asking},
		{name: "awaiting cutover as json", args: append(status, "-o", "json"), world: asking},
		{
			name: "a hook that cannot be reached", args: status,
			world: with(asking, change(func(rec *tenant.Record) {
				rec.Change.Asked, rec.Attempts, rec.NotBefore = false, 1, noon().Add(time.Minute)
			})),
		},
		{
			name: "a hook that is late", args: status,
			world: with(asking, change(func(rec *tenant.Record) {
				rec.Change.Deadline = noon()
				rec.NotBefore = noon()
			})),
		},
		{name: "kept", args: status, world: kept},
		{name: "retiring", args: status, world: retiring},
		{name: "retiring failed", args: status, world: with(retiring, giveUp)},
		{name: "list of those that await approval", args: []string{"list", "--state", "awaiting-approval"}, world: stopped},
		{name: "list of those that await cutover", args: []string{"list", "--state", "awaiting-cutover"}, world: asking},
		{name: "list of those that failed has none that awaits approval", args: []string{"list", "--state", "failed"}, world: stopped},
	})
}

func TestWaitForAChange(t *testing.T) {
	t.Parallel()

	tests := []waitCase{
		{
			name: "a hook", args: []string{"tier", "acme", "enterprise", "--wait"}, sent: 1,
			world: with(withAcme, script(accept, running(3, 4), func(w *world) {
				w.records[acme] = asking().records[acme]
				change(func(rec *tenant.Record) { rec.DesiredSeq = 2 })(w)
			}, stay, nothing, settle)),
		},
		{
			name: "an approval", args: []string{"approve", "acme", "--wait"}, sent: 1,
			world: with(stopped, script(accept, running(3, 4), settle)),
		},
		{
			name: "a guard", args: []string{"update", "acme", "--set", "seats=1", "--wait"}, sent: 1, code: 6,
			world: with(withAcme, script(accept, func(w *world) { w.records[acme] = stopped().records[acme] })),
		},
		{
			name: "a retirement", args: []string{"retire", "acme", "--wait"}, sent: 1,
			world: with(baking, script(accept, settle)),
		},
	}

	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			waitFor(t, c)
		})
	}
}
