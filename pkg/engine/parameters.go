package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/lessor-dev/lessor/internal/nearest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// ParameterError is a parameter that a program refuses. A Deploy that returns
// one fails the tenant for good, until an event changes its parameters.
type ParameterError struct {
	// Name is the parameter, Problem what is wrong with it.
	Name    string
	Problem string
}

// Error names the parameter as the catalog and the events spell it.
func (e *ParameterError) Error() string { return "parameters." + e.Name + ": " + e.Problem }

// errTarget is a mistake in the program, never of a parameter.
var errTarget = errors.New("decoding parameters: the target must be a pointer to a struct")

// Decode reads parameters over the defaults in into, a pointer to a struct
// with json tags, and refuses names that it does not have. A null keeps the
// default. Its error joins one *ParameterError for each refused parameter.
func Decode(parameters tenant.Parameters, into any) error {
	target := reflect.ValueOf(into)
	if target.Kind() != reflect.Pointer || target.Elem().Kind() != reflect.Struct {
		return fmt.Errorf("%w, not %T", errTarget, into)
	}

	fields := fieldsByName(target.Elem())
	problems := make([]error, 0, len(parameters))

	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		field, known := fields[name]
		if !known {
			problems = append(problems, &ParameterError{Name: name, Problem: unknownParameter(name, fields)})

			continue
		}

		if problem := decodeValue(parameters[name], field.Addr().Interface()); problem != "" {
			problems = append(problems, &ParameterError{Name: name, Problem: problem})
		}
	}

	return errors.Join(problems...)
}

func fieldsByName(target reflect.Value) map[string]reflect.Value {
	fields := map[string]reflect.Value{}

	for _, f := range reflect.VisibleFields(target.Type()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			fields[name] = target.FieldByIndex(f.Index)
		}
	}

	return fields
}

func unknownParameter(name string, fields map[string]reflect.Value) string {
	known := slices.Sorted(maps.Keys(fields))

	switch meant := nearest.To(name, known); {
	case meant != "":
		return fmt.Sprintf("unknown parameter; did you mean %s?", meant)
	case len(known) == 0:
		return "unknown parameter; this program has none"
	default:
		return "unknown parameter; known are " + strings.Join(known, ", ")
	}
}

// decodeValue returns what is wrong with the value, or "".
func decodeValue(raw json.RawMessage, into any) string {
	// Only in an object a field can be unknown, and few parameters have any.
	if !bytes.ContainsRune(raw, '{') && json.Unmarshal(raw, into) == nil {
		return ""
	}

	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()

	err := decoder.Decode(into)
	if err == nil {
		if _, err = decoder.Token(); errors.Is(err, io.EOF) {
			return ""
		}

		return "not a single JSON value"
	}

	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where := ""
		if mismatch.Field != "" {
			where = mismatch.Field + " "
		}

		return fmt.Sprintf("%smust be %s, not %s", where, nameOf(mismatch.Type), mismatch.Value)
	}

	return strings.TrimPrefix(err.Error(), "json: ")
}

// nameOf is what JSON calls a type of Go.
func nameOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number that fits " + t.Kind().String()
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Invalid, reflect.Uintptr, reflect.Complex64, reflect.Complex128, reflect.Chan,
		reflect.Func, reflect.Interface, reflect.Pointer, reflect.UnsafePointer:
	}

	return t.String()
}
