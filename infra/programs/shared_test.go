package programs_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const certificate = "arn:aws:acm:eu-west-1:123456789012:certificate/12345678-1234-1234-1234-123456789012"

func TestShared(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Shared(), topology())

	require.Equal(t, map[string]any{
		"isolation": "shared", "serving": true, "region": "eu-west-1",
		"sharedEndpoint": "t1-db.example:5432", "databaseName": "app", "databaseSecretArn": "arn:secret", "kmsKeyArn": "arn:t1-key",
		"clusterArn": "arn:t1-cluster", "listenerArn": "arn:t1-listener", "scheme": "http", "loadBalancerDns": "t1-alb.elb.example",
		"vpcId": "t1-vpc-id", "subnetIds": []any{"t1-private-1-id", "t1-private-2-id"},
		"securityGroupIds": []any{"t1-container-access-id"}, "executionRoleArn": "arn:t1-role",
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
		"t1-container-access": "aws:ec2/securityGroup:SecurityGroup", "t1-identity": "lessor:programs:Identity",
		"t1-role": "aws:iam/role:Role", "t1-role-policy": "aws:iam/rolePolicy:RolePolicy",
		"t1-endpoints": "lessor:programs:Endpoints", "t1-endpoint-access": "aws:ec2/securityGroup:SecurityGroup",
		"t1-endpoint-s3": "aws:ec2/vpcEndpoint:VpcEndpoint", "t1-endpoint-dynamodb": "aws:ec2/vpcEndpoint:VpcEndpoint",
		"t1-endpoint-ecr-api": "aws:ec2/vpcEndpoint:VpcEndpoint", "t1-endpoint-ecr-dkr": "aws:ec2/vpcEndpoint:VpcEndpoint",
		"t1-endpoint-logs": "aws:ec2/vpcEndpoint:VpcEndpoint", "t1-endpoint-sqs": "aws:ec2/vpcEndpoint:VpcEndpoint",
		"t1-endpoint-secretsmanager": "aws:ec2/vpcEndpoint:VpcEndpoint",
	}, names)

	for name, r := range out.resources {
		if strings.HasPrefix(r.TypeToken, "aws:") {
			require.Contains(t, r.Provider, "::"+provider+"::", name)
		}
	}

	encrypted := must(t, programs.Shared(), topology(with("certificateArn", `"`+certificate+`"`)))
	require.Equal(t, "https", encrypted.outputs["scheme"])
	require.Equal(t, "HTTPS", encrypted.inputs("t1-listener")["protocol"])
}

// TestSharedIsWhatItsTenantsNeed: the outputs of a pool are parameters of the
// programs of its tenants, in name and in form.
func TestSharedIsWhatItsTenantsNeed(t *testing.T) {
	t.Parallel()

	outputs := must(t, programs.Shared(), topology()).outputs
	// As AWS names them: the engine that records has names of its own.
	for name, value := range map[string]any{
		"clusterArn":  "arn:aws:ecs:eu-west-1:123456789012:cluster/shared",
		"listenerArn": "arn:aws:elasticloadbalancing:eu-west-1:123456789012:listener/app/shared/1/2",
		"vpcId":       "vpc-00000001", "subnetIds": []any{"subnet-00000001", "subnet-00000002"}, "securityGroupIds": []any{"sg-00000001"},
		"executionRoleArn": "arn:aws:iam::123456789012:role/execution",
	} {
		require.IsType(t, value, outputs[name], name)
		outputs[name] = value
	}

	for program, more := range map[string]map[string]any{
		programs.NamePool: {}, programs.NameBridge: {"domain": "tenants.example.com", "image": "images.example.com/app:1"},
	} {
		d, ok := programs.Describe(programs.All()[program])
		require.True(t, ok)

		parameters, given := tenant.Parameters{}, 0

		for _, p := range d.Parameters {
			value, ok := outputs[p.Name]
			if !ok {
				value, ok = more[p.Name]
			} else {
				given++
			}

			if !ok {
				require.NotEmpty(t, p.Default, "%s of %s comes from nowhere", p.Name, program)

				continue
			}

			raw, err := json.Marshal(value)
			require.NoError(t, err)

			parameters[p.Name] = raw
		}

		require.Positive(t, given)
		require.NoError(t, programs.All()[program].Check(parameters), program)
	}
}

func TestSharedAccess(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Shared(), topology(with("cidr", `"10.7.0.0/20"`)))
	access := out.inputs("t1-container-access")

	require.Equal(t, []any{map[string]any{
		"description": "Requests from the load balancer", "protocol": "tcp", "fromPort": 0.0, "toPort": 65535.0,
		"securityGroups": []any{"t1-alb-access-id"},
	}}, access["ingress"], "the load balancer, and nobody else")

	egress, _ := access["egress"].([]any)
	require.Len(t, egress, 2)

	database, _ := egress[0].(map[string]any)
	require.Equal(t, []any{"10.7.0.0/20"}, database["cidrBlocks"])
	require.InEpsilon(t, 5432.0, database["toPort"], 0)

	services, _ := egress[1].(map[string]any)
	require.InEpsilon(t, 443.0, services["fromPort"], 0)
	require.InEpsilon(t, 443.0, services["toPort"], 0)

	closed := must(t, programs.Shared(), topology(with("cidr", `"10.7.0.0/20"`), suspended))
	require.Equal(t, false, closed.outputs["serving"])
	require.Empty(t, closed.inputs("t1-db-access")["ingress"])
	require.Empty(t, closed.inputs("t1-alb-access")["ingress"])
}

