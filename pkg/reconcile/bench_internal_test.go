package reconcile

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func BenchmarkJudge(b *testing.B) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	work := tenant.Record{DesiredSeq: 2, AppliedSeq: 1}
	busy := work
	busy.Lease = tenant.Lease{Owner: "other", Message: "m2"}

	for _, bench := range []struct {
		name string
		rec  tenant.Record
		want verdict
	}{
		{"settled", tenant.Record{DesiredSeq: 2, AppliedSeq: 2}, verdictSettled},
		{"handed over", busy, verdictHandOver},
		{"work", work, verdictWork},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()

			for b.Loop() {
				if judge(bench.rec, "m1", false, now) != bench.want {
					b.Fatal("another verdict")
				}
			}
		})
	}
}

// Every message that is received is judged, and most find nothing to do.
func TestJudgeAllocatesNothing(t *testing.T) { //nolint:paralleltest // it counts what the process allocates
	rec := tenant.Record{DesiredSeq: 2, AppliedSeq: 1, Lease: tenant.Lease{Owner: "other", Message: "m2"}}

	require.Zero(t, testing.AllocsPerRun(100, func() { judge(rec, "m1", false, time.Time{}) }))
}
