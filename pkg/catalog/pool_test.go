package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/catalog"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// lodging needs an endpoint and a network, in the words of the engine, and takes
// a prefix.
type lodging struct{}

func (lodging) Check(parameters tenant.Parameters) error {
	var problems []error

	for _, name := range []string{"endpoint", "network"} {
		value, ok := parameters[name]

		var text string

		switch {
		case !ok:
			problems = append(problems, fmt.Errorf("parameters.%s: missing; %w", name, errParameter))
		case json.Unmarshal(value, &text) != nil:
			problems = append(problems, fmt.Errorf("parameters.%s: must be a string: %w", name, errParameter))
		}
	}

	if _, ok := parameters["prefixx"]; ok {
		problems = append(problems, fmt.Errorf("parameters.prefixx: unknown parameter: %w", errParameter))
	}

	return errors.Join(problems...)
}

// anything takes every parameter.
type anything struct{}

func (anything) Check(tenant.Parameters) error { return nil }

func lodgings() map[string]catalog.Checker {
	return map[string]catalog.Checker{"pool": lodging{}, "shared": anything{}}
}

const pooled = `version: 1
tiers:
  free:
    program: pool
    pool: pool-free
    poolParameters: {endpoint: databaseEndpoint, network: network}
    parameters: {prefix: x}
  business:
    program: pool
    pool: pool-business
    poolParameters: [endpoint, network]
  pool-free: {program: shared}
  pool-business: {program: shared}
`

func parsePooled(t *testing.T) *catalog.Catalog {
	t.Helper()

	c, err := catalog.Parse([]byte(pooled), lodgings(), nil)
	require.NoError(t, err)

	return c
}

func TestPool(t *testing.T) {
	t.Parallel()

	c := parsePooled(t)
	spec := tenant.Spec{Tier: "free", Region: "eu-west-1"}

	require.Equal(t, "pool-free", c.PoolTier("free"))
	require.Empty(t, c.PoolTier("pool-free"))
	require.Empty(t, c.PoolTier("gold"))

	b, err := c.Resolve(spec)
	require.NoError(t, err, "what comes from the pool is not missed yet")
	require.Equal(t, tenant.ID("pool-free-eu-west-1"), b.Pool)
	require.Equal(t, tenant.Parameters{"prefix": json.RawMessage(`"x"`)}, b.Parameters)

	_, err = tenant.ParseID(b.Pool.String())
	require.NoError(t, err)

	b, err = c.Resolve(tenant.Spec{Tier: "pool-free", Region: "eu-west-1"})
	require.NoError(t, err)
	require.Empty(t, b.Pool)
}

