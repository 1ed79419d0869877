// Package catalog_test checks the shipped catalog against the shipped programs.
package catalog_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/catalog"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func load(t *testing.T) *catalog.Catalog {
	t.Helper()

	c, err := catalog.Load("catalog.yaml", catalog.Checkers(programs.All()), nil)
	require.NoError(t, err)

	return c
}

func TestShippedCatalog(t *testing.T) {
	t.Parallel()

	c := load(t)
	require.Equal(t, []string{"business", "enterprise", "free", "standard"}, c.Tiers())

	for tier, want := range map[string]struct {
		program string
		wave    int
		guarded bool
	}{
		"free":       {programs.NamePool, 1, false},
		"standard":   {programs.NamePool, 2, false},
		"business":   {programs.NameBridge, 2, true},
		"enterprise": {programs.NameSilo, 3, true},
	} {
		b, err := c.Resolve(tenant.Spec{Tier: tier, Region: "eu-central-1"})
		require.NoError(t, err, tier)
		require.Equal(t, want.program, b.Program, tier)
		require.Equal(t, want.guarded, b.Protect, tier)
		require.Equal(t, want.guarded, b.FinalSnapshot, tier)

		wave, _ := c.Wave(tier)
		require.Equal(t, want.wave, wave, tier)
	}
}

func TestShippedCatalogRefuses(t *testing.T) {
	t.Parallel()

	c := load(t)

	for name, tc := range map[string]struct {
		tier, parameter, value, field, message string
	}{
		"one zone":         {"enterprise", "azs", "1", "parameters.azs", "1 is not between 2 and 6"},
		"wrong type":       {"enterprise", "storageGiB", `"big"`, "parameters.storageGiB", "refuses"},
		"one subnet":       {"business", "subnetIds", `["subnet-00000001"]`, "parameters.subnetIds", "1 is not between 2 and 16"},
		"no such size":     {"business", "memory", "4096", "parameters.memory", "does not go with cpu 256"},
		"unknown":          {"enterprise", "instanceClas", `"db.t4g.micro"`, "parameters.instanceClas", "instanceClass"},
		"of other program": {"free", "cidr", `"10.0.0.0/16"`, "parameters.cidr", "refuses"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := c.Resolve(tenant.Spec{
				Tier: tc.tier, Region: "eu-central-1",
				Parameters: tenant.Parameters{tc.parameter: json.RawMessage(tc.value)},
			})

			var invalid *catalog.InvalidError
			require.ErrorAs(t, err, &invalid)
			require.Equal(t, tc.field, invalid.Field)
			require.Contains(t, invalid.Message, tc.message)
		})
	}
}
