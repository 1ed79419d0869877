package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// PoolPrefix begins the names of tiers whose tenants are pools, and therefore the
// ids of those tenants. No other tier and no other tenant may begin with it.
const PoolPrefix = "pool-"

// maxPoolTier leaves room for the longest region in the id of a pool.
const maxPoolTier = 40

// PoolID is the id of the pool of a tier in a region: there is one of each.
func PoolID(tier, region string) tenant.ID { return tenant.ID(tier + "-" + region) }

// IsPool reports whether a tenant is a pool, or wants to be one.
func IsPool(id tenant.ID) bool { return strings.HasPrefix(id.String(), PoolPrefix) }

// PoolTier is the tier of the pool that a tier's tenants live in, "" if they live
// in none.
func (c *Catalog) PoolTier(tier string) string { return c.tiers[tier].pool.tier }

// pool is what a tier takes from the pool that its tenants live in.
type pool struct {
	// tier is "" where there is no pool.
	tier string
	// outputs of the pool, by the parameters that they become.
	outputs map[string]string
}

// Suits checks that a tenant of the id may be in its tier: pools are where they
// are looked for, and nothing else is there. Its error is an *InvalidError.
func Suits(id tenant.ID, spec tenant.Spec) error {
	wanted := PoolID(spec.Tier, spec.Region)

	switch pooled := strings.HasPrefix(spec.Tier, PoolPrefix); {
	case !IsPool(id) && !pooled, pooled && id == wanted:
		return nil
	case pooled:
		return &InvalidError{
			Field:   "tier",
			Message: fmt.Sprintf("tier %q is one of pools, and its only tenant in %q is %s", spec.Tier, spec.Region, wanted),
			Hint:    fmt.Sprintf("send a tier-changed event with a tier for tenants, or provision %s", wanted),
		}
	default:
		return &InvalidError{
			Field:   "tier",
			Message: fmt.Sprintf("ids that begin with %q are those of pools, and tier %q is none of theirs", PoolPrefix, spec.Tier),
			Hint:    "create the tenant under another id, and delete this one",
		}
	}
}

// Complete is Resolve for a tenant that lives in a pool, with the outputs of the
// pool as parameters where the tenant has none of its own.
func (c *Catalog) Complete(spec tenant.Spec, outputs map[string]json.RawMessage) (tenant.Blueprint, error) {
	blueprint, err := c.resolve(spec)
	if err != nil {
		return tenant.Blueprint{}, err
	}

	from := c.tiers[spec.Tier].pool.outputs
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if _, own := blueprint.Parameters[name]; own {
			continue
		}

		value, ok := outputs[from[name]]
		if !ok {
			return tenant.Blueprint{}, &InvalidError{
				Field:   "parameters." + name,
				Message: fmt.Sprintf("pool %s has no output %q for it", blueprint.Pool, from[name]),
				Hint: choose(from[name], slices.Sorted(maps.Keys(outputs)),
					fmt.Sprintf("correct poolParameters of tier %q, or reprovision the pool with a program that has it", spec.Tier)),
			}
		}

		if blueprint.Parameters == nil {
			blueprint.Parameters = tenant.Parameters{}
		}

		blueprint.Parameters[name] = value
	}

	if err := c.check(spec.Tier, blueprint, nil); err != nil {
		return tenant.Blueprint{}, err
	}

	return blueprint, nil
}

// check asks the program about all parameters but those that are still to come.
func (c *Catalog) check(tier string, blueprint tenant.Blueprint, coming map[string]string) error {
	err := c.programs[blueprint.Program].Check(blueprint.Parameters)
	if err == nil {
		return nil
	}

	if list := without(refusals(err, blueprint.Parameters), blueprint.Parameters, coming); len(list) > 0 {
		return refused(tier, blueprint, list)
	}

	return nil
}

