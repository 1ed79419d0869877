package programs_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/engine"
)

const docsPage = "../../docs/catalog.md"

var update = flag.Bool("update", false, "write docs/catalog.md anew") //nolint:gochecknoglobals // a flag

const docsHead = `# Catalog: reference

The catalog, a YAML file, says which tier is made by which program with which
parameters; the documentation of pkg/catalog has all of its keys. This page is
about the programs that lessor comes with. A test writes it
(` + "`go test ./infra/programs -short -run TestDocs -update`" + `) and checks that it is up to
date.

A tenant's own parameters override those of its tier. One that the program refuses
fails the tenant with kind ` + "`invalid`" + ` before anything is made. Outputs are in the
tenant's row and in result events; they are the same after a resume.
`

// TestDocs compares docs/catalog.md with what the programs say of themselves.
func TestDocs(t *testing.T) {
	t.Parallel()

	var page strings.Builder

	page.WriteString(docsHead)

	for _, name := range []string{programs.NamePool, programs.NameBridge, programs.NameSilo, programs.NameShared} {
		d, ok := programs.Describe(programs.All()[name])
		require.True(t, ok, name)

		docs := commentsOf(t, name)

		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n", name, d.Summary)
		page.WriteString("| parameter | type | default | bounds | |\n|---|---|---|---|---|\n")

		for _, p := range d.Parameters {
			fallback := "required"
			if p.Default != "" {
				fallback = "`" + p.Default + "`"
			}

			fmt.Fprintf(&page, "| `%s` | %s | %s | %s | %s |\n", p.Name, p.Type, fallback, cell(p.Bounds), cell(docs[p.Name]))
		}

		page.WriteString("\n| output | |\n|---|---|\n")

		for _, o := range d.Outputs {
			fmt.Fprintf(&page, "| `%s` | %s |\n", o.Name, cell(o.Doc))
		}
	}

	if *update {
		require.NoError(t, os.WriteFile(docsPage, []byte(page.String()), 0o600))
	}

	written, err := os.ReadFile(docsPage)
	require.NoError(t, err)
	require.Equal(t, page.String(), string(written), "run go test ./infra/programs -short -run TestDocs -update")
}

// commentsOf are the comments of a program's parameters, by the names that those
// have in a catalog.
func commentsOf(t *testing.T, program string) map[string]string {
	t.Helper()

	file, err := parser.ParseFile(token.NewFileSet(), program+".go", nil, parser.ParseComments)
	require.NoError(t, err)

	docs, bounds := map[string]string{}, map[string]string{}

	d, ok := programs.Describe(programs.All()[program])
	require.True(t, ok)

	for _, p := range d.Parameters {
		bounds[p.Name] = p.Bounds
	}

	ast.Inspect(file, func(node ast.Node) bool {
		field, ok := node.(*ast.Field)
		if !ok || field.Tag == nil {
			return true
		}

		text := strings.Join(strings.Fields(field.Doc.Text()), " ")
		_, text, ok = strings.Cut(text, field.Names[0].Name+" is ")
		require.True(t, ok, "the comment of %s begins with its name", field.Names[0].Name)

		tag, err := strconv.Unquote(field.Tag.Value)
		require.NoError(t, err)

		// A tag that says nothing would check nothing.
		for key, text := range map[string]string{"bounds": " to ", "form": "`^"} {
			if given, ok := reflect.StructTag(tag).Lookup(key); ok {
				require.Contains(t, bounds[reflect.StructTag(tag).Get("json")], text, given)
			}
		}

		docs[reflect.StructTag(tag).Get("json")] = strings.ToUpper(text[:1]) + text[1:]

		return true
	})

	return docs
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func TestDescriptionsAreComplete(t *testing.T) {
	t.Parallel()

	for name, top := range map[string]engine.Topology{
		programs.NamePool: topology(with("sharedEndpoint", `"x"`)), programs.NameBridge: bridged(), programs.NameSilo: topology(),
		programs.NameShared: topology(),
	} {
		program := programs.All()[name]
		d, ok := programs.Describe(program)
		require.True(t, ok)
		require.NotEmpty(t, d.Summary)

		docs := commentsOf(t, name)
		require.Len(t, docs, len(d.Parameters))

		for _, p := range d.Parameters {
			require.NotEmpty(t, docs[p.Name], "%s of %s", p.Name, name)
		}

		outputs := make([]string, 0, len(d.Outputs))

		for _, o := range d.Outputs {
			require.NotEmpty(t, o.Doc, o.Name)
			outputs = append(outputs, o.Name)
		}

		slices.Sort(outputs)
		require.Equal(t, slices.Sorted(maps.Keys(must(t, program, top).outputs)), outputs, name)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()

	d, ok := programs.Describe(Bucket())
	require.True(t, ok)
	require.Equal(t, programs.Description{Parameters: []programs.Parameter{
		{Name: "keep", Type: "boolean", Default: "false"},
		{Name: "suffix", Type: "string", Default: `"files"`},
	}}, d)

	_, ok = programs.Describe(nil)
	require.False(t, ok)
}
