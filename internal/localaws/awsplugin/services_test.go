package awsplugin_test

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/inventory"
)

const trust = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ecs-tasks.amazonaws.com"}}]}`

// thing is a resource with the inputs that made it.
type thing struct {
	made

	inputs props
}

// services makes a service behind a load balancer and all that it needs, in the
// order of dependencies.
func (h *host) services(prefix string) map[string]thing {
	h.t.Helper()

	things := map[string]thing{}
	add := func(typ string, in props) string {
		in["tags"] = props{"Name": prefix + typ}
		if typ == cloudsim.TypeRolePolicy {
			delete(in, "tags")
		}

		things[typ] = thing{h.create(typ, in), in}

		return things[typ].id
	}

	vpc := h.create(cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16"}).id
	subnets := make([]any, 0, 2)

	for zone, cidr := range map[string]string{"us-east-1a": "10.0.0.0/20", "us-east-1b": "10.0.16.0/20"} {
		subnets = append(subnets, h.create(cloudsim.TypeSubnet, props{"vpcId": vpc, "cidrBlock": cidr, "availabilityZone": zone}).id)
	}

	role := add(cloudsim.TypeRole, props{"name": prefix, "assumeRolePolicy": trust})
	add(cloudsim.TypeRolePolicy, props{"name": "data", "role": role, "policy": trust})
	add(cloudsim.TypeLogGroup, props{"name": "/" + prefix + "/app", "retentionInDays": 30})
	cluster := add(cloudsim.TypeCluster, props{"name": prefix})
	task := add(cloudsim.TypeTaskDefinition, props{
		"family": prefix, "networkMode": "awsvpc", "requiresCompatibilities": []any{"FARGATE"}, "cpu": "256", "memory": "512",
		"containerDefinitions": `[{"name":"app","image":"x","portMappings":[{"containerPort":80}]}]`,
	})
	balancer := add(cloudsim.TypeLoadBalancer, props{"name": prefix, "subnets": subnets})
	group := add(cloudsim.TypeTargetGroup, props{"name": prefix, "port": 80, "protocol": "HTTP", "targetType": "ip", "vpcId": vpc})
	listener := add(cloudsim.TypeListener, props{
		"loadBalancerArn": balancer, "port": 80, "protocol": "HTTP", "defaultActions": []any{props{"type": "fixed-response"}},
	})
	add(cloudsim.TypeListenerRule, props{
		"listenerArn": listener, "conditions": []any{props{"hostHeader": props{"values": []any{prefix + ".example.com"}}}},
		"actions": []any{props{"type": "forward", "targetGroupArn": group}},
	})
	add(cloudsim.TypeService, props{
		"name": prefix, "cluster": cluster, "taskDefinition": task, "desiredCount": 2,
		"networkConfiguration": props{"subnets": subnets},
		"loadBalancers":        []any{props{"targetGroupArn": group, "containerName": "app", "containerPort": 80}},
	})

	return things
}

// serviceTypes in the order that they are deleted in.
func serviceTypes() []string {
	return []string{
		cloudsim.TypeService, cloudsim.TypeListenerRule, cloudsim.TypeListener, cloudsim.TypeTargetGroup, cloudsim.TypeLoadBalancer,
		cloudsim.TypeTaskDefinition, cloudsim.TypeCluster, cloudsim.TypeLogGroup, cloudsim.TypeRolePolicy, cloudsim.TypeRole,
	}
}

func TestServicesFromCreationToDeletion(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})
	things := h.services("svc")

	for typ, want := range map[string]string{
		cloudsim.TypeCluster:        "arn:aws:ecs:us-east-1:000000000000:cluster/svc",
		cloudsim.TypeService:        "arn:aws:ecs:us-east-1:000000000000:service/svc/svc",
		cloudsim.TypeTaskDefinition: "arn:aws:ecs:us-east-1:000000000000:task-definition/svc:1",
		cloudsim.TypeRole:           "svc", cloudsim.TypeRolePolicy: "svc:data", cloudsim.TypeLogGroup: "/svc/app",
	} {
		require.Equal(t, want, things[typ].id)
	}

	for _, typ := range serviceTypes() {
		h.steady(things[typ].made, things[typ].inputs)
	}

	t.Log("a service is changed in place, a task definition is made anew beside the old one")

	service := things[cloudsim.TypeService]
	service.inputs["desiredCount"] = 5
	require.Empty(t, h.diff(service.made, service.inputs).GetReplaces())

	changed, err := h.update(service.made, service.inputs)
	require.NoError(t, err)
	h.steady(changed, service.inputs)

	task := things[cloudsim.TypeTaskDefinition]
	task.inputs["memory"] = "1024"
	plan := h.diff(task.made, task.inputs)
	require.Equal(t, []string{"memory"}, plan.GetReplaces())
	require.False(t, plan.GetDeleteBeforeReplace())
	require.Equal(t, task.id[:len(task.id)-1]+"2", h.create(task.typ, task.inputs).id)

	t.Log("what is in use waits for those in the way, and a service is drained")

	before, err := h.cloud.Log(t.Context(), 0)
	require.NoError(t, err)

	for _, typ := range serviceTypes() {
		require.NoError(t, h.delete(things[typ].made), typ)
		require.Empty(t, h.refresh(things[typ].made).GetId(), typ)
		require.NoError(t, h.delete(things[typ].made), "%s is gone already", typ)
	}

	entries, err := h.cloud.Log(t.Context(), before[len(before)-1].Sequence)
	require.NoError(t, err)
	require.Equal(t, cloudsim.OperationUpdate, entries[0].Operation)
	require.Equal(t, cloudsim.TypeService, entries[0].Type)
	require.Equal(t, cloudsim.OperationDelete, entries[1].Operation)
}

