package e2e_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// hubCatalog has a tier for two tenants: its pool has no more blocks.
const hubCatalog = `version: 1
tiers:
  peered:
    program: silo
    maxAttempts: 1
    addresses: {range: 10.96.0.0/19, prefix: 20}
    parameters:
      peerVpcId: %s
      peerCidr: 10.95.0.0/16
      peerRouteTableIds: [%s]
      peerAccess: [loadBalancer]
`

// networkOf is the range of a tenant's only VPC.
func networkOf(t *testing.T, id tenant.ID) netip.Prefix {
	t.Helper()

	vpcs, err := local.Cloud().List(t.Context(), cloudsim.Filter{
		Type: cloudsim.TypeVPC, Tags: map[string]string{cloudsim.TagTenant: id.String()},
	})
	require.NoError(t, err)
	require.Len(t, vpcs, 1)

	return netip.MustParsePrefix(vpcs[0].Text("cidrBlock"))
}

// Tenants of a tier that is peered with one hub have networks that do not overlap.
// A block is free again once its tenant is gone.
func TestNetworksOfATierDoNotOverlap(t *testing.T) {
	t.Parallel()

	const region = "us-east-1"

	simulate := func(typ string, inputs map[string]any) cloudsim.Resource {
		r, err := local.Cloud().Create(t.Context(), cloudsim.Creation{Type: typ, Region: region, Inputs: inputs})
		require.NoError(t, err)

		return r
	}

	hub := simulate(cloudsim.TypeVPC, map[string]any{"cidrBlock": "10.95.0.0/16"})
	table := simulate(cloudsim.TypeRouteTable, map[string]any{"vpcId": hub.ID})

	catalog := filepath.Join(t.TempDir(), "hub.yaml")
	require.NoError(t, os.WriteFile(catalog, fmt.Appendf(nil, hubCatalog, hub.ID, table.ID), 0o600))

	f := newFleet(t, 1, "LESSOR_CATALOG="+catalog)

	f.create("spoke-1", "peered")
	f.create("spoke-2", "peered")
	f.ready("spoke-1")
	f.ready("spoke-2")

	one, two := networkOf(t, "spoke-1"), networkOf(t, "spoke-2")
	require.False(t, one.Overlaps(two))

	for _, network := range []netip.Prefix{one, two} {
		require.Equal(t, 20, network.Bits())

		_, err := local.Cloud().Get(t.Context(), cloudsim.TypeRoute, region, cloudsim.RouteID(table.ID, network.String()))
		require.NoError(t, err, "the hub finds it")
	}

	t.Log("a third one finds the pool full, and nothing is made")
	f.create("spoke-3", "peered")

	failure := f.refused("spoke-3")
	require.Equal(t, tenant.KindQuota, failure.Kind)
	require.Contains(t, failure.Message, "the address pool 10.96.0.0/19 is full: all of its 2 blocks of /20 are held")

	made, err := local.Cloud().OfTenant(t.Context(), "spoke-3")
	require.NoError(t, err)
	require.Empty(t, made)

	t.Log("until another one is gone")
	f.delete("spoke-1")
	f.left("spoke-1")
	f.send(f.event(tenant.EventReprovision, "spoke-3", time.Now(), nil))
	f.applied("spoke-3", 2)
	require.Equal(t, one, networkOf(t, "spoke-3"))

	for _, id := range []tenant.ID{"spoke-2", "spoke-3"} {
		f.delete(id)
		f.left(id)
	}

	for _, r := range []cloudsim.Resource{table, hub} {
		require.NoError(t, local.Cloud().Remove(t.Context(), cloudsim.Removal{Type: r.Type, Region: region, ID: r.ID}), "nothing holds on to it")
	}
}
