package awsplugin

import (
	"fmt"
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// failure is a property that did not pass the check, and why.
type failure struct{ property, reason string }

const (
	randomDigits   = 7
	urnNameDivider = "-"
)

// check judges inputs and fills in names, fallbacks and default tags.
func (t *resourceType) check(
	urn resource.URN, seed []byte, olds, news resource.PropertyMap, defaultTags map[string]string,
) (resource.PropertyMap, []failure, error) {
	inputs := news.Copy()
	failures := t.unsupported(inputs)

	if err := t.autoName(urn, seed, olds, inputs); err != nil {
		return nil, nil, err
	}

	for _, name := range slices.Sorted(maps.Keys(t.inputs)) {
		p, key := t.inputs[name], resource.PropertyKey(name)

		v, given := inputs[key]
		if given && bare(v).IsNull() {
			delete(inputs, key)

			given = false
		}

		if !given && p.fallback != nil {
			inputs[key] = resource.NewPropertyValue(p.fallback)
		}

		if reason := p.judge(name, bare(v), given); reason != "" {
			failures = append(failures, failure{name, reason})
		}
	}

	t.tag(inputs, defaultTags)

	return inputs, failures, nil
}

// judge says what is wrong with a value, or "".
func (p property) judge(name string, v resource.PropertyValue, given bool) string {
	switch {
	case !given && p.required:
		return fmt.Sprintf("Missing required argument: The argument %q is required, but no definition was found.", name)
	case p.form != nil && v.IsString() && !p.form.MatchString(v.StringValue()):
		return fmt.Sprintf("invalid value for %s (%s): %q", name, p.hint, v.StringValue())
	case p.most > 0 && v.IsNumber() && (v.NumberValue() < p.least || v.NumberValue() > p.most):
		return fmt.Sprintf("expected %s to be in the range (%.0f - %.0f), got %.0f", name, p.least, p.most, v.NumberValue())
	default:
		return ""
	}
}

// unsupported finds inputs that the table of the type does not have.
func (t *resourceType) unsupported(inputs resource.PropertyMap) []failure {
	var failures []failure

	for _, key := range inputs.StableKeys() {
		if _, ok := t.inputs[string(key)]; !ok && key != "__defaults" {
			failures = append(failures, failure{string(key), fmt.Sprintf(
				"the local pulumi-resource-%s does not know this property of %s; add it to its table in internal/localaws/awsplugin",
				Name, t.typ)})
		}
	}

	return failures
}

func (t *resourceType) autoName(urn resource.URN, seed []byte, olds, inputs resource.PropertyMap) error {
	if t.name.property == "" {
		return nil
	}

	key := resource.PropertyKey(t.name.property)
	if _, given := inputs[key]; given {
		return nil
	}

	if old, ok := olds[key]; ok {
		inputs[key] = old

		return nil
	}

	name, err := resource.NewUniqueName(seed, t.name.prefix+urn.Name()+urnNameDivider, randomDigits, t.name.limit, nil)
	if err != nil {
		return fmt.Errorf("making up a name for %s: %w", urn, err)
	}

	inputs[key] = resource.NewStringProperty(name)

	return nil
}

// tag merges the provider's default tags under the resource's own, as the real
// plugin does.
func (t *resourceType) tag(inputs resource.PropertyMap, defaultTags map[string]string) {
	own := bare(inputs[tags])
	if !t.taggable || len(defaultTags) == 0 || own.IsComputed() || own.IsOutput() {
		return
	}

	merged := resource.PropertyMap{}
	for name, value := range defaultTags {
		merged[resource.PropertyKey(name)] = resource.NewStringProperty(value)
	}

	if own.IsObject() {
		maps.Copy(merged, own.ObjectValue())
	}

	inputs[tags] = resource.NewObjectProperty(merged)
}
