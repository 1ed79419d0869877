package chaos_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// finding is something that must not be.
type finding struct {
	check  string
	tenant string
	what   string
}

// verdict is the result of all checks.
type verdict struct {
	checked  []tally
	findings []finding
}

// tally says how many things a check looked at.
type tally struct {
	check string
	count int
}

// The checks.
const (
	checkEvents     = "no event is lost"
	checkSettled    = "settled at the newest desired state"
	checkOutputs    = "outputs are of the applied state"
	checkCloud      = "the cloud is as the program makes it"
	checkOrphans    = "every resource is in exactly one state"
	checkGhosts     = "every resource of a state exists"
	checkEmulator   = "queues and buckets of the cloud are there"
	checkStates     = "states are whole, by the plain CLI"
	checkLocks      = "no lock is left"
	checkFences     = "writes of state never go back in fence"
	checkQueue      = "the queue is empty"
	checkLetters    = "only scripted dead letters"
	checkOperations = "operations of a tenant do not overlap"
	checkProcesses  = "no process is left"
	checkFiles      = "no file is left"
	checkDrains     = "workers drain cleanly"
)

// judge looks at everything. It fails nothing by itself, so that all that is
// wrong is seen together.
func (w *world) judge() verdict {
	v := &verdict{}

	for _, check := range []struct {
		name string
		run  func(complain complainer) int
	}{
		{checkEvents, w.checkEvents},
		{checkSettled, w.checkSettled},
		{checkOutputs, w.checkOutputs},
		{checkCloud, w.checkCloud},
		{checkOrphans, w.checkOrphans},
		{checkGhosts, w.checkGhosts},
		{checkEmulator, w.checkEmulator},
		{checkStates, w.checkStates},
		{checkLocks, each(&w.locks)},
		{checkFences, w.checkFences},
		{checkQueue, w.checkQueue},
		{checkLetters, w.checkLetters},
		{checkOperations, w.checkOperations},
		{checkProcesses, each(&w.processes)},
		{checkFiles, each(&w.files)},
		{checkDrains, each(&w.unclean)},
	} {
		count := check.run(func(tenant, format string, args ...any) {
			v.findings = append(v.findings, finding{check.name, tenant, fmt.Sprintf(format, args...)})
		})

		v.checked = append(v.checked, tally{check.name, count})
	}

	return *v
}

type complainer func(tenant, format string, args ...any)

// each complains of everything in a list that should be empty.
func each(list *[]string) func(complainer) int {
	return func(complain complainer) int {
		for _, entry := range *list {
			complain(owner(entry), "%s", entry)
		}

		return len(*list)
	}
}

// owner finds the tenant whose name is part of a text.
func owner(text string) string {
	i := strings.Index(text, source+"-")
	if i < 0 {
		return ""
	}

	parts := strings.SplitN(text[i:], "-", 4)
	if len(parts) < 3 || len(parts[2]) < 2 {
		return ""
	}

	return strings.Join([]string{parts[0], parts[1], parts[2][:2]}, "-")
}

// checkEvents compares what rows say is desired with what all events that were
// sent amount to.
func (w *world) checkEvents(complain complainer) int {
	for _, s := range w.subjects {
		// The fleet itself asks for what is due.
		is := w.rows[s.id].Desired
		is.Requests = maps.Clone(is.Requests)
		delete(is.Requests, tenant.RequestDue)

		if want, have := text(s.desired), text(is); want != have {
			complain(string(s.id), "desired is %s, and should be %s", have, want)
		}
	}

	for id := range w.rows {
		if w.subject(id) == nil {
			complain(string(id), "nobody ever spoke of this tenant")
		}
	}

	return len(w.subjects)
}

func (w *world) subject(id tenant.ID) *subject {
	i := slices.IndexFunc(w.subjects, func(s *subject) bool { return s.id == id })
	if i < 0 {
		return nil
	}

	return w.subjects[i]
}

// text makes values comparable, whatever the order and form of their JSON.
func text(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}

	var plain any
	if err := json.Unmarshal(raw, &plain); err != nil {
		return err.Error()
	}

	raw, _ = json.Marshal(plain)

	return string(raw)
}

