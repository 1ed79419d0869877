package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func benchNow() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

func fact[T any](value T) tenant.Field[T] {
	return tenant.Field[T]{Value: value, Version: tenant.TimeVersion(benchNow(), "e1", "//signup")}
}

// benchSettlement is a success of a tenant with so many bytes of outputs, and the
// desired state that it fulfils.
func benchSettlement(outputs int) (tenant.Desired, Settlement) {
	desired := tenant.Desired{
		Existence: fact(tenant.Existence{Created: true}), Tier: fact(tenant.TierChoice{Name: "silo"}), Region: fact("eu-west-1"),
		Parameters: map[string]tenant.Field[json.RawMessage]{
			"size": fact(json.RawMessage(`"small"`)), "seats": fact(json.RawMessage(`25`)), "labels": fact(json.RawMessage(`{"team":"core"}`)),
		},
		Requests: map[tenant.RequestKind]tenant.Field[tenant.Request]{tenant.RequestRefresh: fact(tenant.Request{EventID: "e1"})},
		Floor:    tenant.TimeVersion(benchNow(), "e1", "//signup"),
	}

	spec := desired.Spec()
	s := Settlement{
		Target: 1, Round: 1, Clean: true, Outputs: map[string]json.RawMessage{},
		Applied: &tenant.Applied{
			Spec: spec, Blueprint: tenant.Blueprint{Program: "silo", Parameters: spec.Parameters, Protect: true, MaxAttempts: 5}, Generation: 1, At: benchNow(),
		},
		Stack: tenant.Stack{Project: "lessor", Name: "acme", Shard: "bucket-1", Created: true, Generation: 1},
		Outcome: tenant.Outcome{
			OperationID: "01KA", Steps: []string{"up"}, Fence: 1, Sequence: 1, StartedAt: benchNow(), Duration: time.Minute,
			Changes: map[string]int{"create": 2, "same": 20}, Resources: 22, Types: map[string]int{"aws:ec2/vpc:Vpc": 1, "aws:ec2/subnet:Subnet": 6},
		},
	}

	for range 10 {
		s.History = tenant.Remember(s.History, s.Outcome)
	}

	for i := range 16 {
		s.Outputs["output"+strconv.Itoa(i)] = fmt.Appendf(nil, `"%s"`, strings.Repeat("x", outputs/16))
	}

	return desired, s
}

// benchRow is what the table has of a tenant once that was settled.
func benchRow(tb testing.TB, outputs int) map[string]types.AttributeValue {
	tb.Helper()

	r := New(nil, Config{Table: "tenants"}, benchNow)
	desired, s := benchSettlement(outputs)

	accepted, err := r.acceptance(tenant.Record{ID: "acme"}, desired)
	require.NoError(tb, err)

	settled, err := r.settlement(Token{Owner: "worker", Fence: 1}, s, true)
	require.NoError(tb, err)

	row := Key("acme")
	maps.Copy(row, map[string]types.AttributeValue{
		"layout_version": number(LayoutVersion), "tenant_id": text("acme"), "desired_seq": number(1), "applied_seq": number(1),
		"failed_seq": number(0), "fence": number(1), "clean_fence": number(1), "work_round": number(1001), "created_at": number(1), "updated_at": number(1),
		"desired": accepted.values[":desired"], "applied": settled.values[":applied"], "outputs": settled.values[":outputs"],
		"last_outcome": settled.values[":outcome"], "history": settled.values[":history"], "stack": settled.values[":stack"],
	})

	return row
}

var benchSizes = []struct { //nolint:gochecknoglobals // a constant
	name    string
	outputs int
}{{"small", 512}, {"64KiB", 64 << 10}}

func BenchmarkDecodeRow(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(size.name, func(b *testing.B) {
			row := benchRow(b, size.outputs)

			b.ReportAllocs()

			for b.Loop() {
				if rec, err := decodeRow("acme", row); err != nil || rec.NeedsWork() {
					b.Fatal(err)
				}
			}
		})
	}
}

// What the sweep and lists read of each of many rows.
func BenchmarkDecodeSurvey(b *testing.B) {
	row := benchRow(b, benchSizes[0].outputs)
	surveyed := strings.Split(surveyProjection, ", ")

	maps.DeleteFunc(row, func(name string, _ types.AttributeValue) bool { return !slices.Contains(surveyed, name) })

	b.ReportAllocs()

	for b.Loop() {
		if rec, err := decodeRow("acme", row); err != nil || rec.NeedsWork() {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeRow(b *testing.B) {
	r := New(nil, Config{Table: "tenants"}, benchNow)

	for _, size := range benchSizes {
		b.Run("settlement/"+size.name, func(b *testing.B) {
			_, s := benchSettlement(size.outputs)

			b.ReportAllocs()

			for b.Loop() {
				if _, err := r.settlement(Token{Owner: "worker", Fence: 1}, s, true); err != nil {
					b.Fatal(err)
				}
			}
		})
	}

	b.Run("acceptance", func(b *testing.B) {
		desired, _ := benchSettlement(0)
		rec := tenant.Record{ID: "acme", DesiredSeq: 1, CreatedAt: benchNow()}

		b.ReportAllocs()

		for b.Loop() {
			if _, err := r.acceptance(rec, desired); err != nil {
				b.Fatal(err)
			}
		}
	})
}
