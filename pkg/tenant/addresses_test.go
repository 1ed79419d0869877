package tenant_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestAddressPoolValidate(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		ranged       string
		prefix       int
		field, wants string
	}{
		"fine":              {"10.64.0.0/10", 20, "", ""},
		"a whole range":     {"172.16.0.0/12", 16, "", ""},
		"two blocks":        {"192.168.0.0/23", 24, "", ""},
		"IPv6":              {"fd00::/8", 20, "range", "10.64.0.0/10"},
		"bits beyond":       {"10.64.0.1/10", 20, "range", "write 10.64.0.0/10"},
		"public":            {"8.0.0.0/10", 20, "range", "172.16.0.0/12"},
		"only partly":       {"172.16.0.0/11", 20, "range", "bits beyond"},
		"wider than it all": {"10.0.0.0/7", 20, "range", "192.168.0.0/16"},
		"too large a block": {"10.0.0.0/8", 15, "prefix", "16 to 24"},
		"too small a block": {"10.0.0.0/8", 25, "prefix", "16 to 24"},
		"one block":         {"10.0.0.0/20", 20, "prefix", "two blocks"},
		"less than one":     {"10.0.0.0/20", 16, "prefix", "two blocks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			err := tenant.AddressPool{Range: netip.MustParsePrefix(tc.ranged), Prefix: tc.prefix}.Validate()
			if tc.field == "" {
				require.NoError(t, err)

				return
			}

			var invalid *tenant.InvalidError

			require.ErrorAs(t, err, &invalid)
			require.Equal(t, tc.field, invalid.Field)
			require.Contains(t, invalid.Message+"; "+invalid.Hint, tc.wants)
		})
	}

	require.Error(t, tenant.AddressPool{}.Validate())
}

func TestAddressPoolBlocks(t *testing.T) {
	t.Parallel()

	pool := tenant.AddressPool{Range: netip.MustParsePrefix("10.64.0.0/10"), Prefix: 20}
	require.Equal(t, 1024, pool.Blocks())

	for i, want := range map[int]string{0: "10.64.0.0/20", 1: "10.64.16.0/20", 16: "10.65.0.0/20", 1023: "10.127.240.0/20"} {
		require.Equal(t, want, pool.Block(i).String())
	}
}

func TestAddressPoolIsJSON(t *testing.T) {
	t.Parallel()

	raw, err := json.Marshal(tenant.Blueprint{Addresses: &tenant.AddressPool{Range: netip.MustParsePrefix("10.64.0.0/10"), Prefix: 20}})
	require.NoError(t, err)
	require.JSONEq(t, `{"program":"","addresses":{"range":"10.64.0.0/10","prefix":20}}`, string(raw))

	var read tenant.Blueprint

	require.NoError(t, json.Unmarshal(raw, &read))
	require.Equal(t, 20, read.Addresses.Prefix)
	require.Equal(t, "10.64.0.0/10", read.Addresses.Range.String())
}
