package programs_test

import (
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
		program engine.Program
		params  map[string]string
		want    []string
	}{
		"pool without endpoint":  {pool, nil, []string{"parameters.sharedEndpoint: missing"}},
		"pool with bad endpoint": {pool, map[string]string{"sharedEndpoint": `"https://x"`}, []string{"parameters.sharedEndpoint: \"https://x\" is neither"}},
		"pool with bad prefix": {
			pool, map[string]string{"sharedEndpoint": `"x"`, "schemaPrefix": `"A-"`}, []string{"parameters.schemaPrefix: "},
		},
		"typo":             {silo, map[string]string{"instanceClas": `"db.m7g.large"`}, []string{"parameters.instanceClas: unknown parameter; did you mean instanceClass?"}},
		"wrong type":       {silo, map[string]string{"azs": `"two"`}, []string{"parameters.azs: must be a whole number"}},
		"one zone":         {silo, map[string]string{"azs": `1`}, []string{"parameters.azs: 1 is not between 2 and 6"}},
		"many zones":       {silo, map[string]string{"azs": `7`}, []string{"parameters.azs: 7"}},
		"one named zone":   {silo, map[string]string{"zones": `["eu-west-1a"]`}, []string{"parameters.zones: 1 zones"}},
		"bad zone":         {silo, map[string]string{"zones": `["a","b"]`}, []string{`parameters.zones: "a" is no availability zone`}},
		"zone twice":       {silo, map[string]string{"zones": `["eu-west-1a","eu-west-1a"]`}, []string{"parameters.zones: eu-west-1a is named twice"}},
		"no range":         {silo, map[string]string{"cidr": `"ten"`}, []string{`parameters.cidr: "ten" is no IPv4 range`}},
		"IPv6":             {silo, map[string]string{"cidr": `"fd00::/16"`}, []string{"parameters.cidr: "}},
		"range with host":  {silo, map[string]string{"cidr": `"10.0.0.1/16"`}, []string{"parameters.cidr: 10.0.0.1/16 has bits beyond its length; write 10.0.0.0/16"}},
		"range too large":  {silo, map[string]string{"cidr": `"10.0.0.0/15"`}, []string{"parameters.cidr: 10.0.0.0/15 must be between /16 and /24"}},
		"range too small":  {silo, map[string]string{"cidr": `"10.0.0.0/25"`}, []string{"parameters.cidr: "}},
		"public range":     {silo, map[string]string{"cidr": `"8.8.0.0/16"`}, []string{"parameters.cidr: 8.8.0.0/16 is not private"}},
		"small storage":    {silo, map[string]string{"storageGiB": `19`}, []string{"parameters.storageGiB: 19 is not between 20 and 65536"}},
		"growth to less":   {silo, map[string]string{"storageGiB": `50`, "maxStorageGiB": `50`}, []string{"parameters.maxStorageGiB: 50 must be 0 or above"}},
		"no backups":       {silo, map[string]string{"backupDays": `0`}, []string{"parameters.backupDays: 0"}},
		"hasty key":        {silo, map[string]string{"keyDeletionDays": `1`}, []string{"parameters.keyDeletionDays: 1"}},
		"bad class":        {silo, map[string]string{"instanceClass": `"m7g.large"`}, []string{"parameters.instanceClass: "}},
		"bad version":      {silo, map[string]string{"engineVersion": `"latest"`}, []string{"parameters.engineVersion: "}},
		"bad database":     {silo, map[string]string{"databaseName": `"My-DB"`}, []string{"parameters.databaseName: "}},
		"several at once":  {silo, map[string]string{"azs": `1`, "storageGiB": `1`}, []string{"parameters.azs: 1", "parameters.storageGiB: 1"}},
		"password refused": {silo, map[string]string{"password": `"x"`}, []string{"parameters.password: unknown parameter"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			parameters := tenant.Parameters{}
			for key, value := range tc.params {
				parameters[key] = []byte(value)
			}

			err := tc.program.Check(parameters)
			require.Error(t, err)

			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}

			var parameter *engine.ParameterError

			require.ErrorAs(t, err, &parameter)

			_, deployed := deploy(t, tc.program, topology(func(top *engine.Topology) { top.Parameters = parameters }))
			require.ErrorContains(t, deployed, tc.want[0], "a deployment refuses what the check refuses")
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

	out = must(t, programs.Pool(), topology(with("sharedEndpoint", `"x"`), func(top *engine.Topology) { top.Phase = tenant.PhaseSuspended }))
	require.Equal(t, false, out.outputs["serving"])
}

func TestSchemasDoNotCollide(t *testing.T) {
	t.Parallel()

	seen := map[any]tenant.ID{}

	for _, id := range []tenant.ID{"a-b", "a_b", "a.b", "A-B", "a--b", tenant.ID(strings.Repeat("a", 63)), tenant.ID(strings.Repeat("a", 62) + "b")} {
		out := must(t, programs.Pool(), topology(with("sharedEndpoint", `"x"`), func(top *engine.Topology) { top.Tenant = id }))
		schema := out.outputs["sharedClusterSchema"]

		require.Regexp(t, `^tenant_[a-z0-9_]{1,56}$`, schema)
		require.NotContains(t, seen, schema, "%s and %s", id, seen[schema])
		seen[schema] = id
	}
}
