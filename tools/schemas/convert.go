package main

import (
	"fmt"
	"slices"
	"strings"
)

const (
	reference  = "#/definitions/"
	objectMeta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
)

// schemaOf collects a definition and those that it refers to.
func schemaOf(definitions map[string]any, name string) (schema, error) {
	definition, ok := definitions[name].(map[string]any)
	if !ok {
		return schema{}, fmt.Errorf("%w: no such definition", errFormat)
	}

	kinds, ok := definition["x-kubernetes-group-version-kind"].([]any)
	if !ok || len(kinds) != 1 {
		return schema{}, fmt.Errorf("%w: not one kind", errFormat)
	}

	kind, ok := kinds[0].(map[string]any)
	if !ok {
		return schema{}, fmt.Errorf("%w: a kind that is no object", errFormat)
	}

	s := schema{root: closed(definition), definitions: map[string]any{}}
	s.group, _ = kind["group"].(string)
	s.version, _ = kind["version"].(string)
	s.kind, _ = kind["kind"].(string)

	// Nobody writes a status, and it refers to much.
	if properties, ok := s.root["properties"].(map[string]any); ok {
		delete(properties, "status")
	}

	for _, used := range append(references(s.root), objectMeta) {
		if err := s.define(definitions, used); err != nil {
			return schema{}, err
		}
	}

	return s, nil
}

// define takes over a definition with all that it refers to.
func (s schema) define(definitions map[string]any, name string) error {
	if s.definitions[name] != nil {
		return nil
	}

	definition, ok := definitions[name].(map[string]any)
	if !ok {
		return fmt.Errorf("%w: no definition of %s", errFormat, name)
	}

	taken := closed(definition)

	// The swagger calls these strings, the API takes numbers as well.
	if strings.HasSuffix(name, ".IntOrString") || strings.HasSuffix(name, ".Quantity") {
		taken = map[string]any{"type": []string{"string", "number"}}
	}

	s.definitions[name] = taken

	for _, used := range references(taken) {
		if err := s.define(definitions, used); err != nil {
			return err
		}
	}

	return nil
}

// references lists what a schema refers to.
func references(node any) []string {
	var found []string

	switch node := node.(type) {
	case map[string]any:
		for key, value := range node {
			if name, ok := value.(string); ok && key == "$ref" {
				found = append(found, strings.TrimPrefix(name, reference))

				continue
			}

			found = append(found, references(value)...)
		}
	case []any:
		for _, value := range node {
			found = append(found, references(value)...)
		}
	}

	return found
}

// kept are the keywords that say what is valid.
func kept() []string {
	return []string{
		"$ref", "additionalProperties", "allOf", "anyOf", "enum", "items", "maxItems", "maxLength", "maxProperties", "maximum",
		"minItems", "minLength", "minProperties", "minimum", "not", "oneOf", "pattern", "properties", "required", "type",
	}
}

// closed copies a schema without what judges nothing, and refuses unknown
// properties of every object whose properties are known.
func closed(node map[string]any) map[string]any {
	result := map[string]any{}

	for _, key := range kept() {
		value, ok := node[key]
		if !ok {
			continue
		}

		switch value := value.(type) {
		case map[string]any:
			if key == "properties" {
				result[key] = eachClosed(value)
			} else {
				result[key] = closed(value)
			}
		case []any:
			result[key] = listClosed(value)
		default:
			result[key] = value
		}
	}

	if nullable, _ := node["nullable"].(bool); nullable && result["type"] != nil {
		result["type"] = []any{result["type"], "null"}
	}

	open, _ := node["x-kubernetes-preserve-unknown-fields"].(bool)
	if result["properties"] != nil && result["type"] != nil && result["additionalProperties"] == nil && !open {
		result["additionalProperties"] = false
	}

	return result
}

func eachClosed(properties map[string]any) map[string]any {
	result := map[string]any{}

	for name, property := range properties {
		if property, ok := property.(map[string]any); ok {
			result[name] = closed(property)
		}
	}

	return result
}

func listClosed(list []any) []any {
	result := slices.Clone(list)

	for i, item := range list {
		if item, ok := item.(map[string]any); ok {
			result[i] = closed(item)
		}
	}

	return result
}

// otherFields lists required fields but those that every object has.
func otherFields(value any) []string {
	var all []string

	list, _ := value.([]any)
	for _, item := range list {
		if s, ok := item.(string); ok && s != "apiVersion" && s != "kind" && s != "metadata" {
			all = append(all, s)
		}
	}

	return all
}
