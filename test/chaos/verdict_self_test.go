package chaos_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	mover  = tenant.ID("chaos-mover-03")
	pooled = tenant.ID("chaos-pool-09")
	doomed = tenant.ID("chaos-doomed-02")
	silo   = tenant.ID("chaos-silo-00")
)

// goodWorld is a made-up world in which everything is as it should be: a tenant
// with resources, one without, one that failed as the script has it, and one
// that is gone with a final snapshot.
func goodWorld() *world {
	at := time.Unix(1_700_000_000, 0).UTC()
	w := &world{rows: map[tenant.ID]tenant.Record{}, journal: map[string][]write{}, newest: map[string]string{}}

	tell := func(id tenant.ID, kind life, events ...tenant.Event) tenant.Record {
		s := &subject{id: id, life: kind}

		for i, e := range events {
			e.Tenant, e.Version = id, tenant.TimeVersion(at.Add(time.Duration(i)*time.Second), string(id), source)
			s.desired, _ = tenant.Apply(s.desired, e)
		}

		w.subjects = append(w.subjects, s)
		seq := int64(len(events))

		return tenant.Record{
			ID: id, Desired: s.desired, DesiredSeq: seq, AppliedSeq: seq, CreatedAt: at,
			Applied: &tenant.Applied{Spec: s.desired.Spec(), Requests: map[tenant.RequestKind]tenant.Version{}},
			Outputs: map[string]json.RawMessage{outputServing: json.RawMessage("true")},
			Stack:   tenant.Stack{Project: "lessor", Name: string(id), Shard: "shard", Created: true},
		}
	}
	keep := func(rec tenant.Record, resources ...stateResource) {
		w.rows[rec.ID] = rec
		key := "shard/.pulumi/stacks/lessor/" + string(rec.ID) + ".json"
		w.stacks = append(w.stacks, stack{shard: "shard", project: "lessor", name: string(rec.ID), key: key, resources: resources})
		w.journal[key] = []write{
			{fence: 1, operation: "a", number: 1, stamped: true, etag: "1"},
			{fence: 2, operation: "b", number: 1, stamped: true, etag: "2"},
			{fence: 2, operation: "b", number: 2, stamped: true, etag: "3"},
		}
		w.newest[key] = "3"
	}
	note := tenant.Parameters{parameterNote: json.RawMessage(`"n1"`)}

	moved := tell(mover, lifeMover,
		tenant.Event{Type: tenant.EventCreated, Tier: tierSmall, Region: region, Parameters: note},
		tenant.Event{Type: tenant.EventReprovision, ID: "again"})
	moved.Outputs[outputNote] = json.RawMessage(`"n1"`)
	moved.Applied.Requests[tenant.RequestReprovision] = moved.Desired.Requests[tenant.RequestReprovision].Version

	made := map[string]string{
		cloudsim.TypeVPC: "vpc-1", cloudsim.TypeSubnet: "subnet-1",
		cloudsim.TypeBucket: "chaos-mover-03-t1-data", cloudsim.TypeQueue: "http://127.0.0.1:1/000000000000/chaos-mover-03-t1-jobs",
	}
	resources := make([]stateResource, 0, len(made))

	for kind, id := range made {
		resources = append(resources, stateResource{URN: "urn:" + id, Type: kind, ID: id, Custom: true})
		w.cloud = append(w.cloud, cloudsim.Resource{
			Type: kind, ID: id, Tags: map[string]string{cloudsim.TagTenant: string(mover), "tier": tierSmall, tagNote: "n1"},
		})
	}

	w.emulated = []string{
		placeOf(cloudsim.TypeBucket, "chaos-mover-03-t1-data"), placeOf(cloudsim.TypeQueue, "chaos-mover-03-t1-jobs"),
	}

	keep(moved, resources...)

	endpoint := tenant.Parameters{parameterEndpoint: json.RawMessage(`"e1.example.com"`)}
	pool := tell(pooled, lifePool,
		tenant.Event{Type: tenant.EventCreated, Tier: tierFree, Region: region, Parameters: endpoint},
		tenant.Event{Type: tenant.EventSuspended})
	pool.Outputs = map[string]json.RawMessage{
		outputServing: json.RawMessage("false"), parameterEndpoint: json.RawMessage(`"e1.example.com"`),
	}

	keep(pool)

	failed := tell(doomed, lifeDoomed, tenant.Event{Type: tenant.EventCreated, Tier: tierDoomed, Region: region})
	failed.Applied, failed.AppliedSeq, failed.FailedSeq = nil, 0, failed.DesiredSeq
	failed.Last = &tenant.Outcome{Failure: &tenant.Failure{Kind: tenant.KindDenied}}

	keep(failed)

	gone := tell(silo, lifeSilo,
		tenant.Event{Type: tenant.EventCreated, Tier: tierSilo, Region: region}, tenant.Event{Type: tenant.EventDeleted})
	keep(gone)

	tags := map[string]string{cloudsim.TagTenant: string(silo)}

	w.cloud = append(w.cloud,
		cloudsim.Resource{Type: cloudsim.TypeSnapshot, ID: "final", Inputs: map[string]any{"kmsKeyId": "arn:key/k-1"}},
		cloudsim.Resource{Type: cloudsim.TypeKey, ID: "k-1", Tags: tags},
		cloudsim.Resource{Type: cloudsim.TypeAlias, ID: "alias/chaos-silo-00-t1-key", Inputs: map[string]any{"targetKeyId": "k-1"}})

	w.letters, w.scripted = []string{"{bad", "{bad"}, []string{"{bad"}

	second := func(n int) time.Time { return at.Add(time.Duration(n) * time.Second) }
	w.operations = []operation{
		{tenant: string(mover), id: "a", fence: 1, worker: 1, start: second(0), kind: "?"},
		{tenant: string(mover), id: "b", fence: 2, worker: 2, start: second(20), end: second(22)},
		{tenant: string(mover), id: "c", fence: 3, worker: 2, start: second(30), end: second(70), kind: "lease-lost"},
		{tenant: string(mover), id: "d", fence: 4, worker: 3, start: second(60), end: second(62)},
	}

	return w
}

