package programs_test

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const provider = "t1-aws"

func TestSilo(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Silo(), topology())

	require.Equal(t, map[string]any{
		"isolation": "silo", "serving": true, "region": "eu-west-1",
		"vpcId": "t1-vpc-id", "subnetIds": []any{"t1-private-1-id", "t1-private-2-id"},
		"securityGroupId": "t1-db-access-id", "databaseEndpoint": "t1-db.example:5432", "databaseName": "app",
		"databaseSecretArn": "arn:secret", "kmsKeyArn": "arn:t1-key",
		"clusterArn": "arn:t1-cluster", "loadBalancerDns": "t1-alb.elb.example", "listenerArn": "arn:t1-listener",
	}, out.outputs)

	names := map[string]string{}
	for name, r := range out.resources {
		names[name] = r.TypeToken
	}

	require.Equal(t, map[string]string{
		provider: "pulumi:providers:aws", "t1-network": "lessor:programs:Network", "t1-encryption": "lessor:programs:Key",
		"t1-database": "lessor:programs:Database", "t1-vpc": "aws:ec2/vpc:Vpc", "t1-private-1": "aws:ec2/subnet:Subnet",
		"t1-private-2": "aws:ec2/subnet:Subnet", "t1-key": "aws:kms/key:Key", "t1-key-alias": "aws:kms/alias:Alias",
		"t1-db-access": "aws:ec2/securityGroup:SecurityGroup", "t1-db-subnets": "aws:rds/subnetGroup:SubnetGroup",
		"t1-db": "aws:rds/instance:Instance", "t1-db-logs": "aws:cloudwatch/logGroup:LogGroup",
		"t1-cluster": "aws:ecs/cluster:Cluster", "t1-balancer": "lessor:programs:Balancer", "t1-alb": "aws:lb/loadBalancer:LoadBalancer",
		"t1-alb-access": "aws:ec2/securityGroup:SecurityGroup", "t1-listener": "aws:lb/listener:Listener",
	}, names)
}

func TestSiloUsesItsOwnProvider(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Silo(), topology(func(top *engine.Topology) { top.RoleARN = "arn:aws:iam::1:role/tenant" }))

	for name, r := range out.resources {
		if strings.HasPrefix(r.TypeToken, "aws:") {
			require.Contains(t, r.Provider, "::"+provider+"::", name)
		}
	}

	config := out.inputs(provider)
	require.Equal(t, "eu-west-1", config["region"])
	require.Equal(t, map[string]any{
		"tags": map[string]any{"tenant-id": "acme", "tier": "enterprise", "managed-by": "lessor"},
	}, config["defaultTags"])
	require.Equal(t, map[string]any{"roleArn": "arn:aws:iam::1:role/tenant", "sessionName": "acme-t1-lessor"}, config["assumeRole"])
	require.NotContains(t, must(t, programs.Silo(), topology()).inputs(provider), "assumeRole")
}

func TestSiloDatabase(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Silo(), topology(with("storageGiB", "100"), with("maxStorageGiB", "200"), with("multiAz", "true")))
	db := out.inputs("t1-db")

	for property, want := range map[string]any{
		"identifier": "acme-t1-db", "engine": "postgres", "allocatedStorage": 100.0, "maxAllocatedStorage": 200.0, "multiAz": true,
		"storageEncrypted": true, "kmsKeyId": "arn:t1-key", "masterUserSecretKmsKeyId": "key-of-t1-key", "manageMasterUserPassword": true,
		"publiclyAccessible": false, "dbSubnetGroupName": "acme-t1-db", "vpcSecurityGroupIds": []any{"t1-db-access-id"},
		"backupRetentionPeriod": 7.0, "deletionProtection": false, "skipFinalSnapshot": true, "copyTagsToSnapshot": true,
	} {
		require.Equal(t, want, db[property], property)
	}

	require.NotContains(t, db, "password")
	require.NotContains(t, db, "finalSnapshotIdentifier")

	require.Equal(t, []any{"postgresql"}, db["enabledCloudwatchLogsExports"])

	logs := out.inputs("t1-db-logs")
	require.Equal(t, "/aws/rds/instance/acme-t1-db/postgresql", logs["name"])
	require.InEpsilon(t, 30.0, logs["retentionInDays"], 0)
	require.Contains(t, strings.Join(out.resources["t1-db"].RegisterRPC.GetDependencies(), "\n"), "::t1-db-logs", "or RDS makes the log group")
}

