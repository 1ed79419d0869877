package event

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// check validates value and reports the one fault that helps most. prefix is
// the path of value in the message.
func (s schemas) check(name string, value map[string]any, prefix string) error {
	err := s.byName[name].Validate(value)
	if err == nil {
		return nil
	}

	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return &InvalidError{Code: codeOf(prefix), Field: prefix, Message: "cannot be validated"}
	}

	fault := slices.MinFunc(faults(invalid), func(a, b *jsonschema.ValidationError) int {
		return cmp.Or(
			cmp.Compare(rank(a.ErrorKind), rank(b.ErrorKind)),
			cmp.Compare(a.SchemaURL, b.SchemaURL),
			cmp.Compare(badName(a), badName(b)),
			slices.Compare(a.InstanceLocation, b.InstanceLocation),
			slices.Compare(a.ErrorKind.KeywordPath(), b.ErrorKind.KeywordPath()),
		)
	})

	return s.explain(fault, name, value, prefix)
}

// faults lists the leaves of the tree of errors. A bad name is a leaf too,
// although the library also says which rule it broke.
func faults(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	if _, ok := e.ErrorKind.(*kind.PropertyNames); ok || len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}

	var leaves []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		leaves = append(leaves, faults(cause)...)
	}

	return leaves
}

// rank puts a field that should not be there first: mistyped, it is also why
// another one is missing.
func rank(k jsonschema.ErrorKind) int {
	const unknown, missing, other = 0, 1, 2

	switch k.(type) {
	case *kind.AdditionalProperties, *kind.PropertyNames:
		return unknown
	case *kind.Required:
		return missing
	default:
		return other
	}
}

func badName(e *jsonschema.ValidationError) string {
	if k, ok := e.ErrorKind.(*kind.PropertyNames); ok {
		return k.Property
	}

	return ""
}

func (s schemas) explain(fault *jsonschema.ValidationError, name string, value map[string]any, prefix string) error {
	path := append([]string{prefix}, fault.InstanceLocation...)
	at := s.byLocation[fault.SchemaURL]
	schema := at.Schema
	e := &InvalidError{Hint: hint(schema)}

	switch k := fault.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		field := slices.Min(k.Properties)
		path = append(path, field)
		e.Message = "is not a field of " + name
		e.Hint = unknownField(field, schema)
	case *kind.PropertyNames:
		// The library lends this fault the location of another one.
		path = append(append([]string{prefix}, at.path...), k.Property)
		e.Message = "is not a name that is allowed here"

		if prefix == "" {
			e.Hint = cmp.Or(misspelt(k.Property, s.byName[name]), e.Hint)
		}
	case *kind.Required:
		path = append(path, k.Missing[0])
		e.Message = isMissing
		e.Hint = missing(k.Missing[0], schema, value, fault)
	case *kind.Pattern:
		e.Message = describe(k)

		// What lets its bearer do something stays out of logs.
		if schema != nil && schema.WriteOnly {
			e.Message = "is not one"
		}
	default:
		e.Message = describe(fault.ErrorKind)
	}

	e.Field = join(path...)
	e.Code = codeOf(e.Field)

	return e
}

// describe says what is wrong with a value. It repeats only what is known to
// be short and no setting of a tenant.
func describe(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + wanted(k.Want) + ", not " + wanted([]string{k.Got})
	case *kind.Const:
		return fmt.Sprintf("must be %v, not %s", quoted(k.Want), quoted(k.Got))
	case *kind.Pattern:
		return "must not be " + quote(k.Got)
	case *kind.Format:
		return "must not be " + quoted(k.Got)
	default:
		return describeLimit(k)
	}
}

func describeLimit(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinLength:
		return "must not be empty"
	case *kind.MaxLength:
		return fmt.Sprintf("is %d characters long, the limit is %d", k.Got, k.Want)
	case *kind.MaxProperties:
		return fmt.Sprintf("has %d entries, the limit is %d", k.Got, k.Want)
	case *kind.Minimum:
		return "must be at least " + k.Want.RatString()
	case *kind.Maximum:
		return "must be at most " + k.Want.RatString()
	default:
		return "is not valid"
	}
}

func wanted(types []string) string {
	words := map[string]string{
		"string": "a string", "object": "an object", "array": "a list", "integer": "a whole number",
		"number": "a number", "boolean": "true or false", "null": "null",
	}

	out := make([]string, len(types))
	for i, t := range types {
		out[i] = cmp.Or(words[t], t)
	}

	slices.Sort(out)

	return strings.Join(out, " or ")
}

func quoted(v any) string {
	if text, ok := v.(string); ok {
		return quote(text)
	}

	text, err := json.Marshal(v)
	if err != nil {
		return "that"
	}

	return shorten(string(text))
}

// hint is what a schema says of itself.
func hint(schema *jsonschema.Schema) string {
	if schema == nil {
		return ""
	}

	if len(schema.Examples) == 0 {
		return schema.Description
	}

	return schema.Description + ", for example " + quoted(schema.Examples[0])
}

func unknownField(field string, schema *jsonschema.Schema) string {
	if schema == nil || len(schema.Properties) == 0 {
		return "it has no fields"
	}

	return didYouMean(field, slices.Sorted(maps.Keys(schema.Properties)), "its fields are")
}

// misspelt tells a CloudEvents attribute in the wrong case from a bad name of
// an extension.
func misspelt(got string, schema *jsonschema.Schema) string {
	if strings.EqualFold(got, "data_base64") {
		return "send data as JSON in data"
	}

	if near, ok := nearest(got, slices.Sorted(maps.Keys(schema.Properties))); ok {
		return "did you mean " + quote(near) + "?"
	}

	return ""
}

// missing looks for an unknown name beside a field that is missing: it may be
// the field, mistyped.
func missing(field string, schema *jsonschema.Schema, value map[string]any, fault *jsonschema.ValidationError) string {
	if schema == nil {
		return ""
	}

	text := hint(schema.Properties[field])

	if len(fault.InstanceLocation) > 0 {
		return text
	}

	for _, name := range keys(value) {
		if _, known := schema.Properties[name]; known {
			continue
		}

		if _, ok := nearest(name, []string{field}); ok {
			return "is it misspelt as " + quote(name) + "?"
		}
	}

	return text
}

// codeOf sorts faults by the field that has them.
func codeOf(field string) string {
	switch {
	case field == "subject", field == "time", field == "type":
		return field
	case field == sequenceField:
		return CodeSequence
	case field == "data", strings.HasPrefix(field, "data."):
		return CodeData
	default:
		return CodeEnvelope
	}
}