func TestAGoodWorldIsGood(t *testing.T) {
	t.Parallel()

	v := goodWorld().judge()
	require.Empty(t, v.findings)
	require.Len(t, v.checked, 16)
}

// Whatever is wrong is found, by the check that is for it, and by no other that
// does not have to see it too.
func TestTheCheckerFindsWhatIsWrong(t *testing.T) {
	t.Parallel()

	row := func(w *world, id tenant.ID, change func(*tenant.Record)) {
		rec := w.rows[id]
		change(&rec)
		w.rows[id] = rec
	}
	key := "shard/.pulumi/stacks/lessor/" + string(mover) + ".json"
	moverStack := func(w *world) *stack {
		return &w.stacks[slices.IndexFunc(w.stacks, func(s stack) bool { return s.name == string(mover) })]
	}
	resource := func(w *world, kind string) *cloudsim.Resource {
		return &w.cloud[slices.IndexFunc(w.cloud, func(r cloudsim.Resource) bool { return r.Type == kind })]
	}

	for name, tt := range map[string]struct {
		spoil func(w *world)
		// also are the checks that must see it besides the first.
		checks []string
		tenant tenant.ID
	}{
		"a lost event": {func(w *world) {
			e := tenant.Event{Type: tenant.EventResumed, Version: tenant.Version{N: 1 << 62}}
			w.subjects[1].desired, _ = tenant.Apply(w.subjects[1].desired, e)
		}, []string{checkEvents, checkSettled}, pooled},
		"a tenant without a row":         {func(w *world) { delete(w.rows, pooled) }, []string{checkEvents, checkSettled}, pooled},
		"a stranger":                     {func(w *world) { row(w, "chaos-pool-99", func(*tenant.Record) {}) }, []string{checkEvents}, "chaos-pool-99"},
		"work left":                      {func(w *world) { row(w, mover, func(r *tenant.Record) { r.AppliedSeq-- }) }, []string{checkSettled}, mover},
		"a lease left":                   {func(w *world) { row(w, mover, func(r *tenant.Record) { r.Lease.Owner = "w" }) }, []string{checkSettled}, mover},
		"a failure that nobody scripted": {func(w *world) { w.rows[mover] = failedAs(w.rows[mover], tenant.KindUnknown) }, []string{checkSettled}, mover},
		"a failure of another kind": {func(w *world) {
			row(w, doomed, func(r *tenant.Record) { r.Last = &tenant.Outcome{Failure: &tenant.Failure{Kind: tenant.KindMemory}} })
		}, []string{checkSettled}, doomed},
		"a wrong spec": {func(w *world) {
			row(w, pooled, func(r *tenant.Record) {
				applied := *r.Applied
				applied.Spec.Phase = tenant.PhaseActive
				r.Applied = &applied
			})
		}, []string{checkSettled, checkOutputs}, pooled},
		"a request that was not served": {func(w *world) {
			row(w, mover, func(r *tenant.Record) { r.Applied = &tenant.Applied{Spec: r.Applied.Spec} })
		}, []string{checkSettled}, mover},
		"an old output": {func(w *world) {
			row(w, pooled, func(r *tenant.Record) { r.Outputs[parameterEndpoint] = json.RawMessage(`"e0.example.com"`) })
		}, []string{checkOutputs}, pooled},
		"an old tag":  {func(w *world) { resource(w, cloudsim.TypeVPC).Tags[tagNote] = "n0" }, []string{checkCloud}, mover},
		"an old tier": {func(w *world) { resource(w, cloudsim.TypeQueue).Tags["tier"] = tierLarge }, []string{checkCloud}, mover},
		"an orphan": {func(w *world) {
			w.cloud = append(w.cloud, cloudsim.Resource{Type: cloudsim.TypeVPC, ID: "vpc-2", Tags: resource(w, cloudsim.TypeVPC).Tags})
		}, []string{checkCloud, checkOrphans}, mover},
		"an orphan of one that is gone": {func(w *world) {
			w.cloud = append(w.cloud, cloudsim.Resource{Type: cloudsim.TypeVPC, ID: "vpc-3", Tags: map[string]string{cloudsim.TagTenant: string(silo)}})
		}, []string{checkCloud, checkOrphans}, silo},
		"a key that no snapshot needs": {func(w *world) {
			w.cloud = append(w.cloud, cloudsim.Resource{Type: cloudsim.TypeKey, ID: "k-2", Tags: map[string]string{cloudsim.TagTenant: string(silo)}})
		}, []string{checkCloud, checkOrphans}, silo},
		"a ghost": {func(w *world) {
			s := moverStack(w)
			s.resources = append(s.resources, stateResource{Type: cloudsim.TypeVPC, ID: "vpc-9", Custom: true})
		}, []string{checkGhosts}, mover},
		"a resource in two states": {func(w *world) {
			w.stacks[1].resources = append(w.stacks[1].resources, moverStack(w).resources[0])
		}, []string{checkOrphans}, mover},
		"a queue that is not in the emulator": {func(w *world) { w.emulated = w.emulated[:1] }, []string{checkEmulator}, mover},
		"a state that the CLI refuses":        {func(w *world) { moverStack(w).complainf("snapshot integrity failure") }, []string{checkStates}, mover},
		"a pending operation":                 {func(w *world) { moverStack(w).pending = []string{"creating urn:x"} }, []string{checkStates}, mover},
		"a state that is not there": {func(w *world) {
			w.stacks = slices.DeleteFunc(w.stacks, func(s stack) bool { return s.name == string(pooled) })
		}, []string{checkStates}, pooled},
		"a lock":                  {func(w *world) { w.locks = []string{"shard/.pulumi/locks/organization/lessor/chaos-mover-03/x.json"} }, []string{checkLocks}, mover},
		"a write of an old fence": {func(w *world) { w.journal[key][2].fence = 1 }, []string{checkFences}, mover},
		"a write of an operation that another followed": {func(w *world) { w.journal[key][2].operation = "a" }, []string{checkFences}, mover},
		"a write without a fence":                       {func(w *world) { w.journal[key][1].stamped = false }, []string{checkFences}, mover},
		"a checkpoint that was removed":                 {func(w *world) { w.journal[key][1].removed = true }, []string{checkFences}, mover},
		"a write that nobody saw":                       {func(w *world) { w.newest[key] = "4" }, []string{checkFences}, mover},
		"a message left":                                {func(w *world) { w.queued = 1 }, []string{checkQueue}, ""},
		"an event in the dead-letter queue":             {func(w *world) { w.letters = append(w.letters, `{"subject":"chaos-mover-03"}`) }, []string{checkLetters}, mover},
		"a lost dead letter":                            {func(w *world) { w.letters = nil }, []string{checkLetters}, ""},
		"two operations at once":                        {func(w *world) { w.operations[1].end = w.operations[2].start.Add(1) }, []string{checkOperations}, mover},
		"two operations under one fence": {func(w *world) {
			w.operations[3].fence = 3
		}, []string{checkOperations}, mover},
		"a fence that goes back":       {func(w *world) { w.operations[3].fence = 2 }, []string{checkOperations}, mover},
		"a successor without a fence":  {func(w *world) { w.operations[1].fence = 1 }, []string{checkOperations}, mover},
		"a process":                    {func(w *world) { w.processes = []string{"1 (S) pulumi"} }, []string{checkProcesses}, ""},
		"a file":                       {func(w *world) { w.files = []string{"/w0/slot-0/tmp/x"} }, []string{checkFiles}, ""},
		"a worker that does not drain": {func(w *world) { w.unclean = []string{"worker 1"} }, []string{checkDrains}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			w := goodWorld()
			tt.spoil(w)

			var checks []string

			for _, f := range w.judge().findings {
				require.Equal(t, string(tt.tenant), f.tenant, "%+v", f)

				if !slices.Contains(checks, f.check) {
					checks = append(checks, f.check)
				}
			}

			require.ElementsMatch(t, tt.checks, checks)
		})
	}
}

// A worker that was frozen between the end of an operation and its log tells
// of it late.
func TestAFrozenWorkerMayTellLate(t *testing.T) {
	t.Parallel()

	w := goodWorld()
	w.operations[1].end = w.operations[2].start.Add(time.Second)
	require.NotEmpty(t, w.judge().findings)

	w.freezes = []freeze{{worker: 2, from: w.operations[1].start, to: w.operations[1].end}}
	require.Empty(t, w.judge().findings)
}

func failedAs(rec tenant.Record, kind tenant.Kind) tenant.Record {
	rec.FailedSeq, rec.AppliedSeq = rec.DesiredSeq, rec.DesiredSeq-1
	rec.Last = &tenant.Outcome{Failure: &tenant.Failure{Kind: kind}}

	return rec
}
