package engine

import (
	"maps"
	"reflect"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// maxNames bounds each list of names in a difference.
const maxNames = 50

func bounded(names []string) []string { return names[:min(len(names), maxNames)] }

// changedProperties names what differs between the old and the new state.
func changedProperties(m apitype.StepEventMetadata) []string {
	switch {
	case len(m.DetailedDiff) > 0:
		return slices.Sorted(maps.Keys(m.DetailedDiff))
	case len(m.Diffs) > 0:
		return slices.Sorted(slices.Values(m.Diffs))
	case m.Old == nil || m.New == nil:
		return nil
	default:
		return unequal(m.Old.Outputs, m.New.Outputs)
	}
}

// foundOp is what a refresh found, by the words that it has where it is a step of
// its own. Where it goes before another step the engine does not say.
func foundOp(m apitype.StepEventMetadata) apitype.OpType {
	switch {
	case m.Op != apitype.OpRefresh:
		return m.Op
	case m.New == nil:
		return apitype.OpDelete
	case len(m.DetailedDiff)+len(m.Diffs) > 0:
		return apitype.OpUpdate
	default:
		return apitype.OpSame
	}
}

// drift names the properties in which the cloud differs from the state: those
// that changed, those that are missing in the cloud, and those that are extra.
//
// The provider compares what it read with what the program last said, so that
// what AWS computes by itself is no drift. Of a provider that names no properties
// the inputs are compared, and the rest only if those are equal.
func drift(m apitype.StepEventMetadata) (changed, missing, extra []string) {
	if m.Old == nil || m.New == nil {
		return nil, nil, nil
	}

	for _, name := range drifted(m) {
		switch kindOfDrift(m, name) {
		case apitype.DiffAdd, apitype.DiffAddReplace:
			extra = append(extra, name)
		case apitype.DiffDelete, apitype.DiffDeleteReplace:
			missing = append(missing, name)
		case apitype.DiffUpdate, apitype.DiffUpdateReplace:
			changed = append(changed, name)
		}
	}

	return bounded(changed), bounded(missing), bounded(extra)
}

func drifted(m apitype.StepEventMetadata) []string {
	if len(m.DetailedDiff)+len(m.Diffs) > 0 {
		return changedProperties(m)
	}

	if names := unequal(m.Old.Inputs, m.New.Inputs); len(names) > 0 {
		return names
	}

	return unequal(m.Old.Outputs, m.New.Outputs)
}

// kindOfDrift is how a property differs, by the provider's word where it has one.
func kindOfDrift(m apitype.StepEventMetadata, name string) apitype.DiffKind {
	if d, ok := m.DetailedDiff[name]; ok {
		return d.Kind
	}

	had, has := hasProperty(m.Old, name), hasProperty(m.New, name)

	switch {
	case had && !has:
		return apitype.DiffDelete
	case !had && has:
		return apitype.DiffAdd
	default:
		return apitype.DiffUpdate
	}
}

func hasProperty(state *apitype.StepEventStateMetadata, name string) bool {
	_, given := state.Inputs[name]
	_, made := state.Outputs[name]

	return given || made
}

// unequal names what differs between two sets of properties.
func unequal(old, is map[string]any) []string {
	var names []string

	for name, was := range old {
		if now, ok := is[name]; !ok || !reflect.DeepEqual(was, now) {
			names = append(names, name)
		}
	}

	for name := range is {
		if _, was := old[name]; !was {
			names = append(names, name)
		}
	}

	slices.Sort(names)

	return names
}
