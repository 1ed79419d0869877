package catalog

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	version            = 1
	defaultMaxAttempts = 5
	maxMaxAttempts     = 100
	maxWave            = 1000
)

var (
	tierPattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,62}$`)
	rolePattern = regexp.MustCompile(`^arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+$`)
)

// Load reads the catalog in a file. See Parse.
func Load(path string, programs map[string]Checker, regions []string) (*Catalog, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the catalog: %w", err)
	}

	return parse(path, data, programs, regions)
}

// Parse reads a catalog strictly. Its error joins every *ProblemError that there
// is. The parameters of a tier must satisfy its program by themselves, since
// most tenants have none of their own. No regions allow every region.
func Parse(data []byte, programs map[string]Checker, regions []string) (*Catalog, error) {
	return parse("", data, programs, regions)
}

func parse(file string, data []byte, programs map[string]Checker, regions []string) (*Catalog, error) {
	r := &reader{
		problems: problems{file: file},
		catalog:  &Catalog{tiers: map[string]tier{}, programs: programs, regions: slices.Clone(regions)},
	}

	document, err := parser.ParseBytes(data, 0)
	if err != nil {
		r.syntax(err)
	} else {
		r.document(document)
	}

	if err := r.err(); err != nil {
		return nil, err
	}

	return r.catalog, nil
}

// reader walks the syntax tree rather than decode into structs, because only
// the tree knows the line of every key.
type reader struct {
	problems

	catalog *Catalog
	// claims are the ranges that tiers use.
	claims []claim
	pooled []pooled
}

func (r *reader) syntax(err error) {
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) && syntax.Token != nil && syntax.Token.Position != nil {
		r.add(syntax.Token.Position.Line, "", "not valid YAML: "+syntax.Message, "correct the syntax, then the rest is checked")

		return
	}

	r.add(1, "", fmt.Sprintf("not valid YAML: %v", err), "correct the syntax, then the rest is checked")
}

func (r *reader) document(document *ast.File) {
	const skeleton = "begin with `version: 1` and `tiers:`"

	switch {
	case len(document.Docs) == 0 || document.Docs[0].Body == nil:
		r.add(1, "", "the catalog is empty", skeleton)

		return
	case len(document.Docs) > 1:
		r.add(line(document.Docs[1].Body), "", "more than one YAML document", "keep everything in one document, without `---`")

		return
	}

	body := document.Docs[0].Body

	root, ok := r.mapping(body, "", []string{"version", "tiers"})
	if !ok {
		return
	}

	r.version(root, line(body))

	tiers, ok := root["tiers"]
	if !ok {
		r.add(line(body), "tiers", "missing", "add at least one tier")

		return
	}

	before := len(r.found)

	entries, ok := r.mapping(tiers.value, "tiers", nil)
	if !ok {
		return
	}

	if len(entries) == 0 && len(r.found) == before {
		r.add(tiers.line, "tiers", "empty", "add at least one tier")
	}

	for name, e := range entries {
		r.tier(name, e)
	}

	r.apart()
	r.pools()
}

func (r *reader) version(root map[string]entry, at int) {
	e, ok := root["version"]
	if !ok {
		r.add(at, "version", "missing", "add `version: 1`")

		return
	}

	if n, ok := r.integer(e, "version", 0, maxWave); ok && n != version {
		r.add(e.line, "version", fmt.Sprintf("version %d is not known", n), "use version 1, or a worker that knows this version")
	}
}

func (r *reader) tier(name string, e entry) {
	path := "tiers." + name

	if !tierPattern.MatchString(name) {
		r.add(e.line, path, "a tier's name must match "+tierPattern.String(), "rename the tier")
	}

	fields, ok := r.mapping(e.value, path, []string{
		"program", "parameters", "wave", "onCreate", "onUpdate", "maxAttempts", "protect", "finalSnapshot", "dataLoss", "roleArn",
		"tierChange", "guard", "retainDays", "release", "addresses",
		"pool", "poolParameters",
	})
	if !ok {
		return
	}

	t := tier{blueprint: tenant.Blueprint{
		OnCreate:    tenant.PolicyRollback,
		OnUpdate:    tenant.PolicyRevert,
		MaxAttempts: defaultMaxAttempts,
	}}
	b := &t.blueprint

	if f, ok := fields["wave"]; ok {
		t.wave, _ = r.integer(f, path+".wave", 0, maxWave)
	}

	if f, ok := fields["maxAttempts"]; ok {
		b.MaxAttempts, _ = r.integer(f, path+".maxAttempts", 1, maxMaxAttempts)
	}

	if f, ok := fields["onCreate"]; ok {
		b.OnCreate = r.policy(f, path+".onCreate", tenant.PolicyRollback, tenant.PolicyKeep)
	}

	if f, ok := fields["onUpdate"]; ok {
		b.OnUpdate = r.policy(f, path+".onUpdate", tenant.PolicyRevert, tenant.PolicyKeep)
	}

	if f, ok := fields["roleArn"]; ok {
		b.RoleARN = r.role(f, path+".roleArn")
	}

	r.deletion(fields, path, b)
	r.life(fields, path, b)

	t.pool = r.pool(name, e.line, fields, path)
	parameters, hasParameters := fields["parameters"]
	sound := true

	if hasParameters {
		b.Parameters, sound = r.parameters(parameters, path+".parameters")
	}

	r.network(fields, path, b)

	if checker := r.program(fields, path, e.line, b); checker != nil && sound {
		r.check(checker, t, path+".parameters", parameters, e.line)
	}

	r.catalog.tiers[name] = t
}

// deletion reads what guards the data of a tenant, and what becomes of it when
// the tenant is deleted.
func (r *reader) deletion(fields map[string]entry, path string, b *tenant.Blueprint) {
	if f, ok := fields["finalSnapshot"]; ok {
		b.FinalSnapshot = r.boolean(f, path+".finalSnapshot")
	}

	if f, ok := fields["dataLoss"]; ok {
		b.DataLoss = r.boolean(f, path+".dataLoss")
		if b.DataLoss && b.FinalSnapshot {
			r.add(f.line, path+".dataLoss", "a tier that keeps a final snapshot loses no data",
				"set either dataLoss or finalSnapshot to false")
		}
	}

	// Whoever speaks of the data of a deleted tenant has data to guard.
	b.Protect = b.FinalSnapshot || b.DataLoss
	if f, ok := fields["protect"]; ok {
		b.Protect = r.boolean(f, path+".protect")
	}
}

func (r *reader) program(fields map[string]entry, path string, at int, b *tenant.Blueprint) Checker {
	known := slices.Sorted(maps.Keys(r.catalog.programs))

	f, ok := fields["program"]
	if !ok {
		r.add(at, path+".program", "missing", fmt.Sprintf("name one of the worker's programs %q", known))

		return nil
	}

	name, ok := r.text(f, path+".program")
	if !ok {
		return nil
	}

	checker, ok := r.catalog.programs[name]
	if !ok {
		r.unknown(f.line, path+".program", "program", name, known)

		return nil
	}

	b.Program = name

	return checker
}

func (r *reader) check(checker Checker, t tier, path string, parameters entry, at int) {
	b := t.blueprint

	err := checker.Check(b.Parameters)
	if err == nil {
		return
	}

	if parameters.line > 0 {
		at = parameters.line
	}

	for _, refusal := range without(refusals(err, b.Parameters), b.Parameters, t.pool.outputs) {
		where, line := path, at
		if refusal.parameter != "" {
			where = join(path, refusal.parameter)
			line = r.lineOf(parameters.value, refusal.parameter, at)
		}

		r.add(line, where, fmt.Sprintf("program %q refuses: %s", b.Program, refusal.problem), "correct the parameters of the tier")
	}
}