func TestSharedEndpoints(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Shared(), topology(with("endpoints", `["ecr.api"]`), with("cidr", `"10.7.0.0/20"`)))

	for property, want := range map[string]any{
		"vpcId": "t1-vpc-id", "serviceName": "com.amazonaws.eu-west-1.s3", "vpcEndpointType": "Gateway", "routeTableIds": []any{"main-of-t1-vpc"},
	} {
		require.Equal(t, want, out.inputs("t1-endpoint-s3")[property], property)
	}

	for property, want := range map[string]any{
		"serviceName": "com.amazonaws.eu-west-1.ecr.api", "vpcEndpointType": "Interface", "privateDnsEnabled": true,
		"subnetIds": []any{"t1-private-1-id", "t1-private-2-id"}, "securityGroupIds": []any{"t1-endpoint-access-id"},
	} {
		require.Equal(t, want, out.inputs("t1-endpoint-ecr-api")[property], property)
	}

	ingress, _ := out.inputs("t1-endpoint-access")["ingress"].([]any)
	require.Len(t, ingress, 1)

	rule, _ := ingress[0].(map[string]any)
	require.Equal(t, []any{"10.7.0.0/20"}, rule["cidrBlocks"])
	require.InEpsilon(t, 443.0, rule["fromPort"], 0)
	require.NotContains(t, out.resources, "t1-endpoint-sqs")

	none := must(t, programs.Shared(), topology(with("endpoints", `[]`)))
	require.NotContains(t, none.resources, "t1-endpoint-access")
	require.Contains(t, none.resources, "t1-endpoint-dynamodb", "it costs nothing")
}

// TestExecutionRoleStartsTasksOnly reads the policies.
func TestExecutionRoleStartsTasksOnly(t *testing.T) {
	t.Parallel()

	type statement struct {
		Sid      string   `json:"Sid"`
		Effect   string   `json:"Effect"`
		Action   []string `json:"Action"`
		Resource []string `json:"Resource"`
	}

	read := func(out outcome) []statement {
		var policy struct {
			Statement []statement `json:"Statement"`
		}

		text, _ := out.inputs("t1-role-policy")["policy"].(string)
		require.NoError(t, json.Unmarshal([]byte(text), &policy))

		return policy.Statement
	}

	out := must(t, programs.Shared(), topology())
	pull := []string{"ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"}

	require.Equal(t, []statement{
		{"SignIn", "Allow", []string{"ecr:GetAuthorizationToken"}, []string{"*"}},
		{"Images", "Allow", pull, []string{"arn:aws:ecr:eu-west-1:123456789012:repository/*"}},
		{"Logs", "Allow", []string{"logs:CreateLogStream", "logs:PutLogEvents"}, []string{"arn:aws:logs:eu-west-1:123456789012:log-group:/lessor/*:*"}},
	}, read(out))

	trust, _ := out.inputs("t1-role")["assumeRolePolicy"].(string)
	require.JSONEq(t, `{"Version":"2012-10-17","Statement":[{
		"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"ecs-tasks.amazonaws.com"},
		"Condition":{"StringEquals":{"aws:SourceAccount":"123456789012"},"ArnLike":{"aws:SourceArn":"arn:aws:ecs:eu-west-1:123456789012:*"}}
	}]}`, trust)
	require.Equal(t, "acme-t1-execution", out.inputs("t1-role")["name"])

	const repository = "arn:aws:ecr:us-east-1:210987654321:repository/app"

	require.Equal(t, []string{repository},
		read(must(t, programs.Shared(), topology(with("repositoryArns", `["`+repository+`"]`))))[1].Resource)
}

func TestSharedIsProtectedOnceItStands(t *testing.T) {
	t.Parallel()

	protected := map[string]bool{}

	for name, r := range must(t, programs.Shared(), topology(func(top *engine.Topology) { top.Protect = true })).resources {
		if r.RegisterRPC.GetProtect() {
			protected[name] = true
		}
	}

	require.Equal(t, map[string]bool{"t1-db": true, "t1-key": true}, protected)

	for name, r := range must(t, programs.Shared(), topology()).resources {
		require.False(t, r.RegisterRPC.GetProtect(), name)
	}
}

func TestSharedDatabase(t *testing.T) {
	t.Parallel()

	db := must(t, programs.Shared(), topology(
		with("multiAz", "true"), with("backupDays", "35"), with("storageGiB", "100"), with("maxStorageGiB", "400"),
		with("databaseName", `"tenants"`), with("instanceClass", `"db.r7g.large"`), with("engineVersion", `"16"`), with("logRetentionDays", "90"),
	))

	for property, want := range map[string]any{
		"multiAz": true, "backupRetentionPeriod": 35.0, "allocatedStorage": 100.0, "maxAllocatedStorage": 400.0, "dbName": "tenants",
		"instanceClass": "db.r7g.large", "engineVersion": "16", "storageEncrypted": true, "manageMasterUserPassword": true,
	} {
		require.Equal(t, want, db.inputs("t1-db")[property], property)
	}

	require.NotContains(t, db.inputs("t1-db"), "password")
	require.InEpsilon(t, 90.0, db.inputs("t1-db-logs")["retentionInDays"], 0)
}

// What a dead worker made is found by the name in its tags or in its inputs.
func TestEveryResourceOfSharedIsFoundByItsName(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Shared(), topology())
	role := regexp.MustCompile(`aws:iam/rolePolicy:`)

	for name, r := range out.resources {
		if !strings.HasPrefix(r.TypeToken, "aws:") || role.MatchString(r.TypeToken) {
			continue
		}

		in := out.inputs(name)
		_, verdict := inventory.Identify(inventory.Known{Type: r.TypeToken, Inputs: in}, nil)
		tags, _ := in["tags"].(map[string]any)
		require.True(t, verdict == inventory.Exists || tags[inventory.TagName] != nil, "%s has neither", name)
	}
}
