package programs_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

func suspended(top *engine.Topology) { top.Phase = tenant.PhaseSuspended }

func TestBridge(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Bridge(), bridged())

	require.Equal(t, map[string]any{
		"isolation": "bridge", "serving": true, "region": "eu-west-1", "endpoint": "https://acme-t1-app.tenants.example.com",
		"tableName": "acme-t1-data", "queueUrl": "https://sqs.example/t1-queue", "deadLetterQueueUrl": "https://sqs.example/t1-dead-letters",
		"logGroup": "/lessor/acme-t1-app", "roleArn": "arn:t1-role", "serviceName": "acme-t1-app",
		"clusterArn": "arn:aws:ecs:eu-west-1:123456789012:cluster/shared",
	}, out.outputs)

	names := map[string]string{}
	for name, r := range out.resources {
		names[name] = r.TypeToken
	}

	require.Equal(t, map[string]string{
		provider: "pulumi:providers:aws", "t1-data": "lessor:programs:Table", "t1-work": "lessor:programs:Queue",
		"t1-identity": "lessor:programs:Identity", "t1-app": "lessor:programs:Service",
		"t1-table": "aws:dynamodb/table:Table", "t1-queue": "aws:sqs/queue:Queue", "t1-dead-letters": "aws:sqs/queue:Queue",
		"t1-logs": "aws:cloudwatch/logGroup:LogGroup", "t1-role": "aws:iam/role:Role", "t1-role-policy": "aws:iam/rolePolicy:RolePolicy",
		"t1-task": "aws:ecs/taskDefinition:TaskDefinition", "t1-targets": "aws:lb/targetGroup:TargetGroup",
		"t1-route": "aws:lb/listenerRule:ListenerRule", "t1-service": "aws:ecs/service:Service",
	}, names)

	for name, r := range out.resources {
		if strings.HasPrefix(r.TypeToken, "aws:") {
			require.Contains(t, r.Provider, "::"+provider+"::", name)
		}
	}

	plain := must(t, programs.Bridge(), bridged(with("scheme", `"http"`)))
	require.Equal(t, "http://acme-t1-app.tenants.example.com", plain.outputs["endpoint"])
	require.Equal(t, "What tenant acme runs as", out.inputs("t1-role")["description"])
	require.Equal(t, "acme-t1-app", out.inputs("t1-role")["name"])
}

func TestBridgeData(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Bridge(), bridged())

	for property, want := range map[string]any{
		"billingMode": "PAY_PER_REQUEST", "hashKey": "pk", "rangeKey": "sk", "deletionProtectionEnabled": false,
		"pointInTimeRecovery": map[string]any{"enabled": true}, "serverSideEncryption": map[string]any{"enabled": true},
		"attributes": []any{map[string]any{"name": "pk", "type": "S"}, map[string]any{"name": "sk", "type": "S"}},
	} {
		require.Equal(t, want, out.inputs("t1-table")[property], property)
	}

	plain := must(t, programs.Bridge(), bridged(with("rangeKey", `"x"`), with("hashKey", `"id"`), with("pointInTimeRecovery", "false")))
	require.Equal(t, map[string]any{"enabled": false}, plain.inputs("t1-table")["pointInTimeRecovery"])

	queue, dead := out.inputs("t1-queue"), out.inputs("t1-dead-letters")
	require.Equal(t, true, queue["sqsManagedSseEnabled"])
	require.Equal(t, true, dead["sqsManagedSseEnabled"])
	require.InEpsilon(t, 4*86400.0, queue["messageRetentionSeconds"], 0)
	require.InEpsilon(t, 14*86400.0, dead["messageRetentionSeconds"], 0)

	redrive, _ := queue["redrivePolicy"].(string)
	require.JSONEq(t, `{"deadLetterTargetArn":"arn:t1-dead-letters","maxReceiveCount":5}`, redrive)
	require.InEpsilon(t, 30.0, out.inputs("t1-logs")["retentionInDays"], 0)
}