func TestSiloBalancer(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Silo(), topology(with("azs", "3")))
	balancer := out.inputs("t1-alb")

	for property, want := range map[string]any{
		"name": "acme-t1-alb", "internal": true, "loadBalancerType": "application", "dropInvalidHeaderFields": true,
		"subnets": []any{"t1-private-1-id", "t1-private-2-id", "t1-private-3-id"}, "securityGroups": []any{"t1-alb-access-id"},
	} {
		require.Equal(t, want, balancer[property], property)
	}

	listener := out.inputs("t1-listener")
	require.Equal(t, "HTTP", listener["protocol"])
	require.InEpsilon(t, 80.0, listener["port"], 0)
	require.NotContains(t, listener, "certificateArn")

	encrypted := must(t, programs.Silo(), topology(with("certificateArn", `"`+certificate+`"`))).inputs("t1-listener")
	require.Equal(t, "HTTPS", encrypted["protocol"])
	require.InEpsilon(t, 443.0, encrypted["port"], 0)
	require.Equal(t, certificate, encrypted["certificateArn"])
	require.Contains(t, encrypted["sslPolicy"], "TLS13")
}

func TestSiloIsProtectedOnceItStands(t *testing.T) {
	t.Parallel()

	standing := must(t, programs.Silo(), topology(func(top *engine.Topology) { top.Protect = true }))
	require.Equal(t, true, standing.inputs("t1-db")["deletionProtection"])

	protected := map[string]bool{}

	for name, r := range standing.resources {
		if r.RegisterRPC.GetProtect() {
			protected[name] = true
		}
	}

	require.Equal(t, map[string]bool{"t1-db": true, "t1-key": true}, protected, "what holds data, or the key to it")

	for name, r := range must(t, programs.Silo(), topology()).resources {
		require.False(t, r.RegisterRPC.GetProtect(), "%s: a first provision can be rolled back", name)
		require.False(t, r.RegisterRPC.GetRetainOnDelete(), name)
	}
}

func TestSiloKeepsASnapshotAndItsKey(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Silo(), topology(func(top *engine.Topology) { top.FinalSnapshot = "acme-final-1" }))
	db := out.inputs("t1-db")
	require.Equal(t, "acme-final-1", db["finalSnapshotIdentifier"])
	require.Equal(t, false, db["skipFinalSnapshot"])
	require.Equal(t, false, db["deletionProtection"])

	for name, r := range out.resources {
		require.Equal(t, name == "t1-key", r.RegisterRPC.GetRetainOnDelete(), name)
	}

	require.Equal(t, map[string]any{"Name": "acme-t1-key", "kept-for": "acme-final-1"}, out.inputs("t1-key")["tags"])
	require.Equal(t, map[string]any{"Name": "acme-t1-key"}, must(t, programs.Silo(), topology()).inputs("t1-key")["tags"])
}

// What a dead worker made is found by the name in its tags or in its inputs.
func TestEveryResourceOfSiloIsFoundByItsName(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Silo(), topology())
	// Of a type that the inventory does not know it would be unsure.
	strangers := []inventory.Resource{{ARN: "arn:aws:ec2:::x/x"}, {ARN: "arn:aws:rds:::x:x"}, {ARN: "arn:aws:kms:::x/x"}, {ARN: "arn:aws:ecs:::x/x"}, {ARN: "arn:aws:elasticloadbalancing:::x/x"}, {ARN: "arn:aws:logs:::x:x"}}

	for name, r := range out.resources {
		if !strings.HasPrefix(r.TypeToken, "aws:") {
			continue
		}

		in := out.inputs(name)
		_, verdict := inventory.Identify(inventory.Known{Type: r.TypeToken, Inputs: in}, strangers)
		require.NotEqual(t, inventory.Unsure, verdict, name)

		tags, _ := in["tags"].(map[string]any)
		require.True(t, verdict == inventory.Exists || tags[inventory.TagName] != nil, "%s has neither", name)
	}
}

