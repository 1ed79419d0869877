package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lessor-dev/lessor/internal/nearest"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Checker is what the catalog needs of a program: to judge parameters before
// anything is started. Its error says what is allowed and begins with
// "parameters.<name>: "; there may be several, joined.
type Checker interface {
	Check(parameters tenant.Parameters) error
}

// Checkers makes checkers of programs by name.
func Checkers[M ~map[string]P, P Checker](programs M) map[string]Checker {
	checkers := make(map[string]Checker, len(programs))
	for name, program := range programs {
		checkers[name] = program
	}

	return checkers
}

// InvalidError is the error of Resolve.
type InvalidError = tenant.InvalidError

// Catalog is a valid catalog. It is safe for concurrent use.
type Catalog struct {
	tiers    map[string]tier
	programs map[string]Checker
	regions  []string
}

type tier struct {
	blueprint tenant.Blueprint
	wave      int
	pool      pool
}

// Tiers lists the names of the tiers, sorted.
func (c *Catalog) Tiers() []string { return slices.Sorted(maps.Keys(c.tiers)) }

// Wave is the wave in which rollouts reach the tier; a tier that is not in the
// catalog is in none.
func (c *Catalog) Wave(name string) (wave int, ok bool) {
	t, ok := c.tiers[name]

	return t.wave, ok
}

// Resolve makes the blueprint of a tenant that shall be: the tier's, with the
// tenant's own parameters over those of the tier. What the catalog cannot
// serve is an *InvalidError. Where the tenant lives in a pool, the blueprint names
// it and lacks the parameters that come from there: see Complete.
func (c *Catalog) Resolve(spec tenant.Spec) (tenant.Blueprint, error) {
	blueprint, err := c.resolve(spec)
	if err != nil {
		return tenant.Blueprint{}, err
	}

	if err := c.check(spec.Tier, blueprint, c.tiers[spec.Tier].pool.outputs); err != nil {
		return tenant.Blueprint{}, err
	}

	return blueprint, nil
}

// resolve is Resolve without a look at the parameters.
func (c *Catalog) resolve(spec tenant.Spec) (tenant.Blueprint, error) {
	if spec.Tier == "" {
		return tenant.Blueprint{}, &InvalidError{
			Field:   "tier",
			Message: "the tenant has no tier",
			Hint:    "send a tier-changed event with one of " + strings.Join(c.Tiers(), ", "),
		}
	}

	t, ok := c.tiers[spec.Tier]
	if !ok {
		return tenant.Blueprint{}, &InvalidError{
			Field:   "tier",
			Message: fmt.Sprintf("there is no tier %q in the catalog", spec.Tier),
			Hint:    choose(spec.Tier, c.Tiers(), "send a tier-changed event, or add the tier to the catalog"),
		}
	}

	if err := c.checkRegion(spec.Region); err != nil {
		return tenant.Blueprint{}, err
	}

	blueprint := t.blueprint

	blueprint.Parameters = maps.Clone(t.blueprint.Parameters)
	for name, value := range spec.Parameters {
		if blueprint.Parameters == nil {
			blueprint.Parameters = tenant.Parameters{}
		}

		blueprint.Parameters[name] = value
	}

	if t.pool.tier != "" {
		blueprint.Pool = PoolID(t.pool.tier, spec.Region)
	}

	return blueprint, nil
}

func (c *Catalog) checkRegion(region string) error {
	switch {
	case region == "":
		return &InvalidError{
			Field:   "region",
			Message: "the tenant has no region",
			Hint:    "send a created event that names one",
		}
	case len(c.regions) > 0 && !slices.Contains(c.regions, region):
		return &InvalidError{
			Field:   "region",
			Message: fmt.Sprintf("region %q is not allowed", region),
			Hint:    choose(region, c.regions, "send a created event with an allowed region, or allow it in LESSOR_REGIONS"),
		}
	default:
		return nil
	}
}

// choose is a hint that offers what there is instead of a wrong value.
func choose(value string, known []string, otherwise string) string {
	hint := "known: " + strings.Join(known, ", ") + "; " + otherwise
	if meant := nearest.To(value, known); meant != "" {
		hint = fmt.Sprintf("did you mean %q? ", meant) + hint
	}

	return hint
}
