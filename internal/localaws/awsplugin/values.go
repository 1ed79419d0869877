package awsplugin

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"google.golang.org/protobuf/types/known/structpb"
)

func marshaling(label string) plugin.MarshalOptions {
	return plugin.MarshalOptions{Label: label, KeepUnknowns: true, KeepSecrets: true, KeepResources: true}
}

func unmarshal(label string, s *structpb.Struct) (resource.PropertyMap, error) {
	if s == nil {
		return resource.PropertyMap{}, nil
	}

	props, err := plugin.UnmarshalProperties(s, marshaling(label))
	if err != nil {
		return nil, fmt.Errorf("decoding %s: %w", label, err)
	}

	return props, nil
}

func marshal(label string, props resource.PropertyMap) (*structpb.Struct, error) {
	s, err := plugin.MarshalProperties(props, marshaling(label))
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", label, err)
	}

	return s, nil
}

// bare removes the wrappings that say that a value is secret.
func bare(v resource.PropertyValue) resource.PropertyValue {
	for {
		switch {
		case v.IsSecret():
			v = v.SecretValue().Element
		case v.IsOutput() && v.OutputValue().Known:
			v = v.OutputValue().Element
		default:
			return v
		}
	}
}

// plain turns a known value into what JSON has.
func plain(v resource.PropertyValue) any {
	v = bare(v)

	switch {
	case v.IsArray():
		list := make([]any, 0, len(v.ArrayValue()))
		for _, item := range v.ArrayValue() {
			list = append(list, plain(item))
		}

		return list
	case v.IsObject():
		return plainMap(v.ObjectValue())
	case v.IsBool():
		return v.BoolValue()
	case v.IsNumber():
		return v.NumberValue()
	case v.IsString():
		return v.StringValue()
	default:
		return nil
	}
}

func plainMap(props resource.PropertyMap) map[string]any {
	m := make(map[string]any, len(props))

	for name, v := range props {
		if value := plain(v); value != nil {
			m[string(name)] = value
		}
	}

	return m
}

// wrap turns what JSON has into a value, secret if the old one was.
func wrap(value any, secret bool) resource.PropertyValue {
	v := resource.NewPropertyValue(value)
	if secret {
		return resource.MakeSecret(v)
	}

	return v
}

// hidden reports whether a value is secret or holds a secret.
func hidden(v resource.PropertyValue) bool { return v.ContainsSecrets() }

func unknown() resource.PropertyValue {
	return resource.MakeComputed(resource.NewStringProperty(""))
}

// bag reads the inputs of a resource.
type bag map[string]any

func (b bag) text(name string) string {
	s, _ := b[name].(string)

	return s
}

func (b bag) flag(name string) bool {
	f, _ := b[name].(bool)

	return f
}

func (b bag) number(name string) (int, bool) {
	n, ok := b[name].(float64)

	return int(n), ok
}

func (b bag) bag(name string) bag {
	switch m := b[name].(type) {
	case map[string]any:
		return m
	case bag:
		return m
	default:
		return nil
	}
}

func (b bag) bags(name string) []bag {
	list, _ := b[name].([]any)

	bags := make([]bag, 0, len(list))

	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			bags = append(bags, m)
		}
	}

	return bags
}

func (b bag) texts(name string) map[string]string {
	texts := map[string]string{}

	for key, value := range b.bag(name) {
		if s, ok := value.(string); ok {
			texts[key] = s
		}
	}

	return texts
}
