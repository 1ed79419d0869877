package awsplugin

import (
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
)

// diff says which inputs changed and what follows from that.
func (t *resourceType) diff(olds, news resource.PropertyMap) *pulumirpc.DiffResponse {
	response := &pulumirpc.DiffResponse{
		Changes: pulumirpc.DiffResponse_DIFF_NONE, HasDetailedDiff: true, DetailedDiff: map[string]*pulumirpc.PropertyDiff{},
	}

	for _, name := range slices.Sorted(maps.Keys(t.inputs)) {
		key := resource.PropertyKey(name)
		old, had := olds[key]
		now, has := news[key]
		p := t.inputs[name]

		// What AWS chose stays when the program no longer says it.
		if had && !has && p.computed || !had && !has || had && has && same(old, now) {
			continue
		}

		response.Changes = pulumirpc.DiffResponse_DIFF_SOME
		response.Diffs = append(response.Diffs, name)
		response.DetailedDiff[name] = &pulumirpc.PropertyDiff{Kind: kindOf(had, has, p.replace), InputDiff: true}

		if p.replace {
			response.Replaces = append(response.Replaces, name)
		}
	}

	// A name that stays must be given up before it is taken again.
	if key := resource.PropertyKey(t.name.property); len(response.GetReplaces()) > 0 && key != "" {
		response.DeleteBeforeReplace = same(olds[key], news[key])
	}

	return response
}

func kindOf(had, has, replace bool) pulumirpc.PropertyDiff_Kind {
	switch {
	case !had && replace:
		return pulumirpc.PropertyDiff_ADD_REPLACE
	case !had:
		return pulumirpc.PropertyDiff_ADD
	case !has && replace:
		return pulumirpc.PropertyDiff_DELETE_REPLACE
	case !has:
		return pulumirpc.PropertyDiff_DELETE
	case replace:
		return pulumirpc.PropertyDiff_UPDATE_REPLACE
	default:
		return pulumirpc.PropertyDiff_UPDATE
	}
}

// same compares values whatever is secret of them. Unknown values are the same
// as nothing.
func same(a, b resource.PropertyValue) bool {
	a, b = bare(a), bare(b)

	switch {
	case a.IsArray() && b.IsArray():
		return slices.EqualFunc(a.ArrayValue(), b.ArrayValue(), same)
	case a.IsObject() && b.IsObject():
		return maps.EqualFunc(a.ObjectValue(), b.ObjectValue(), same)
	case a.ContainsUnknowns() || b.ContainsUnknowns():
		return false
	default:
		return a.DeepEquals(b)
	}
}
