package engine

import (
	"fmt"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/stretchr/testify/require"
)

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
			[]string{"e", "tags.f"}, []string{"c", "d"}, []string{"a", "b"},
		},
		"by names": {
			apitype.StepEventMetadata{
				Old: was, New: state(map[string]any{"size": 2, "color": "red"}, nil), Diffs: []string{"size", "owner", "color"},
			},
			[]string{"size"}, []string{"owner"}, []string{"color"},
		},
		"what is computed is no drift where an input changed": {
			apitype.StepEventMetadata{Old: was, New: state(map[string]any{"size": 2, "owner": "a"}, map[string]any{"size": 2, "status": "down"})},
			[]string{"size"}, nil, nil,
		},
		"but for want of anything else": {
			apitype.StepEventMetadata{Old: was, New: state(was.Inputs, map[string]any{"size": 1, "owner": "a", "status": "down", "zone": "a"})},
			[]string{"status"}, nil, []string{"zone"},
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
