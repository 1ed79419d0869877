package awsplugin

import (
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// planned is the state that a preview shows: what only AWS knows is unknown, or
// as it was.
func (t *resourceType) planned(inputs, olds resource.PropertyMap) resource.PropertyMap {
	state := inputs.Copy()

	foretell := func(name string) {
		key := resource.PropertyKey(name)
		if _, known := state[key]; known {
			return
		}

		if old, was := olds[key]; was {
			state[key] = old
		} else {
			state[key] = unknown()
		}
	}

	for _, name := range t.outputs {
		foretell(name)
	}

	for name, p := range t.inputs {
		if p.computed {
			foretell(name)
		}
	}

	if own, given := inputs[tags]; given && t.taggable {
		state[tagsAll] = own
	}

	return state
}

// state is what the engine stores: inputs as they are, and what AWS added.
// What came in as a secret stays one.
func (t *resourceType) state(r cloudsim.Resource, inputs resource.PropertyMap) resource.PropertyMap {
	state := resource.PropertyMap{}

	for name, value := range r.Outputs {
		state[resource.PropertyKey(name)] = wrap(value, false)
	}

	for name, p := range t.inputs {
		key := resource.PropertyKey(name)
		old, given := inputs[key]

		if value, ok := r.Inputs[name]; ok {
			state[key] = wrap(value, p.secret || given && hidden(old))
		}
	}

	if t.taggable {
		own := tagProperty(r)
		state[tagsAll] = own

		if _, given := inputs[tags]; given {
			state[tags] = own
		}
	}

	return state
}

// observed are the inputs that would give the resource as it is: those of the
// program with today's values, or all that there are for an import.
func (t *resourceType) observed(r cloudsim.Resource, olds resource.PropertyMap) resource.PropertyMap {
	inputs := resource.PropertyMap{}

	for name, p := range t.inputs {
		key := resource.PropertyKey(name)
		old, given := olds[key]

		// What AWS chooses is nobody's input; what it does not choose, somebody set.
		if value, ok := r.Inputs[name]; ok && (given || len(olds) == 0 || !p.computed) {
			inputs[key] = wrap(value, p.secret || hidden(old))
		}
	}

	if _, given := olds[tags]; t.taggable && (given || len(olds) == 0) && len(r.Tags) > 0 {
		inputs[tags] = tagProperty(r)
	}

	return inputs
}

func tagProperty(r cloudsim.Resource) resource.PropertyValue {
	all := resource.PropertyMap{}
	for name, value := range r.Tags {
		all[resource.PropertyKey(name)] = resource.NewStringProperty(value)
	}

	return resource.NewObjectProperty(all)
}
