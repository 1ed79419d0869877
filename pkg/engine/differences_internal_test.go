package engine

import (
	"fmt"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/auto/events"
	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// A refresh before an up tells what it found, which nobody can see afterwards. What
// the up does about it is no drift.
func TestDriftBeforeAnUp(t *testing.T) {
	t.Parallel()

	const vpc = "aws:ec2/vpc:Vpc"

	col := newCollector(plan.StepUp, 0, func(Progress) {})
	done := func(op apitype.OpType, name string, is bool, diffs ...string) {
		m := apitype.StepEventMetadata{Op: op, URN: "urn:pulumi:acme::lessor::" + vpc + "::" + name, Type: vpc, Diffs: diffs}

		m.Old = &apitype.StepEventStateMetadata{Custom: true, Inputs: map[string]any{"tags": "a"}}
		if is {
			m.New = &apitype.StepEventStateMetadata{Custom: true, Inputs: map[string]any{"tags": "b"}, Outputs: map[string]any{"state": "x"}}
		}

		col.see(events.EngineEvent{EngineEvent: apitype.EngineEvent{ResOutputsEvent: &apitype.ResOutputsEvent{Metadata: m}}})
	}

	done(apitype.OpRefresh, "gone", false)
	done(apitype.OpRefresh, "lost", false)
	done(apitype.OpRefresh, "changed", true, "tags")
	done(apitype.OpRefresh, "same", true)
	done(apitype.OpCreate, "gone", true)
	done(apitype.OpUpdate, "changed", true, "tags")
	done(apitype.OpDelete, "old", false)

	require.Equal(t, []tenant.Difference{
		{Type: vpc, Name: "gone", Action: "delete", Drift: true},
		{Type: vpc, Name: "lost", Action: "delete", Drift: true},
		{Type: vpc, Name: "changed", Action: "update", Properties: []string{"tags"}, Drift: true},
	}, col.report())
	require.Len(t, col.present, 3)
}

func TestDrift(t *testing.T) {
	t.Parallel()

	state := func(inputs, outputs map[string]any) *apitype.StepEventStateMetadata {
		return &apitype.StepEventStateMetadata{Inputs: inputs, Outputs: outputs}
	}
	was := state(map[string]any{"size": 1, "owner": "a"}, map[string]any{"size": 1, "owner": "a", "status": "up"})
	kinds := map[string]apitype.PropertyDiff{
		"a": {Kind: apitype.DiffAdd}, "b": {Kind: apitype.DiffAddReplace}, "c": {Kind: apitype.DiffDelete},
		"d": {Kind: apitype.DiffDeleteReplace}, "e": {Kind: apitype.DiffUpdate}, "tags.f": {Kind: apitype.DiffUpdateReplace},
	}

	many := map[string]apitype.PropertyDiff{}
	for i := range 60 {
		many[fmt.Sprintf("p%02d", i)] = apitype.PropertyDiff{Kind: apitype.DiffUpdate}
	}

	for name, tt := range map[string]struct {
		m                       apitype.StepEventMetadata
		changed, missing, extra []string
	}{
		"by the provider's word": {
			apitype.StepEventMetadata{Old: was, New: was, DetailedDiff: kinds},
			[]string{"e", "tags.f"},
			[]string{"c", "d"},
			[]string{"a", "b"},
		},
		"by names": {
			apitype.StepEventMetadata{
				Old: was, New: state(map[string]any{"size": 2, "color": "red"}, nil), Diffs: []string{"size", "owner", "color"},
			},
			[]string{"size"},
			[]string{"owner"},
			[]string{"color"},
		},
		"what is computed is no drift where an input changed": {
			apitype.StepEventMetadata{Old: was, New: state(map[string]any{"size": 2, "owner": "a"}, map[string]any{"size": 2, "status": "down"})},
			[]string{"size"},
			nil, nil,
		},
		"but for want of anything else": {
			apitype.StepEventMetadata{Old: was, New: state(was.Inputs, map[string]any{"size": 1, "owner": "a", "status": "down", "zone": "a"})},
			[]string{"status"},
			nil,
			[]string{"zone"},
		},
		"a resource that is gone": {apitype.StepEventMetadata{Op: apitype.OpDelete, Old: was}, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			changed, missing, extra := drift(tt.m)
			require.Equal(t, tt.changed, changed)
			require.Equal(t, tt.missing, missing)
			require.Equal(t, tt.extra, extra)
		})
	}

	changed, _, _ := drift(apitype.StepEventMetadata{Old: was, New: was, DetailedDiff: many})
	require.Len(t, changed, maxNames)
}
