package catalog_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/catalog"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// networked accepts every parameter.
type networked struct{}

func (networked) Check(tenant.Parameters) error { return nil }

func parseNetworked(yaml string) (*catalog.Catalog, error) {
	return catalog.Parse([]byte(yaml), catalog.Checkers(map[string]networked{"silo": {}}), nil)
}

func TestAddresses(t *testing.T) {
	t.Parallel()

	c, err := parseNetworked(`version: 1
tiers:
  plain: {program: silo, parameters: {cidr: 10.64.0.0/16}}
  gold:
    program: silo
    addresses: {range: 10.64.0.0/10, prefix: 20}
    parameters: {peerVpcId: vpc-1, peerCidr: 10.0.0.0/16, cidr: 10.1.0.0/16}
  silver:
    program: silo
    addresses: {range: 10.64.0.0/10, prefix: 20}
    parameters: {peerVpcId: vpc-1, peerCidr: 10.0.0.0/16}
  bronze:
    program: silo
    addresses: {range: 10.128.0.0/16, prefix: 24}
`)
	require.NoError(t, err)

	pool := &tenant.AddressPool{Range: netip.MustParsePrefix("10.64.0.0/10"), Prefix: 20}

	for tier, want := range map[string]*tenant.AddressPool{
		"plain": nil, "gold": pool, "silver": pool, "bronze": {Range: netip.MustParsePrefix("10.128.0.0/16"), Prefix: 24},
	} {
		b, err := c.Resolve(tenant.Spec{Tier: tier, Region: "eu-west-1"})
		require.NoError(t, err)
		require.Equal(t, want, b.Addresses, tier)
	}
}

func TestAddressesAreRefused(t *testing.T) {
	t.Parallel()

	const head = "version: 1\ntiers:\n  a:\n    program: silo\n"

	for name, tc := range map[string]struct {
		yaml string
		want []string
	}{
		"no mapping":  {head + "    addresses: 10.64.0.0/10\n", []string{"line 5: tiers.a.addresses: is string"}},
		"unknown key": {head + "    addresses: {range: 10.64.0.0/10, prefx: 20}\n", []string{`unknown key "prefx"; did you mean "prefix"?`, "line 5: tiers.a.addresses.prefix: missing"}},
		"empty":       {head + "    addresses: {}\n", []string{"tiers.a.addresses.range: missing", "tiers.a.addresses.prefix: missing"}},
		"no range":    {head + "    addresses:\n      prefix: 20\n      range: tenants\n", []string{`line 7: tiers.a.addresses.range: "tenants" is no range; give one such as 10.64.0.0/10`}},
		"both wrong": {
			head + "    addresses:\n      range: 5\n      prefix: 28\n",
			[]string{"line 6: tiers.a.addresses.range: is int", "line 7: tiers.a.addresses.prefix: 28 is out of range; give an integer from 16 to 24"},
		},
		"public":    {head + "    addresses:\n      prefix: 20\n      range: 11.0.0.0/10\n", []string{"line 7: tiers.a.addresses.range: 11.0.0.0/10 is not private"}},
		"one block": {head + "    addresses:\n      range: 10.0.0.0/20\n      prefix: 20\n", []string{"line 7: tiers.a.addresses.prefix: 10.0.0.0/20 has not even two blocks"}},
		"another size of blocks": {
			head + "    addresses: {range: 10.64.0.0/10, prefix: 20}\n  b:\n    program: silo\n    addresses: {range: 10.64.0.0/10, prefix: 22}\n",
			[]string{"line 8: tiers.b.addresses: 10.64.0.0/10 overlaps 10.64.0.0/10 of tiers.a.addresses (line 5); give both tiers the same range and prefix"},
		},
		"a part of another": {
			head + "    addresses: {range: 10.65.0.0/16, prefix: 20}\n  b:\n    program: silo\n    addresses: {range: 10.64.0.0/10, prefix: 20}\n",
			[]string{"line 8: tiers.b.addresses: 10.64.0.0/10 overlaps 10.65.0.0/16 of tiers.a.addresses (line 5)"},
		},
		"a hub": {
			head + "    addresses: {range: 10.0.0.0/8, prefix: 20}\n    parameters:\n      peerVpcId: vpc-1\n      peerCidr: 10.1.0.0/16\n",
			[]string{"line 8: tiers.a.parameters.peerCidr: 10.1.0.0/16 overlaps 10.0.0.0/8 of tiers.a.addresses (line 5); choose a range that is apart"},
		},
		"the network of a peered tier": {
			head + "    addresses: {range: 10.0.0.0/10, prefix: 20}\n    parameters: {peerVpcId: vpc-1, peerCidr: 10.200.0.0/16}\n" +
				"  b:\n    program: silo\n    addresses: {range: 10.64.0.0/10, prefix: 20}\n    parameters:\n      peerVpcId: vpc-1\n      cidr: 10.1.0.0/16\n",
			[]string{"line 12: tiers.b.parameters.cidr: 10.1.0.0/16 overlaps 10.0.0.0/10 of tiers.a.addresses (line 5)"},
		},
		"peered without a pool": {
			head + "    parameters:\n      cidr: 10.1.0.0/16\n      peerVpcId: vpc-1\n",
			[]string{"line 7: tiers.a.parameters.peerVpcId: a network can be peered only if no other has its range"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := parseNetworked(tc.yaml)
			require.Error(t, err)

			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}

			require.Len(t, strings.Split(err.Error(), "\n"), len(tc.want), "%v", err)
		})
	}
}
