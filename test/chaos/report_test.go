package chaos_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// summary says what was done and what found nobody to hit.
func (i *injector) summary() string {
	i.mu.Lock()
	defer i.mu.Unlock()

	done, missed := 0, 0
	for _, n := range i.done {
		done += n
	}

	for _, n := range i.missed {
		missed += n
	}

	return fmt.Sprintf("%d troubles made, %d found nobody to hit", done, missed)
}

// report prints what happened and what was checked, and fails the test if
// anything is wrong.
func (r *run) report(w *world, v verdict) {
	r.t.Helper()

	r.sayf("survived:%s", table(r.survived(w)))
	r.sayf("checked:%s", table(v.rows()))

	if len(v.findings) == 0 {
		return
	}

	var b strings.Builder

	fmt.Fprintf(&b, "%d findings with seed %d; again with: CHAOS_FOR=%s CHAOS_SEED=%d make chaos\n",
		len(v.findings), r.seed, r.duration, r.seed)

	for _, line := range v.brief() {
		fmt.Fprintf(&b, "  %s\n", line)
	}

	for _, id := range v.tenants() {
		fmt.Fprintf(&b, "the last of %s:\n%s", id, r.history(w, id))
	}

	r.t.Error(b.String())
}

// survived counts the troubles, and how the fleet took them.
func (r *run) survived(w *world) [][2]string {
	var rows [][2]string

	add := func(what, format string, args ...any) {
		rows = append(rows, [2]string{what, fmt.Sprintf(format, args...)})
	}

	struck := r.front.counts()

	for _, what := range troubles() {
		line := strconv.Itoa(r.injector.done[what])
		if n := struck[string(what)]; n > 0 {
			line += fmt.Sprintf(" (%d requests)", n)
		}

		if n := r.injector.missed[what]; n > 0 {
			line += fmt.Sprintf(", %d hit nobody", n)
		}

		add(string(what), "%s", line)
	}

	copied, late := 0, 0
	for _, d := range r.flow.deliveries {
		copied += count(d.copied)
		late += count(d.late && !d.copied)
	}

	add("duplicates", "%d", copied)
	add("late events", "%d", late)
	add("workers started", "%d", r.fleet.started)

	kinds, repairs, orphans := map[string]int{}, map[string]int{}, 0

	for _, op := range w.operations {
		switch op.kind {
		case "":
			kinds["succeeded"]++
		case "?":
			kinds["nobody lived to tell"]++
		default:
			kinds[op.kind]++
		}
	}

	for _, rec := range w.rows {
		if rec.Last == nil {
			continue
		}

		orphans += len(rec.Last.Orphans)

		for _, repair := range rec.Last.Repairs {
			repairs[string(repair.Action)]++
		}
	}

	add("operations", "%d: %s", len(w.operations), counted(kinds))
	add("take-overs", "%d", r.logged("took over the lease of a dead worker"))
	add("leases lost", "%d", r.logged("lost the lease; nothing more is written"))
	add("repairs (of last operations)", "%s", counted(repairs))
	add("orphans (of last operations)", "%d", orphans)

	return rows
}

// logged counts a message in all logs.
func (r *run) logged(message string) int {
	n := 0

	for _, worker := range r.fleet.workers {
		_ = eachLine(r.fleet.logs, worker.number, func(l line, _ string) { n += count(l.Message == message) })
	}

	return n
}

func counted(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, counts[name]))
	}

	if len(parts) == 0 {
		return "none"
	}

	return strings.Join(parts, ", ")
}

func (v verdict) rows() [][2]string {
	rows := make([][2]string, 0, len(v.checked))

	for _, c := range v.checked {
		wrong := 0
		for _, f := range v.findings {
			wrong += count(f.check == c.check)
		}

		result := "ok"
		if wrong > 0 {
			result = fmt.Sprintf("%d WRONG", wrong)
		}

		rows = append(rows, [2]string{c.check, fmt.Sprintf("%4d  %s", c.count, result)})
	}

	return rows
}

// brief are the findings, of each check a few for each tenant.
func (v verdict) brief() []string {
	const limit = 3

	var lines []string

	seen := map[[2]string]int{}

	for _, f := range v.findings {
		of := [2]string{f.check, f.tenant}
		seen[of]++

		if seen[of] <= limit {
			lines = append(lines, fmt.Sprintf("%s: %s: %s", f.check, f.tenant, f.what))
		}
	}

	for of, n := range seen {
		if n > limit {
			lines = append(lines, fmt.Sprintf("%s: %s: and %d more", of[0], of[1], n-limit))
		}
	}

	return lines
}

// tenants are those of the findings, a few of them.
func (v verdict) tenants() []string {
	const limit = 5

	var ids []string

	for _, f := range v.findings {
		if f.tenant != "" && !slices.Contains(ids, f.tenant) && len(ids) < limit {
			ids = append(ids, f.tenant)
		}
	}

	return ids
}

func table(rows [][2]string) string {
	var b strings.Builder

	for _, row := range rows {
		fmt.Fprintf(&b, "\n    %-44s %s", row[0], row[1])
	}

	return b.String()
}

// history is the end of what all workers say of a tenant, with its row and the
// writes of its state.
func (r *run) history(w *world, id string) string {
	const tail = 40

	type entry struct {
		at  time.Time
		raw string
	}

	var entries []entry

	for _, worker := range r.fleet.workers {
		_ = eachLine(r.fleet.logs, worker.number, func(l line, raw string) {
			if l.Tenant == id {
				entries = append(entries, entry{l.Time, fmt.Sprintf("worker %d: %s", worker.number, raw)})
			}
		})
	}

	for key, writes := range w.journal {
		if !strings.HasSuffix(key, "/"+id+".json") {
			continue
		}

		for _, x := range writes {
			entries = append(entries, entry{x.at, fmt.Sprintf("%s state written: fence %d operation %s write %d removed %t",
				x.at.Format(clock), x.fence, x.operation, x.number, x.removed)})
		}
	}

	slices.SortStableFunc(entries, func(a, b entry) int { return a.at.Compare(b.at) })

	var b strings.Builder

	for _, e := range entries[max(0, len(entries)-tail):] {
		fmt.Fprintf(&b, "    %s\n", e.raw)
	}

	rec := w.rows[tenant.ID(id)]
	fmt.Fprintf(&b, "    row: desired %d applied %d failed %d fence %d clean %d attempts %d lease %+v applied %s last %s\n",
		rec.DesiredSeq, rec.AppliedSeq, rec.FailedSeq, rec.Fence, rec.CleanFence, rec.Attempts, rec.Lease, text(rec.Applied), text(rec.Last))

	return b.String()
}