func TestSuspendedSiloLetsNothingConnect(t *testing.T) {
	t.Parallel()

	rules := func(phase tenant.Phase) []any {
		out := must(t, programs.Silo(), topology(func(top *engine.Topology) { top.Phase = phase }))
		require.Equal(t, phase == tenant.PhaseActive, out.outputs["serving"])
		require.Equal(t, "acme-t1-db", out.inputs("t1-db")["identifier"], "the data stays")
		require.Empty(t, out.inputs("t1-db-access")["egress"])

		ingress, _ := out.inputs("t1-db-access")["ingress"].([]any)
		requests, _ := out.inputs("t1-alb-access")["ingress"].([]any)
		require.Len(t, requests, len(ingress))

		return ingress
	}

	require.Empty(t, rules(tenant.PhaseSuspended))

	active := rules(tenant.PhaseActive)
	require.Len(t, active, 1)

	rule, _ := active[0].(map[string]any)
	require.Equal(t, []any{"10.0.0.0/16"}, rule["cidrBlocks"])
	require.InEpsilon(t, 5432.0, rule["toPort"], 0)
}

func TestSiloZones(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		change []func(*engine.Topology)
		want   map[string]string
	}{
		"two": {nil, map[string]string{"eu-west-1a": "10.0.0.0/20", "eu-west-1b": "10.0.16.0/20"}},
		"three in a small range": {
			[]func(*engine.Topology){with("azs", "3"), with("cidr", `"192.168.7.0/24"`)},
			map[string]string{"eu-west-1a": "192.168.7.0/28", "eu-west-1b": "192.168.7.16/28", "eu-west-1c": "192.168.7.32/28"},
		},
		"named": {
			[]func(*engine.Topology){with("zones", `["eu-west-1b","eu-west-1c"]`), with("cidr", `"172.16.0.0/18"`)},
			map[string]string{"eu-west-1b": "172.16.0.0/22", "eu-west-1c": "172.16.4.0/22"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			out := must(t, programs.Silo(), topology(tc.change...))
			got := map[string]string{}
			whole, _ := out.inputs("t1-vpc")["cidrBlock"].(string)
			vpc := netip.MustParsePrefix(whole)

			for _, r := range out.resources {
				if r.TypeToken != "aws:ec2/subnet:Subnet" {
					continue
				}

				inputs := r.Inputs.Mappable()
				cidr, _ := inputs["cidrBlock"].(string)
				zone, _ := inputs["availabilityZone"].(string)
				got[zone] = cidr

				require.True(t, vpc.Contains(netip.MustParsePrefix(cidr).Addr()))
			}

			require.Equal(t, tc.want, got)
			require.GreaterOrEqual(t, len(got), 2)
		})
	}

	_, err := deploy(t, programs.Silo(), topology(with("zones", `["us-east-1a","us-east-1b"]`)))
	require.ErrorContains(t, err, "parameters.zones: us-east-1a is not in the tenant's region eu-west-1")
}

// TestPhysicalNames: whatever the tenant's id, names keep to AWS's rules, and
// two topologies can stand side by side.
func TestPhysicalNames(t *testing.T) {
	t.Parallel()

	identifier := regexp.MustCompile(`^[a-z](-?[a-z0-9])*$`)
	physical := func(id tenant.ID, generation int) []any {
		out := must(t, programs.Silo(), topology(func(top *engine.Topology) { top.Tenant, top.Generation = id, generation }))
		prefix := "t" + string(rune('0'+generation)) + "-"

		for name := range out.resources {
			require.True(t, strings.HasPrefix(name, prefix), name)
		}

		db, _ := out.inputs(prefix + "db")["identifier"].(string)
		require.Regexp(t, identifier, db)
		require.LessOrEqual(t, len(db), 63)

		balancer, _ := out.inputs(prefix + "alb")["name"].(string)
		require.LessOrEqual(t, len(balancer), 32)

		return []any{
			balancer, out.inputs(prefix + "cluster")["name"], out.inputs(prefix + "alb-access")["name"],
			db, out.inputs(prefix + "db-access")["name"], out.inputs(prefix + "db-subnets")["name"],
			out.inputs(prefix + "key-alias")["name"],
		}
	}

	seen := map[any]bool{}

	long := strings.Repeat("x", 62)

	for _, id := range []tenant.ID{"acme", "Acme", "acme_1", "acme.1", "acme-1", "0", tenant.ID(long + "x"), tenant.ID(long + "_")} {
		for generation := 1; generation <= 2; generation++ {
			for part, name := range physical(id, generation) {
				key := [2]any{part, name}
				require.False(t, seen[key], "%v of %s is taken", name, id)
				seen[key] = true
			}
		}
	}
}