func TestDeletionWaitsForServicesInTheWay(t *testing.T) {
	t.Parallel()

	for typ, first := range map[string]string{
		cloudsim.TypeTargetGroup: cloudsim.TypeListenerRule, cloudsim.TypeCluster: cloudsim.TypeService, cloudsim.TypeRole: cloudsim.TypeRolePolicy,
	} {
		t.Run(typ, func(t *testing.T) {
			t.Parallel()

			h := configured(t, "", cloudsim.Options{})
			things := h.services("wait")
			done := make(chan error, 1)

			go func() { done <- h.delete(things[typ].made) }()

			require.Eventually(t, func() bool {
				entries, err := h.cloud.Log(t.Context(), 0)

				return err == nil && entries[len(entries)-1].Code != ""
			}, patience, tick)

			require.NoError(t, h.delete(things[first].made))
			require.NoError(t, <-done)
		})
	}
}

// What was made and is in no state is found by its tags, or by its name where the
// search by tag does not cover its type.
func TestServicesThatNoStateHasAreFoundAgain(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})
	things := h.services("found")
	h.services("other")

	look := inventory.Open(h.config(), region)

	unknown, err := look.FindUnknown(t.Context(), "acme", nil)
	require.NoError(t, err)

	arns := map[string]bool{}
	for _, r := range unknown {
		arns[r.ARN] = true
	}

	known := make([]inventory.Known, 0, len(things))

	for typ, it := range things {
		id, verdict := inventory.Identify(inventory.Known{Type: typ, Inputs: h.unpack(it.made.inputs).Mappable()}, unknown)
		require.Equal(t, inventory.Exists, verdict, typ)
		require.Equal(t, it.id, h.refresh(made{typ: typ, id: id, inputs: it.made.inputs}).GetId(), "%s as %s", typ, id)

		known = append(known, inventory.Known{Type: typ, ID: it.id})

		found, err := h.cloud.Get(t.Context(), typ, region, it.id)
		require.NoError(t, err)

		covered := typ != cloudsim.TypeRole && typ != cloudsim.TypeRolePolicy
		require.Equal(t, covered, arns[found.ARN()], "%s is found by its tags", typ)
	}

	left, err := look.FindUnknown(t.Context(), "acme", known)
	require.NoError(t, err)
	require.Len(t, left, len(unknown)-len(things)+2, "a state without ARNs")

	for _, r := range left {
		require.NotContains(t, r.Tags["Name"], "found")
	}
}

func (h *host) config() aws.Config {
	return aws.Config{
		BaseEndpoint: &h.endpoint, HTTPClient: h.httpClient(), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}
}

func TestPriorityIsSaidOnlyWhereItMatters(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})
	rule := h.services("rules")[cloudsim.TypeListenerRule]
	require.InEpsilon(t, 1.0, h.unpack(rule.state)["priority"].NumberValue(), 0)

	var state map[string]any
	require.NoError(t, json.Unmarshal([]byte(h.json(h.refresh(rule.made).GetInputs())), &state))
	require.NotContains(t, state, "priority", "what the program did not say is no drift")

	rule.inputs["priority"] = 7
	require.Equal(t, pulumirpc.DiffResponse_DIFF_SOME, h.diff(rule.made, rule.inputs).GetChanges())
}
