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
	require.Len(t, all, 4)
	require.Contains(t, all, "bridge")
	require.Contains(t, all, "pool")
	require.Contains(t, all, "silo")
	require.Contains(t, all, "shared")

	delete(all, "pool")
	require.Contains(t, programs.All(), "pool")
}

func TestBadParametersAreNamed(t *testing.T) {
	t.Parallel()

	silo, pool, bridge, common := programs.Silo(), programs.Pool(), programs.Bridge(), programs.Shared()

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
		"version to come":        {silo, `"engineVersion": "19"`, `engineVersion: "19" must match`},
		"version of the past":    {silo, `"engineVersion": "12.9"`, "engineVersion: "},
		"bad database":           {silo, `"databaseName": "My-DB"`, "databaseName: "},
		"several at once":        {silo, `"azs": 1, "storageGiB": 1`, "azs: 1 is not between 2 and 6\nparameters.storageGiB: 1 is"},
		"logs for ever":          {silo, `"logRetentionDays": 0`, "logRetentionDays: 0 is none of 1 3 5"},
		"bad certificate":        {silo, `"certificateArn": "x"`, `certificateArn: "x" must match`},
		"bad hub":                {silo, `"peerVpcId": "hub", "peerCidr": "10.1.0.0/16"`, `peerVpcId: "hub" must match`},
		"hub without a range":    {silo, `"peerVpcId": "vpc-00000001"`, "peerCidr: missing"},
		"hub with a bad range":   {silo, `"peerVpcId": "vpc-00000001", "peerCidr": "hub"`, `peerCidr: "hub" is no IPv4 range`},
		"hub with host bits":     {silo, `"peerVpcId": "vpc-00000001", "peerCidr": "10.1.0.1/16"`, "peerCidr: 10.1.0.1/16 has bits beyond its length; write 10.1.0.0/16"},
		"hub that is too large":  {silo, `"peerVpcId": "vpc-00000001", "peerCidr": "10.0.0.0/8"`, "peerCidr: 10.0.0.0/8 must be between /16 and /28"},
		"range without a hub":    {silo, `"peerCidr": "10.1.0.0/16"`, "peerCidr: it says something of a peering, and peerVpcId is missing"},
		"routes without a hub":   {silo, `"peerRouteTableIds": ["rtb-00000001"]`, "peerRouteTableIds: it says"},
		"access without a hub":   {silo, `"peerAccess": ["database"]`, "peerAccess: it says"},
		"access to nothing":      {silo, `"peerVpcId": "vpc-00000001", "peerCidr": "10.1.0.0/16", "peerAccess": ["db"]`, `peerAccess: "db" must match`},
		"access twice":           {silo, `"peerVpcId": "vpc-00000001", "peerCidr": "10.1.0.0/16", "peerAccess": ["database", "database"]`, "peerAccess: database is named twice"},
		"bad route table":        {silo, `"peerVpcId": "vpc-00000001", "peerCidr": "10.1.0.0/16", "peerRouteTableIds": ["x"]`, `peerRouteTableIds: "x" must match`},
		"bridge of nothing":      {bridge, ``, "clusterArn: missing; it is required"},
		"bad cluster":            {bridge, shared(`"clusterArn": "shared"`), `clusterArn: "shared" must match`},
		"bad listener":           {bridge, shared(`"listenerArn": "arn:aws:ecs:eu-west-1:123456789012:cluster/x"`), "listenerArn: "},
		"bad VPC":                {bridge, shared(`"vpcId": "x"`), "vpcId: "},
		"one subnet":             {bridge, shared(`"subnetIds": ["subnet-00000001"]`), "subnetIds: 1 is not between 2 and 16"},
		"no subnets":             {bridge, shared(`"subnetIds": []`), "subnetIds: missing"},
		"bad subnet":             {bridge, shared(`"subnetIds": ["subnet-00000001", "x"]`), `subnetIds: "x" must match`},
		"subnet twice":           {bridge, shared(`"subnetIds": ["subnet-00000001", "subnet-00000001"]`), "subnetIds: subnet-00000001 is named twice"},
		"bad security group":     {bridge, shared(`"securityGroupIds": ["x"]`), "securityGroupIds: "},
		"bad execution role":     {bridge, shared(`"executionRoleArn": "x"`), "executionRoleArn: "},
		"bad domain":             {bridge, shared(`"domain": "https://x"`), "domain: "},
		"long domain":            {bridge, shared(`"domain": "` + strings.Repeat("a.", 31) + `com"`), "domain: 65 characters are more than 64"},
		"bad image":              {bridge, shared(`"image": "a b"`), "image: "},
		"no port":                {bridge, shared(`"containerPort": 0`), "containerPort: 0 is not between 1 and 65535"},
		"bad path":               {bridge, shared(`"healthCheckPath": "x"`), "healthCheckPath: "},
		"no such CPU":            {bridge, shared(`"cpu": 300`), "cpu: 300 is none of [256 512"},
		"too much memory":        {bridge, shared(`"memory": 4096`), "memory: 4096 does not go with cpu 256: Fargate has 512 or 1024 to 2048 in steps of 1024"},
		"memory between steps":   {bridge, shared(`"cpu": 8192, "memory": 17408`), "memory: 17408 does not go with cpu 8192: Fargate has 16384 to 61440 in steps of 4096"},
		"too little memory":      {bridge, shared(`"cpu": 1024, "memory": 1024`), "memory: 1024 does not go with cpu 1024"},
		"no tasks":               {bridge, shared(`"desiredCount": 0`), "desiredCount: 0"},
		"bad hash key":           {bridge, shared(`"hashKey": ""`), "hashKey: "},
		"one key for both":       {bridge, shared(`"rangeKey": "pk"`), `rangeKey: "pk" is the hash key`},
		"hidden too long":        {bridge, shared(`"visibilitySeconds": 43201`), "visibilitySeconds: 43201"},
		"kept too long":          {bridge, shared(`"messageRetentionDays": 15`), "messageRetentionDays: 15"},
		"never a dead letter":    {bridge, shared(`"maxReceiveCount": 0`), "maxReceiveCount: 0"},
		"term of one's own":      {bridge, shared(`"logRetentionDays": 31`), "logRetentionDays: 31 is none of"},
		"bad scheme":             {bridge, shared(`"scheme": "tcp"`), `scheme: "tcp" must match`},
		"shared, one zone":       {common, `"azs": 1`, "azs: 1 is not between 2 and 6"},
		"shared, zone twice":     {common, `"zones": ["eu-west-1a", "eu-west-1a"]`, "zones: eu-west-1a is named twice"},
		"shared, public range":   {common, `"cidr": "8.8.0.0/16"`, "cidr: 8.8.0.0/16 is not private"},
		"shared, growth to less": {common, `"maxStorageGiB": 20`, "maxStorageGiB: 20 must be 0 or above"},
		"shared, term":           {common, `"logRetentionDays": 31`, "logRetentionDays: 31 is none of"},
		"shared, no service":     {common, `"endpoints": ["ECR"]`, `endpoints: "ECR" must match`},
		"shared, service twice":  {common, `"endpoints": ["sqs", "sqs"]`, "endpoints: sqs is named twice"},
		"shared, no repository":  {common, `"repositoryArns": ["app"]`, `repositoryArns: "app" must match`},
		"shared, twice the same": {
			common, `"repositoryArns": ["arn:aws:ecr:eu-west-1:123456789012:repository/app", "arn:aws:ecr:eu-west-1:123456789012:repository/app"]`,
			"repositoryArns: arn:aws:ecr:eu-west-1:123456789012:repository/app is named twice",
		},
		"password refused": {silo, `"password": "x"`, "password: unknown parameter"},
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

// shared are parameters of Bridge with a change.
func shared(change string) string {
	parameters := map[string]json.RawMessage{}

	for _, text := range []string{bridgeParameters, change} {
		if err := json.Unmarshal([]byte("{"+text+"}"), &parameters); err != nil {
			panic(err)
		}
	}

	raw, _ := json.Marshal(parameters)

	return strings.Trim(string(raw), "{}")
}

const bridgeParameters = `
	"clusterArn": "arn:aws:ecs:eu-west-1:123456789012:cluster/shared",
	"listenerArn": "arn:aws:elasticloadbalancing:eu-west-1:123456789012:listener/app/shared/50dc6c495c0c9188/f2f7dc8efc522ab2",
	"vpcId": "vpc-00000001", "subnetIds": ["subnet-00000001", "subnet-00000002"], "securityGroupIds": ["sg-00000001"],
	"executionRoleArn": "arn:aws:iam::123456789012:role/execution", "domain": "tenants.example.com", "image": "images.example.com/app:1"`

// bridged is a topology of Bridge.
func bridged(changes ...func(*engine.Topology)) engine.Topology {
	parameters := tenant.Parameters{}
	if err := json.Unmarshal([]byte("{"+bridgeParameters+"}"), &parameters); err != nil {
		panic(err)
	}

	return topology(append([]func(*engine.Topology){func(top *engine.Topology) {
		top.Tier, top.Parameters = "business", parameters
	}}, changes...)...)
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
