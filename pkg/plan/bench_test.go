package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// values are as many parameters, all of the same value.
func values(n int, value string) map[string]string {
	parameters := make(map[string]string, n)
	for i := range n {
		parameters[fmt.Sprintf("setting%02d", i)] = value
	}

	return parameters
}

func BenchmarkFor(b *testing.B) {
	const few, many = 3, 64

	free := with(created("free"), values(few, `{"size":1,"zones":["a","b"]}`))
	large := with(created("free"), values(many, `{"size":1,"zones":["a","b"]}`))

	changed := with(created("free"), values(few, `{"size":1,"zones":["a","b"]}`))
	changed.Parameters["setting01"] = tenant.Field[json.RawMessage]{Value: json.RawMessage(`{"size":2,"zones":["a","b"]}`), Version: at(3)}

	up := []plan.Step{plan.StepUp}

	for _, bench := range []struct {
		name  string
		rec   tenant.Record
		steps []plan.Step
	}{
		{"first", tenant.Record{ID: "acme", Desired: free, DesiredSeq: 1}, up},
		{"settled", settled(free, free), nil},
		{"settled/64", settled(large, large), nil},
		{"settled/64/rewritten", settled(large, with(created("free"), values(many, `{"zones":["a","b"], "size":1}`))), nil},
		{"update", settled(free, changed), up},
		{"refresh", settled(free, asking(free, "refresh")), []plan.Step{plan.StepRefresh}},
		{"tier change", settled(free, created("silo")), up},
		{"deletion", settled(free, deleted(free, false)), []plan.Step{plan.StepDestroy, plan.StepRemove}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			known := catalog()

			b.ReportAllocs()

			for b.Loop() {
				p, err := plan.For(bench.rec, known, now)
				if err != nil || !slices.Equal(p.Steps, bench.steps) {
					b.Fatal(p.Steps, err)
				}
			}
		})
	}
}

// The workers' own entry: For behind the look at the clock.
func BenchmarkSchedule(b *testing.B) {
	free := with(created("free"), values(3, `{"size":1,"zones":["a","b"]}`))
	due := settled(free, asking(free, tenant.RequestDue))
	schedule := plan.Schedule{Drift: time.Hour}

	for _, bench := range []struct {
		name  string
		rec   tenant.Record
		steps []plan.Step
	}{
		{"settled", settled(free, free), nil},
		{"due", due, []plan.Step{plan.StepRefresh}},
	} {
		b.Run("For/"+bench.name, func(b *testing.B) {
			known := catalog()

			b.ReportAllocs()

			for b.Loop() {
				p, err := schedule.For(bench.rec, known, now)
				if err != nil || !slices.Equal(p.Steps, bench.steps) {
					b.Fatal(p.Steps, err)
				}
			}
		})
	}

	b.Run("NextLook", func(b *testing.B) {
		b.ReportAllocs()

		for b.Loop() {
			if schedule.NextLook("acme", time.Time{}, now).IsZero() {
				b.Fatal("there is no look")
			}
		}
	})

	b.Run("Due", func(b *testing.B) {
		b.ReportAllocs()

		for b.Loop() {
			if !plan.Due(due).IsZero() {
				b.Fatal("there is work by the clock")
			}
		}
	})
}

// A duplicate that finds its tenant settled asks for a plan and gets none: it may
// cost the spec's parameters and no more.
func TestAPlanOfASettledTenantAllocatesNoMoreThanItsSpec(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	free := with(created("free"), values(8, `{"size":1}`))
	rec, known := settled(free, free), catalog()

	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		if p, err := plan.For(rec, known, now); err != nil || len(p.Steps) > 0 {
			t.Error(p.Steps, err)
		}
	}), 4.0)
}
