// Package catalog_test checks the shipped catalog against the shipped programs.
package catalog_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/catalog"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func load(tb testing.TB) *catalog.Catalog {
	tb.Helper()

	c, err := catalog.Load("catalog.yaml", catalog.Checkers(programs.All()), nil)
	require.NoError(tb, err)

	return c
}

func TestShippedCatalog(t *testing.T) {
	t.Parallel()

	c := load(t)
	require.Equal(t, []string{
		"business", "enterprise", "free", "pool-business", "pool-free", "pool-standard", "standard",
	}, c.Tiers())

	for tier, want := range map[string]struct {
		program string
		wave    int
		guarded bool
		pool    tenant.ID
	}{
		"free":          {programs.NamePool, 1, false, "pool-free-eu-central-1"},
		"standard":      {programs.NamePool, 2, false, "pool-standard-eu-central-1"},
		"business":      {programs.NameBridge, 2, true, "pool-business-eu-central-1"},
		"enterprise":    {programs.NameSilo, 3, true, ""},
		"pool-free":     {programs.NameShared, 1, true, ""},
		"pool-standard": {programs.NameShared, 2, true, ""},
		"pool-business": {programs.NameShared, 2, true, ""},
	} {
		b, err := c.Resolve(tenant.Spec{Tier: tier, Region: "eu-central-1"})
		require.NoError(t, err, tier)
		require.Equal(t, want.program, b.Program, tier)
		require.Equal(t, want.guarded, b.Protect, tier)
		require.Equal(t, want.guarded, b.FinalSnapshot, tier)
		require.Equal(t, want.pool, b.Pool, tier)

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

// TestPoolsHaveWhatTheirTenantsNeed: the program of a pool has every output that
// becomes a parameter of its tenants.
func TestPoolsHaveWhatTheirTenantsNeed(t *testing.T) {
	t.Parallel()

	const all = `{
		"sharedEndpoint": "db.example.com:5432", "clusterArn": "arn:aws:ecs:eu-central-1:123456789012:cluster/pool",
		"listenerArn": "arn:aws:elasticloadbalancing:eu-central-1:123456789012:listener/app/pool/50dc6c495c0c9188/f2f7dc8efc522ab2",
		"scheme": "http", "vpcId": "vpc-00000001", "subnetIds": ["subnet-00000001", "subnet-00000002"],
		"securityGroupIds": ["sg-00000001"], "executionRoleArn": "arn:aws:iam::123456789012:role/pool"
	}`

	c, outputs := load(t), map[string]json.RawMessage{}
	require.NoError(t, json.Unmarshal([]byte(all), &outputs))

	d, ok := programs.Describe(programs.Shared())
	require.True(t, ok)

	for name := range outputs {
		require.True(t, slices.ContainsFunc(d.Outputs, func(o programs.Output) bool { return o.Name == name }), name)
	}

	for _, tier := range []string{"free", "standard", "business"} {
		b, err := c.Resolve(tenant.Spec{Tier: c.PoolTier(tier), Region: "eu-central-1"})
		require.NoError(t, err)
		require.Equal(t, programs.NameShared, b.Program)

		b, err = c.Complete(tenant.Spec{Tier: tier, Region: "eu-central-1"}, outputs)
		require.NoError(t, err, tier)
		require.NotEmpty(t, b.Parameters)
	}
}