// TestBridgeRoleReachesItsOwnOnly reads the policies: least privilege is what is
// promised.
func TestBridgeRoleReachesItsOwnOnly(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Bridge(), bridged())

	type statement struct {
		Sid      string   `json:"Sid"`
		Effect   string   `json:"Effect"`
		Action   []string `json:"Action"`
		Resource []string `json:"Resource"`
	}

	var policy struct {
		Version   string      `json:"Version"`
		Statement []statement `json:"Statement"`
	}

	text, _ := out.inputs("t1-role-policy")["policy"].(string)
	require.NoError(t, json.Unmarshal([]byte(text), &policy))
	require.Equal(t, "2012-10-17", policy.Version)
	require.Equal(t, []statement{
		{"Items", "Allow", []string{
			"dynamodb:BatchGetItem", "dynamodb:BatchWriteItem", "dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:DescribeTable",
			"dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:Scan", "dynamodb:UpdateItem",
		}, []string{"arn:t1-table"}},
		{"Messages", "Allow", []string{
			"sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:GetQueueUrl", "sqs:ReceiveMessage", "sqs:SendMessage",
		}, []string{"arn:t1-queue"}},
		{"Logs", "Allow", []string{"logs:CreateLogStream", "logs:PutLogEvents"}, []string{"arn:t1-logs:*"}},
	}, policy.Statement)

	for _, s := range policy.Statement {
		require.NotContains(t, strings.Join(s.Action, ","), "*")
	}

	trust, _ := out.inputs("t1-role")["assumeRolePolicy"].(string)
	require.JSONEq(t, `{"Version":"2012-10-17","Statement":[{
		"Effect":"Allow","Action":"sts:AssumeRole","Principal":{"Service":"ecs-tasks.amazonaws.com"},
		"Condition":{"StringEquals":{"aws:SourceAccount":"123456789012"},"ArnLike":{"aws:SourceArn":"arn:aws:ecs:eu-west-1:123456789012:*"}}
	}]}`, trust)
	require.Equal(t, "arn:t1-role", out.inputs("t1-task")["taskRoleArn"])
}

func TestBridgeService(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Bridge(), bridged(with("desiredCount", "3"), with("containerPort", "9000"), with("cpu", "1024"), with("memory", "4096")))
	service := out.inputs("t1-service")

	for property, want := range map[string]any{
		"cluster": "arn:aws:ecs:eu-west-1:123456789012:cluster/shared", "desiredCount": 3.0, "launchType": "FARGATE",
		"taskDefinition": "arn:t1-task", "waitForSteadyState": true,
		"networkConfiguration": map[string]any{
			"subnets": []any{"subnet-00000001", "subnet-00000002"}, "securityGroups": []any{"sg-00000001"}, "assignPublicIp": false,
		},
		"loadBalancers":            []any{map[string]any{"targetGroupArn": "arn:t1-targets", "containerName": "app", "containerPort": 9000.0}},
		"deploymentCircuitBreaker": map[string]any{"enable": true, "rollback": true},
	} {
		require.Equal(t, want, service[property], property)
	}

	require.NotContains(t, service, "propagateTags", "tasks are in no state, so that a search by tag must not find them")

	task := out.inputs("t1-task")
	require.Equal(t, "1024", task["cpu"])
	require.Equal(t, "4096", task["memory"])

	containers, _ := task["containerDefinitions"].(string)
	require.JSONEq(t, `[{
		"name":"app","image":"images.example.com/app:1","essential":true,"portMappings":[{"containerPort":9000,"protocol":"tcp"}],
		"environment":[
			{"name":"QUEUE_URL","value":"https://sqs.example/t1-queue"},{"name":"TABLE_NAME","value":"acme-t1-data"},{"name":"TENANT_ID","value":"acme"}
		],
		"logConfiguration":{"logDriver":"awslogs","options":{
			"awslogs-group":"/lessor/acme-t1-app","awslogs-region":"eu-west-1","awslogs-stream-prefix":"app"
		}}
	}]`, containers)

	rule := out.inputs("t1-route")
	require.NotContains(t, rule, "priority", "the next free one is unique for sure")
	require.Equal(t, []any{map[string]any{"hostHeader": map[string]any{"values": []any{"acme-t1-app.tenants.example.com"}}}}, rule["conditions"])
	require.Equal(t, []any{map[string]any{"type": "forward", "targetGroupArn": "arn:t1-targets"}}, rule["actions"])

	require.Contains(t, strings.Join(out.resources["t1-service"].RegisterRPC.GetDependencies(), "\n"), "::t1-route", "the rule comes first")

	targets := out.inputs("t1-targets")
	require.InEpsilon(t, 80.0, targets["port"], 0, "another port of the container must not replace what is in use")
	require.Equal(t, "ip", targets["targetType"])
}

func TestSuspendedBridgeServesNobodyAndKeepsItsData(t *testing.T) {
	t.Parallel()

	active, out := must(t, programs.Bridge(), bridged()), must(t, programs.Bridge(), bridged(suspended))

	service := out.inputs("t1-service")
	require.Zero(t, service["desiredCount"])
	require.NotContains(t, service, "loadBalancers", "AWS refuses a target group that no rule sends traffic to")
	require.NotContains(t, service, "healthCheckGracePeriodSeconds", "AWS refuses it without a load balancer")

	actions, _ := out.inputs("t1-route")["actions"].([]any)
	require.Equal(t, []any{map[string]any{"type": "fixed-response", "fixedResponse": map[string]any{
		"statusCode": "503", "contentType": "text/plain", "messageBody": "suspended",
	}}}, actions)

	for _, name := range []string{"t1-table", "t1-queue", "t1-dead-letters", "t1-logs", "t1-role", "t1-role-policy", "t1-task"} {
		require.Equal(t, active.inputs(name), out.inputs(name), name)
	}

	require.Equal(t, false, out.outputs["serving"])

	out.outputs["serving"] = true
	require.Equal(t, active.outputs, out.outputs)
}