func (w *world) checkSettled(complain complainer) int {
	for _, s := range w.subjects {
		if what := unsettled(*s, w.rows[s.id]); what != "" {
			complain(string(s.id), "%s", what)
		}
	}

	return len(w.subjects)
}

func unsettled(s subject, rec tenant.Record) string {
	want := s.desired.Spec()

	switch {
	case rec.NeedsWork():
		return fmt.Sprintf("desired_seq is %d, applied_seq %d, failed_seq %d", rec.DesiredSeq, rec.AppliedSeq, rec.FailedSeq)
	case rec.Lease.Owner != "":
		return "its lease is held by " + rec.Lease.Owner
	case rec.FailedSeq == rec.DesiredSeq && rec.FailedSeq > rec.AppliedSeq:
		if rec.Last == nil || rec.Last.Failure == nil {
			return "it failed, and nothing says why"
		}

		if !slices.Contains(s.excuses(), rec.Last.Failure.Kind) {
			return fmt.Sprintf("it failed, which was not scripted: %v", rec.Last.Failure)
		}

		return ""
	case rec.AppliedSeq != rec.DesiredSeq:
		return fmt.Sprintf("applied_seq is %d and desired_seq %d", rec.AppliedSeq, rec.DesiredSeq)
	case rec.Applied == nil:
		return "nothing is applied"
	case changing(rec):
		return "its tier change is left at " + string(rec.Change.Stage)
	case rec.Applied.Spec.Phase != want.Phase:
		return fmt.Sprintf("it is %s and should be %s", rec.Applied.Spec.Phase, want.Phase)
	case want.Phase != tenant.PhaseAbsent && text(rec.Applied.Spec) != text(want):
		return fmt.Sprintf("applied is %s and should be %s", text(rec.Applied.Spec), text(want))
	}

	for kind, request := range s.desired.Requests {
		if request.Version.After(rec.Applied.Requests[kind]) {
			return fmt.Sprintf("the newest request of kind %s was not served", kind)
		}
	}

	return ""
}

// changing reports a tier change that must still come to its end. One of a tenant
// that failed waits for people.
func changing(rec tenant.Record) bool { return rec.Change != nil && rec.FailedSeq <= rec.AppliedSeq }

// tiersOf are those of all topologies that stand.
func tiersOf(rec tenant.Record) []string {
	if !stands(rec) {
		return nil
	}

	tiers := []string{rec.Applied.Spec.Tier}
	if rec.Change != nil {
		tiers = append(tiers, rec.Change.Other.Spec.Tier)
	}

	return tiers
}

// stands reports whether the tenant has infrastructure, by its row.
func stands(rec tenant.Record) bool {
	return rec.Applied != nil && rec.Applied.Spec.Phase != tenant.PhaseAbsent
}

func (w *world) checkOutputs(complain complainer) int {
	count := 0

	for id, rec := range w.rows {
		if !stands(rec) {
			continue
		}

		count++

		spec := rec.Applied.Spec
		if have, want := string(rec.Outputs[outputServing]), strconv.FormatBool(spec.Phase != tenant.PhaseSuspended); have != want {
			complain(string(id), "output %s is %s and should be %s", outputServing, have, want)
		}

		for output, parameter := range map[string]string{outputNote: parameterNote, parameterEndpoint: parameterEndpoint} {
			have, there := rec.Outputs[output]
			if want := spec.Parameters[parameter]; there && want != nil && text(have) != text(want) {
				complain(string(id), "output %s is %s and should be %s", output, have, want)
			}
		}
	}

	return count
}

// checkCloud compares what stands in the cloud with what the programs make.
func (w *world) checkCloud(complain complainer) int {
	for id, rec := range w.rows {
		have := map[string]int{}

		for _, r := range w.cloud {
			if r.Tenant() != string(id) || w.kept(r) {
				continue
			}

			have[r.Type]++

			if !stands(rec) {
				continue
			}

			if want := tiersOf(rec); !slices.Contains(want, r.Tags["tier"]) {
				complain(string(id), "%s %s has the tier %q and should have one of %q", r.Type, r.ID, r.Tags["tier"], want)
			}

			note := ""
			_ = json.Unmarshal(rec.Applied.Spec.Parameters[parameterNote], &note)

			serves := r.Tags["tier"] == rec.Applied.Spec.Tier
			if marked, ok := r.Tags[tagNote]; ok && serves && marked != note {
				complain(string(id), "%s %s has the note %q and should have %q", r.Type, r.ID, marked, note)
			}
		}

		if want := wanted(rec); !maps.Equal(have, want) {
			complain(string(id), "the cloud has %v and should have %v", have, want)
		}
	}

	return len(w.cloud)
}

