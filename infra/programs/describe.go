package programs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// Description is what people need to know of a program: docs/catalog.md is made
// of it.
type Description struct {
	// Summary is what the program is for; "" for one that says nothing.
	Summary    string
	Parameters []Parameter
	Outputs    []Output
}

// Parameter describes a parameter of a program.
type Parameter struct {
	Name string
	// Type is as in YAML: string, number, boolean or list of strings.
	Type string
	// Default is JSON; "" for a parameter that must be given.
	Default string
	// Bounds are those that the program checks by itself, in words.
	Bounds string
}

// Output describes an output of a program.
type Output struct{ Name, Doc string }

// Describe tells about a program that New made, or one of this package. Others
// are not known.
func Describe(p engine.Program) (Description, bool) {
	described, ok := p.(interface{ describe() Description })
	if !ok {
		return Description{}, false
	}

	return described.describe(), true
}

func (p program[P]) describe() Description {
	defaults := reflect.ValueOf(p.defaults())
	d := Description{Summary: p.summary, Outputs: p.outputs}

	for _, field := range reflect.VisibleFields(defaults.Type()) {
		name := parameterName(field)
		if name == "" {
			continue
		}

		parameter := Parameter{
			Name: name, Type: typeName(field.Type), Bounds: boundsText(field),
		}
		if field.Tag.Get(tagRequired) == "" {
			parameter.Default = defaultText(defaults.FieldByIndex(field.Index).Interface())
		}

		d.Parameters = append(d.Parameters, parameter)
	}

	return d
}

func parameterName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if !field.IsExported() || name == "-" {
		return ""
	}

	return name
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int:
		return "number"
	case reflect.Bool:
		return "boolean"
	case reflect.Slice:
		return "list of " + typeName(t.Elem()) + "s"
	default:
		return t.Kind().String()
	}
}

func defaultText(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}

	if string(raw) == "null" {
		return "[]"
	}

	return string(raw)
}

func boundsText(field reflect.StructField) string {
	var texts []string

	if low, high, bounded := bounds(field); bounded {
		text := fmt.Sprintf("%d to %d", low, high)
		if field.Type.Kind() == reflect.Slice {
			text += " of them"
		}

		texts = append(texts, text)
	}

	if form, ok := forms[field.Tag.Get(tagForm)]; ok {
		texts = append(texts, "`"+form.String()+"`")
	}

	return strings.Join(texts, "; ")
}