func TestBridgeIsProtectedOnceItStands(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Bridge(), bridged(func(top *engine.Topology) { top.Protect = true }))
	require.Equal(t, true, out.inputs("t1-table")["deletionProtectionEnabled"])

	var protected []string

	for name, r := range out.resources {
		if r.RegisterRPC.GetProtect() {
			protected = append(protected, name)
		}
	}

	slices.Sort(protected)
	require.Equal(t, []string{"t1-dead-letters", "t1-queue", "t1-table"}, protected, "what holds data")
}

func TestBridgeKeepsABackup(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Bridge(), bridged(with("pointInTimeRecovery", "false"), func(top *engine.Topology) { top.FinalSnapshot = "acme-final" }))
	require.Equal(t, map[string]any{"enabled": true}, out.inputs("t1-table")["pointInTimeRecovery"], "DynamoDB backs up what it could restore")
}

func TestBridgeRefusesWhatIsSharedElsewhere(t *testing.T) {
	t.Parallel()

	out, err := deploy(t, programs.Bridge(), bridged(func(top *engine.Topology) { top.Region = "eu-central-1" }))
	require.ErrorContains(t, err, "parameters.clusterArn: it is in eu-west-1, and the tenant in eu-central-1")
	require.ErrorContains(t, err, "parameters.listenerArn: ")
	require.Empty(t, out.resources, "before anything is made")

	var parameter *engine.ParameterError

	require.ErrorAs(t, err, &parameter)
}

func TestNamesOfBridge(t *testing.T) {
	t.Parallel()

	limits := map[string]struct {
		resource, property string
		limit              int
		form               *regexp.Regexp
	}{
		"table":   {"table", "name", 255, regexp.MustCompile(`^[a-z0-9-]{3,}$`)},
		"queue":   {"queue", "name", 80, regexp.MustCompile(`^[a-z0-9-]+$`)},
		"dead":    {"dead-letters", "name", 80, regexp.MustCompile(`^[a-z0-9-]+$`)},
		"logs":    {"logs", "name", 512, regexp.MustCompile(`^/lessor/[a-z0-9-]+$`)},
		"role":    {"role", "name", 64, regexp.MustCompile(`^[a-z0-9-]+$`)},
		"family":  {"task", "family", 255, regexp.MustCompile(`^[a-z0-9-]+$`)},
		"service": {"service", "name", 255, regexp.MustCompile(`^[a-z0-9-]+$`)},
		"targets": {"targets", "name", 32, regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)},
	}
	long := strings.Repeat("x", 62)
	seen := map[string]bool{}

	for _, id := range []tenant.ID{"acme", "Acme", "acme_1", "acme.1", "acme-1", "0", tenant.ID(long + "x"), tenant.ID(long + "_")} {
		for generation := 1; generation <= 2; generation++ {
			out := must(t, programs.Bridge(), bridged(func(top *engine.Topology) { top.Tenant, top.Generation = id, generation }))
			prefix := "t" + string(rune('0'+generation)) + "-"

			taken := func(part string, value any) {
				name, _ := value.(string)
				require.False(t, seen[part+name], "%s %s of %s is taken", part, name, id)
				seen[part+name] = true
			}

			for part, tc := range limits {
				name, _ := out.inputs(prefix + tc.resource)[tc.property].(string)
				require.LessOrEqual(t, len(name), tc.limit, part)
				require.Regexp(t, tc.form, name, part)
				taken(part, name)
			}

			taken("endpoint", out.outputs["endpoint"])

			endpoint, _ := out.outputs["endpoint"].(string)
			host := strings.TrimPrefix(endpoint, "https://")
			require.LessOrEqual(t, len(host), 128)
			require.Regexp(t, `^[a-z0-9][a-z0-9-]{0,62}\.tenants\.example\.com$`, host)
		}
	}
}

func TestEveryResourceOfBridgeIsFoundByItsName(t *testing.T) {
	t.Parallel()

	out := must(t, programs.Bridge(), bridged())
	// Of a type that the inventory does not know it would be unsure.
	services := []string{"ecs", "elasticloadbalancing", "iam", "logs", "sqs", "dynamodb"}
	strangers := make([]inventory.Resource, 0, len(services))

	for _, service := range services {
		strangers = append(strangers, inventory.Resource{ARN: "arn:aws:" + service + ":::x/x"})
	}

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
