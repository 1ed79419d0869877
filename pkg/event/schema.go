package event

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

//go:embed schema/*.json
var schemaFiles embed.FS

const (
	schemaDir      = "schema"
	envelopeSchema = "envelope"
	schemaSuffix   = ".json"
)

// Schemas holds the JSON Schemas that messages are validated with: envelope.json
// for the CloudEvents attributes, and one per type for its data, by the name of
// the type.
func Schemas() fs.FS {
	sub, err := fs.Sub(schemaFiles, schemaDir)
	if err != nil {
		panic(fmt.Sprintf("embedded schemas: %v", err)) // Only a malformed directory name does this.
	}

	return sub
}

// Schema is the JSON Schema of the data of a type, nil if there is no such
// type.
func Schema(t tenant.EventType) []byte {
	text, err := fs.ReadFile(Schemas(), TypeName(t)+schemaSuffix)
	if err != nil {
		return nil
	}

	return text
}

// schemas are the compiled schemas by name, and every part of them by its
// location, where the words of an error come from.
type schemas struct {
	byName     map[string]*jsonschema.Schema
	byLocation map[string]part
}

// part is a schema inside another one and the path of what it describes.
type part struct {
	*jsonschema.Schema

	path []string
}

// compiled is shared by all decoders: compiling takes milliseconds, and
// Encode needs one too.
//
//nolint:gochecknoglobals // A compiled table that nobody writes to.
var compiled = sync.OnceValue(compile)

// compile panics where an embedded schema is broken: no input can cause that.
func compile() schemas {
	s := schemas{byName: map[string]*jsonschema.Schema{}, byLocation: map[string]part{}}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()

	names := append(make([]string, 0, len(Types())+1), envelopeSchema)
	for _, t := range Types() {
		names = append(names, TypeName(t))
	}

	for _, name := range names {
		text, err := fs.ReadFile(Schemas(), name+schemaSuffix)
		if err != nil {
			panic(fmt.Sprintf("embedded schema %s: %v", name, err))
		}

		document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			panic(fmt.Sprintf("embedded schema %s: %v", name, err))
		}

		url := "urn:lessor:schema:" + name
		if err := compiler.AddResource(url, document); err != nil {
			panic(fmt.Sprintf("embedded schema %s: %v", name, err))
		}

		s.byName[name] = compiler.MustCompile(url)
		s.index(s.byName[name], nil)
	}

	return s
}

// index remembers the schema and its parts by location.
func (s schemas) index(schema *jsonschema.Schema, path []string) {
	if schema == nil {
		return
	}

	s.byLocation[schema.Location] = part{Schema: schema, path: path}
	s.index(schema.PropertyNames, path)

	for name, property := range schema.Properties {
		s.index(property, append(slices.Clone(path), name))
	}

	if additional, ok := schema.AdditionalProperties.(*jsonschema.Schema); ok {
		s.index(additional, path)
	}
}
