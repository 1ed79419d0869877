package programs_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func TestAllIsTheCallersOwn(t *testing.T) {
	t.Parallel()

	all := programs.All()
	require.Len(t, all, 2)
	require.Contains(t, all, "pool")
	require.Contains(t, all, "silo")

	delete(all, "pool")
	require.Contains(t, programs.All(), "pool")
}

func TestBadParametersAreNamed(t *testing.T) {
	t.Parallel()

	silo, pool := programs.Silo(), programs.Pool()

	for name, tc := range map[string]struct {
		program    engine.Program
		parameters string
		want       string
	}{
		"pool without endpoint":  {pool, ``, "sharedEndpoint: missing"},
		"pool with bad endpoint": {pool, `"sharedEndpoint": "https://x"`, `sharedEndpoint: "https://x" is neither`},
		"pool with bad prefix":   {pool, `"sharedEndpoint": "x", "schemaPrefix": "A-"`, "schemaPrefix: "},
		"typo":                   {silo, `"instanceClas": "x"`, "instanceClas: unknown parameter; did you mean instanceClass?"},
		"wrong type":             {silo, `"azs": "two"`, "azs: must be a whole number"},
		"one zone":               {silo, `"azs": 1`, "azs: 1 is not between 2 and 6"},
		"many zones":             {silo, `"azs": 7`, "azs: 7"},
		"one named zone":         {silo, `"zones": ["eu-west-1a"]`, "zones: 1 zones"},
		"bad zone":               {silo, `"zones": ["a", "b"]`, `zones: "a" is no availability zone`},
		"zone twice":             {silo, `"zones": ["eu-west-1a", "eu-west-1a"]`, "zones: eu-west-1a is named twice"},
		"no range":               {silo, `"cidr": "ten"`, `cidr: "ten" is no IPv4 range`},
		"IPv6":                   {silo, `"cidr": "fd00::/16"`, "cidr: "},
		"range with host":        {silo, `"cidr": "10.0.0.1/16"`, "cidr: 10.0.0.1/16 has bits beyond its length; write 10.0.0.0/16"},
		"range too large":        {silo, `"cidr": "10.0.0.0/15"`, "cidr: 10.0.0.0/15 must be between /16 and /24"},
		"range too small":        {silo, `"cidr": "10.0.0.0/25"`, "cidr: "},
		"public range":           {silo, `"cidr": "8.8.0.0/16"`, "cidr: 8.8.0.0/16 is not private"},
		"small storage":          {silo, `"storageGiB": 19`, "storageGiB: 19 is not between 20 and 65536"},
		"growth to less":         {silo, `"storageGiB": 50, "maxStorageGiB": 50`, "maxStorageGiB: 50 must be 0 or above"},
		"no backups":             {silo, `"backupDays": 0`, "backupDays: 0"},
		"hasty key":              {silo, `"keyDeletionDays": 1`, "keyDeletionDays: 1"},
		"bad class":              {silo, `"instanceClass": "m7g.large"`, "instanceClass: "},
		"bad version":            {silo, `"engineVersion": "latest"`, "engineVersion: "},
		"bad database":           {silo, `"databaseName": "My-DB"`, "databaseName: "},
		"several at once":        {silo, `"azs": 1, "storageGiB": 1`, "azs: 1 is not between 2 and 6\nparameters.storageGiB: 1 is"},
		"password refused":       {silo, `"password": "x"`, "password: unknown parameter"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			parameters := tenant.Parameters{}
			require.NoError(t, json.Unmarshal([]byte("{"+tc.parameters+"}"), &parameters))

			err := tc.program.Check(parameters)
			require.ErrorContains(t, err, "parameters."+tc.want)

			var parameter *engine.ParameterError

			require.ErrorAs(t, err, &parameter)

			_, deployed := deploy(t, tc.program, topology(func(top *engine.Topology) { top.Parameters = parameters }))
			require.ErrorContains(t, deployed, tc.want, "a deployment refuses what the check refuses")
		})
	}
}

func TestNewWithoutValidation(t *testing.T) {
	t.Parallel()

	type parameters struct {
		Size int `json:"size"`
	}

	errDeploy := errors.New("deployed")
	program := programs.New(func() parameters { return parameters{Size: 3} }, nil,
		func(_ *pulumi.Context, _ engine.Topology, p parameters) (pulumi.Map, error) {
			require.Equal(t, 3, p.Size)

			return nil, errDeploy
		})

	require.NoError(t, program.Check(nil))

	_, err := program.Deploy(nil, engine.Topology{})
	require.ErrorIs(t, err, errDeploy)
}

func TestPoolMakesNothing(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Pool(), topology(with("sharedEndpoint", `"pool.example.com:5432"`)))
	require.Empty(t, out.resources, "no provider is started")
	require.Equal(t, map[string]any{
		"isolation": "pool", "serving": true, "region": "eu-west-1",
		"sharedClusterSchema": "tenant_acme", "sharedEndpoint": "pool.example.com:5432",
	}, out.outputs)

	out = must(t, programs.Pool(), topology(with("sharedEndpoint", `"x"`), func(top *engine.Topology) {
		top.Phase = tenant.PhaseSuspended
	}))
	require.Equal(t, false, out.outputs["serving"])
}

func TestSchemasDoNotCollide(t *testing.T) {
	t.Parallel()

	seen := map[any]tenant.ID{}

	long := strings.Repeat("a", 62)

	for _, id := range []tenant.ID{"a-b", "a_b", "a.b", "A-B", "a--b", tenant.ID(long + "a"), tenant.ID(long + "b")} {
		out := must(t, programs.Pool(), topology(with("sharedEndpoint", `"x"`), func(top *engine.Topology) { top.Tenant = id }))
		schema := out.outputs["sharedClusterSchema"]

		require.Regexp(t, `^tenant_[a-z0-9_]{1,56}$`, schema)
		require.NotContains(t, seen, schema, "%s and %s", id, seen[schema])
		seen[schema] = id
	}
}