// wanted counts the tagged resources that a tenant's program makes.
func wanted(rec tenant.Record) map[string]int {
	all := map[string]int{}

	for _, tier := range tiersOf(rec) {
		for kind, n := range wantedOf(tier) {
			all[kind] += n
		}
	}

	return all
}

func wantedOf(tier string) map[string]int {
	switch tier {
	case tierSmall, tierLarge, tierDoomed:
		return map[string]int{
			cloudsim.TypeVPC: 1, cloudsim.TypeSubnet: subnetsOf(tier), cloudsim.TypeBucket: 1, cloudsim.TypeQueue: 1,
		}
	case tierSilo:
		return map[string]int{
			cloudsim.TypeVPC: 1, cloudsim.TypeSubnet: subnetsOf(tier), cloudsim.TypeSecurityGroup: 2,
			cloudsim.TypeSubnetGroup: 1, cloudsim.TypeInstance: 1, cloudsim.TypeKey: 1, cloudsim.TypeLogGroup: 1,
			cloudsim.TypeCluster: 1, cloudsim.TypeLoadBalancer: 1, cloudsim.TypeListener: 1,
		}
	default:
		return map[string]int{}
	}
}

// kept reports that a resource outlives its tenant on purpose: a final snapshot,
// and the key and alias without which nobody could read it.
func (w *world) kept(r cloudsim.Resource) bool {
	if r.Type == cloudsim.TypeSnapshot {
		return true
	}

	key := ""

	switch r.Type {
	case cloudsim.TypeKey:
		key = r.ID
	case cloudsim.TypeAlias:
		key = r.Text("targetKeyId")
	default:
		return false
	}

	if w.inState(r) > 0 {
		return false
	}

	return slices.ContainsFunc(w.cloud, func(s cloudsim.Resource) bool {
		return s.Type == cloudsim.TypeSnapshot && key != "" && strings.Contains(s.Text("kmsKeyId"), key)
	})
}

// inState counts the states that a resource is in.
func (w *world) inState(r cloudsim.Resource) int {
	n := 0

	for _, s := range w.stacks {
		for _, known := range s.resources {
			n += count(known.Type == r.Type && known.ID == r.ID)
		}
	}

	return n
}

func (w *world) checkOrphans(complain complainer) int {
	for _, r := range w.cloud {
		switch n := w.inState(r); {
		case n == 0 && !w.kept(r):
			complain(r.Tenant(), "orphan: %s %s is in no state", r.Type, r.ID)
		case n > 1:
			complain(r.Tenant(), "%s %s is in %d states", r.Type, r.ID, n)
		}
	}

	return len(w.cloud)
}

func (w *world) checkGhosts(complain complainer) int {
	n := 0
	there := map[string]bool{}

	for _, r := range w.cloud {
		there[placeOf(r.Type, r.ID)] = true
	}

	for _, s := range w.stacks {
		for _, r := range s.resources {
			n++

			if !there[placeOf(r.Type, r.ID)] {
				complain(s.name, "ghost: %s %s is in the state and does not exist", r.Type, r.ID)
			}
		}
	}

	return n
}

// checkEmulator looks for the other half of what the simulator lists. What is in
// the emulator alone is no resource: a plugin died between the two.
func (w *world) checkEmulator(complain complainer) int {
	var listed []string

	for _, r := range w.cloud {
		if r.Type == cloudsim.TypeBucket || r.Type == cloudsim.TypeQueue {
			listed = append(listed, placeOf(r.Type, r.ID[strings.LastIndexByte(r.ID, '/')+1:]))
		}
	}

	for _, name := range listed {
		if !slices.Contains(w.emulated, name) {
			complain(owner(name), "ghost: %s is not in the emulator", name)
		}
	}

	return len(listed)
}