// without leaves out what a program has against parameters that it was not given
// because they come from the pool.
func without(list []refusal, given tenant.Parameters, coming map[string]string) []refusal {
	return slices.DeleteFunc(list, func(r refusal) bool {
		_, comes := coming[r.parameter]
		_, own := given[r.parameter]

		return comes && !own
	})
}

// pooled is where a tier names its pool.
type pooled struct {
	path string
	line int
	pool string
}

// pool reads from where a tier takes parameters, and which.
func (r *reader) pool(name string, at int, fields map[string]entry, path string) pool {
	var p pool

	if strings.HasPrefix(name, PoolPrefix) && len(name) > maxPoolTier {
		r.add(at, path, fmt.Sprintf("the name of a tier of pools has more than %d characters", maxPoolTier),
			"rename the tier; with a region it is the id of a tenant")
	}

	from, has := fields["pool"]
	parameters, hasParameters := fields["poolParameters"]

	switch {
	case !has && hasParameters:
		r.add(parameters.line, path+".poolParameters", "there is no pool to take them from", "name it with `pool: "+PoolPrefix+"…`")
	case has && !hasParameters:
		r.add(from.line, path+".poolParameters", "missing", "name the parameters that come from the pool, such as [sharedEndpoint]")
	}

	if has {
		p.tier, _ = r.text(from, path+".pool")
		r.pooled = append(r.pooled, pooled{path: path, line: from.line, pool: p.tier})

		if strings.HasPrefix(name, PoolPrefix) {
			r.add(from.line, path+".pool", "a pool cannot live in a pool", "remove the line, or rename the tier if it is none of pools")
		}
	}

	if hasParameters {
		p.outputs = r.poolParameters(parameters, path+".poolParameters")
		r.twice(fields, path, p.outputs)
	}

	return p
}

// twice refuses parameters that both the tier and its pool give.
func (r *reader) twice(fields map[string]entry, path string, outputs map[string]string) {
	own, ok := fields["parameters"]
	if !ok {
		return
	}

	for name := range outputs {
		if at := r.lineOf(own.value, name, 0); at > 0 {
			r.add(at, path+".parameters."+name, "it comes from the pool too", "remove it here, or from poolParameters")
		}
	}
}

// poolParameters reads a list of parameters whose outputs have the same names, or
// a mapping of parameters to outputs.
func (r *reader) poolParameters(e entry, path string) map[string]string {
	outputs := map[string]string{}

	switch n := e.value.(type) {
	case *ast.SequenceNode:
		for i, item := range n.Values {
			if name, ok := r.text(entry{line: line(item), value: item}, fmt.Sprintf("%s[%d]", path, i)); ok {
				outputs[name] = name
			}
		}
	case *ast.MappingNode:
		entries, _ := r.mapping(n, path, nil)
		for name, output := range entries {
			outputs[name], _ = r.text(output, join(path, name))
		}
	default:
		r.wrongType(e.value, path, "a list of parameters, or a mapping of parameters to outputs of the pool")

		return nil
	}

	if len(outputs) == 0 {
		r.add(e.line, path, "empty", "name the parameters that come from the pool, such as [sharedEndpoint]")
	}

	return outputs
}

// pools checks that every pool that a tier names can be one.
func (r *reader) pools() {
	var known []string

	for name := range r.catalog.tiers {
		if strings.HasPrefix(name, PoolPrefix) {
			known = append(known, name)
		}
	}

	slices.Sort(known)

	for _, p := range r.pooled {
		_, there := r.catalog.tiers[p.pool]

		switch {
		case p.pool == "" || slices.Contains(known, p.pool):
		case there:
			r.add(p.line, p.path+".pool", fmt.Sprintf("tier %q is none of pools: the names of those begin with %q", p.pool, PoolPrefix),
				fmt.Sprintf("rename it to %q, or name another", PoolPrefix+p.pool))
		default:
			r.unknown(p.line, p.path+".pool", "tier of pools", p.pool, known)
		}
	}
}