func TestComplete(t *testing.T) {
	t.Parallel()

	c := parsePooled(t)
	outputs := map[string]json.RawMessage{
		"databaseEndpoint": json.RawMessage(`"db:5432"`), "endpoint": json.RawMessage(`"other"`), "network": json.RawMessage(`"vpc-1"`),
		"unasked": json.RawMessage(`1`),
	}

	for name, tt := range map[string]struct {
		tier string
		own  tenant.Parameters
		want string
	}{
		"renamed":            {"free", nil, `{"endpoint": "db:5432", "network": "vpc-1", "prefix": "x"}`},
		"by the same names":  {"business", nil, `{"endpoint": "other", "network": "vpc-1"}`},
		"the tenant's own":   {"business", tenant.Parameters{"network": json.RawMessage(`"vpc-2"`)}, `{"endpoint": "other", "network": "vpc-2"}`},
		"another of its own": {"business", tenant.Parameters{"prefix": json.RawMessage(`"y"`)}, `{"endpoint": "other", "network": "vpc-1", "prefix": "y"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			b, err := c.Complete(tenant.Spec{Tier: tt.tier, Region: "us-east-1", Parameters: tt.own}, outputs)
			require.NoError(t, err)
			require.Equal(t, tenant.ID("pool-"+tt.tier+"-us-east-1"), b.Pool)

			raw, err := json.Marshal(b.Parameters)
			require.NoError(t, err)
			require.JSONEq(t, tt.want, string(raw))
		})
	}

	t.Run("the tier keeps its own", func(t *testing.T) {
		t.Parallel()

		b, err := c.Resolve(tenant.Spec{Tier: "free", Region: "us-east-1"})
		require.NoError(t, err)
		require.Len(t, b.Parameters, 1)
	})
}

func TestCompleteRefuses(t *testing.T) {
	t.Parallel()

	c := parsePooled(t)

	for name, tt := range map[string]struct {
		spec    tenant.Spec
		outputs string
		field   string
		message string
		hint    string
	}{
		"output missing": {
			tenant.Spec{Tier: "free", Region: "us-east-1"},
			`{"databaseEndpont": "x", "network": "y"}`,
			"parameters.endpoint", `pool pool-free-us-east-1 has no output "databaseEndpoint" for it`, `did you mean "databaseEndpont"?`,
		},
		"output of the wrong form": {
			tenant.Spec{Tier: "business", Region: "us-east-1"},
			`{"endpoint": 7, "network": "y"}`,
			"parameters.endpoint", "must be a string", "updated event",
		},
		"own parameter": {
			tenant.Spec{Tier: "business", Region: "us-east-1", Parameters: tenant.Parameters{"network": json.RawMessage("[]")}},
			`{"endpoint": "x"}`, "parameters.network", "must be a string", "updated event",
		},
		"no tier": {tenant.Spec{Tier: "gold", Region: "us-east-1"}, `{}`, "tier", `there is no tier "gold"`, "known: business, free, pool-business"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var outputs map[string]json.RawMessage

			require.NoError(t, json.Unmarshal([]byte(tt.outputs), &outputs))

			b, err := c.Complete(tt.spec, outputs)
			require.Zero(t, b)

			var invalid *catalog.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, tt.field, invalid.Field)
			require.Contains(t, invalid.Message, tt.message)
			require.Contains(t, invalid.Advice(), tt.hint)
		})
	}

	t.Run("own parameters are judged before the pool is there", func(t *testing.T) {
		t.Parallel()

		for _, parameter := range []string{"network", "prefixx"} {
			_, err := c.Resolve(tenant.Spec{
				Tier: "business", Region: "us-east-1",
				Parameters: tenant.Parameters{"endpoint": json.RawMessage(`"x"`), "network": json.RawMessage(`"y"`), parameter: json.RawMessage("[]")},
			})
			require.ErrorContains(t, err, "parameters."+parameter)
		}
	})
}

func TestSuits(t *testing.T) {
	t.Parallel()

	for name, tt := range map[string]struct {
		id, tier, region string
		want             string
	}{
		"tenant":                      {"acme", "free", "eu-west-1", ""},
		"pool":                        {"pool-free-eu-west-1", "pool-free", "eu-west-1", ""},
		"almost a pool":               {"poolside", "free", "eu-west-1", ""},
		"pool's id, tenants' tier":    {"pool-free-eu-west-1", "free", "eu-west-1", `ids that begin with "pool-" are those of pools, and tier "free" is none`},
		"pool's id, no tier":          {"pool-free-eu-west-1", "", "eu-west-1", "are those of pools"},
		"tenant in a tier of pools":   {"acme", "pool-free", "eu-west-1", "its only tenant in \"eu-west-1\" is pool-free-eu-west-1"},
		"pool in another pool's tier": {"pool-free-eu-west-1", "pool-business", "eu-west-1", "is pool-business-eu-west-1"},
		"pool in another region":      {"pool-free-eu-west-1", "pool-free", "us-east-1", "is pool-free-us-east-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			err := catalog.Suits(tenant.ID(tt.id), tenant.Spec{Tier: tt.tier, Region: tt.region})
			if tt.want == "" {
				require.NoError(t, err)

				return
			}

			var invalid *catalog.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, "tier", invalid.Field)
			require.Contains(t, invalid.Message, tt.want)
			require.NotEmpty(t, invalid.Advice())
		})
	}
}

func TestParseRefusesPools(t *testing.T) {
	t.Parallel()

	const (
		head   = "version: 1\ntiers:\n"
		shared = "  pool-free: {program: shared}\n"
		free   = "  free:\n    program: pool\n    pool: pool-free\n    poolParameters: [endpoint, network]\n"
	)

	long := "pool-" + strings.Repeat("x", 36)

	for name, tt := range map[string]struct {
		yaml string
		want []string
	}{
		"no such tier": {
			head + strings.ReplaceAll(free, "pool-free", "pool-fre") + shared,
			[]string{`line 5: tiers.free.pool: unknown tier of pools "pool-fre"; did you mean "pool-free"?`},
		},
		"no pools at all": {head + free, []string{`line 5: tiers.free.pool: unknown tier of pools "pool-free"; none is known`}},
		"tier of tenants": {
			head + strings.ReplaceAll(free, "pool-free", "common") + "  common: {program: shared}\n",
			[]string{`line 5: tiers.free.pool: tier "common" is none of pools`, `rename it to "pool-common"`},
		},
		"pool in a pool": {
			head + strings.ReplaceAll(free, "free:", "pool-a:") + shared,
			[]string{"line 5: tiers.pool-a.pool: a pool cannot live in a pool"},
		},
		"pool in itself": {
			head + strings.ReplaceAll(free, "free:\n", "pool-free:\n"),
			[]string{"line 5: tiers.pool-free.pool: a pool cannot live in a pool"},
		},
		"no parameters from it": {
			head + "  free:\n    program: shared\n    pool: pool-free\n" + shared,
			[]string{"line 5: tiers.free.poolParameters: missing; name the parameters"},
		},
		"parameters from no pool": {
			head + "  free:\n    program: shared\n    poolParameters: [endpoint]\n",
			[]string{"line 5: tiers.free.poolParameters: there is no pool to take them from"},
		},
		"empty": {
			head + "  free:\n    program: shared\n    pool: pool-free\n    poolParameters: []\n" + shared,
			[]string{"line 6: tiers.free.poolParameters: empty"},
		},
		"neither list nor mapping": {
			head + "  free:\n    program: shared\n    pool: pool-free\n    poolParameters: endpoint\n" + shared,
			[]string{"line 6: tiers.free.poolParameters: is string", "a list of parameters, or a mapping"},
		},
		"list of what is no name": {
			head + "  free:\n    program: shared\n    pool: pool-free\n    poolParameters: [1]\n" + shared,
			[]string{"line 6: tiers.free.poolParameters[0]: is int"},
		},
		"mapping to what is no name": {
			head + "  free:\n    program: shared\n    pool: pool-free\n    poolParameters:\n      endpoint: [x]\n" + shared,
			[]string{"line 7: tiers.free.poolParameters.endpoint: is sequence"},
		},
		"pool is no name": {
			head + "  free:\n    program: shared\n    pool: [pool-free]\n    poolParameters: [x]\n" + shared,
			[]string{"line 5: tiers.free.pool: is sequence"},
		},
		"given twice": {
			head + free + "    parameters:\n      prefix: x\n      network: y\n" + shared,
			[]string{"line 9: tiers.free.parameters.network: it comes from the pool too"},
		},
		"still missing": {
			head + strings.ReplaceAll(free, ", network", "") + shared,
			[]string{`line 3: tiers.free.parameters.network: program "pool" refuses: missing`},
		},
		"long name": {
			head + "  " + long + ": {program: shared}\n",
			[]string{"line 3: tiers." + long + ": the name of a tier of pools has more than 40 characters"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c, err := catalog.Parse([]byte(tt.yaml), lodgings(), nil)

			require.Nil(t, c)

			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}