func (w *world) checkStates(complain complainer) int {
	known := map[string]bool{}

	for _, s := range w.stacks {
		known[s.key] = true

		if s.trouble != "" {
			complain(s.name, "%s", s.trouble)
		}

		for _, p := range s.pending {
			complain(s.name, "pending: %s", p)
		}
	}

	for id, rec := range w.rows {
		key := rec.Stack.Shard + "/" + stackPrefix + rec.Stack.Project + "/" + rec.Stack.Name + ".json"
		if rec.Stack.Created && !known[key] {
			complain(string(id), "the row knows a stack that has no checkpoint")
		}
	}

	return len(w.stacks)
}

// checkFences reads the journal of the writes of each checkpoint.
func (w *world) checkFences(complain complainer) int {
	n := 0

	for key, writes := range w.journal {
		name := strings.TrimSuffix(key[strings.LastIndexByte(key, '/')+1:], ".json")
		gone := map[string]bool{}
		last := write{}

		for _, next := range writes {
			n++

			switch {
			case next.removed:
				complain(name, "the checkpoint was removed, so that an old write could bring it back")
			case !next.stamped:
				complain(name, "a write at %s carries no fence", next.at.Format(clock))
			case next.fence < last.fence:
				complain(name, "a write under fence %d at %s came after one under %d", next.fence, next.at.Format(clock), last.fence)
			case gone[next.operation]:
				complain(name, "operation %s wrote again at %s, after another had", next.operation, next.at.Format(clock))
			}

			if last.operation != "" && next.operation != last.operation {
				gone[last.operation] = true
			}

			last = next
		}

		if newest, ok := w.newest[key]; ok && last.etag != newest {
			complain(name, "the bucket has another checkpoint than the last that was written")
		}
	}

	return n
}

const clock = "15:04:05.000"

func (w *world) checkQueue(complain complainer) int {
	if w.queued != 0 {
		complain("", "%d messages are left", w.queued)
	}

	return w.queued
}

func (w *world) checkLetters(complain complainer) int {
	left := slices.Clone(w.scripted)

	for _, letter := range w.letters {
		if i := slices.Index(left, letter); i >= 0 {
			left = slices.Delete(left, i, i+1)

			continue
		}

		// A worker that died between the copy and the deletion made it twice.
		if !slices.Contains(w.scripted, letter) {
			complain(owner(letter), "not scripted: %s", letter)
		}
	}

	for _, missing := range left {
		complain("", "an invalid message is not there: %s", missing)
	}

	return len(w.letters)
}

// checkOperations finds operations of one tenant at one time. One that nobody
// lived to tell the end of counts as ended when its lease was: the next one
// must have a higher fence.
func (w *world) checkOperations(complain complainer) int {
	last := map[string]operation{}

	for _, op := range w.operations {
		before, ok := last[op.tenant]
		last[op.tenant] = op

		switch {
		case !ok:
		case op.fence < before.fence:
			complain(op.tenant, "operation %s under fence %d began after %s under %d", op.id, op.fence, before.id, before.fence)
		case before.kind == "?" && op.fence == before.fence:
			complain(op.tenant, "operation %s began under the fence of %s, which had not ended", op.id, before.id)
		case before.end.After(op.start) && before.fence == op.fence:
			complain(op.tenant, "operations %s and %s overlap under one fence", before.id, op.id)
		case before.end.After(op.start) && before.kind != string(tenant.KindLeaseLost) && !w.slept(before):
			complain(op.tenant, "operation %s of worker %d ended with %q at %s, after %s had begun",
				before.id, before.worker, before.kind, before.end.Format(clock), op.id)
		}
	}

	return len(w.operations)
}

// slept reports that the worker was frozen while it had the operation: it may
// have logged afterwards what had ended before.
func (w *world) slept(op operation) bool {
	return slices.ContainsFunc(w.freezes, func(f freeze) bool {
		return f.worker == op.worker && f.from.Before(op.end) && f.to.After(op.start)
	})
}
