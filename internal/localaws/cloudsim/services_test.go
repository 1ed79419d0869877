package cloudsim_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

const (
	trust  = `{"Version":"2012-10-17","Statement":[{"Effect":"Allow"}]}`
	policy = trust
)

// app is a service behind a load balancer.
type app struct {
	network

	cluster, task, balancer, target, listener, rule, service cloudsim.Resource
}

func (a *account) app() app {
	a.t.Helper()

	it := app{network: a.network()}
	it.cluster = a.must(cloudsim.TypeCluster, props{"name": "shared"})
	it.task = a.must(cloudsim.TypeTaskDefinition, task(nil))
	it.balancer = a.must(cloudsim.TypeLoadBalancer, it.balancerOf(nil))
	it.target = a.must(cloudsim.TypeTargetGroup, it.targetOf(nil))
	it.listener = a.must(cloudsim.TypeListener, it.listenerOf(nil))
	it.rule = a.must(cloudsim.TypeListenerRule, it.ruleOf(nil))
	it.service = a.must(cloudsim.TypeService, it.serviceOf(nil))

	return it
}

func merged(base, more props) props {
	for name, value := range more {
		if base[name] = value; value == nil {
			delete(base, name)
		}
	}

	return base
}

func task(more props) props {
	return merged(props{
		"family": "acme", "networkMode": "awsvpc", "requiresCompatibilities": []any{"FARGATE"}, "cpu": "256", "memory": "512",
		"executionRoleArn":     "arn:aws:iam::000000000000:role/execution",
		"containerDefinitions": containers,
	}, more)
}

const containers = `[{"name":"app","image":"x","portMappings":[{"containerPort":8080}],"logConfiguration":{"logDriver":"awslogs"}}]`

func (n app) balancerOf(more props) props {
	return merged(props{"name": "shared", "subnets": []any{n.a.ID, n.b.ID}, "securityGroups": []any{n.sg.ID}}, more)
}

func (n app) targetOf(more props) props {
	return merged(props{"name": "acme", "port": 8080, "protocol": "HTTP", "targetType": "ip", "vpcId": n.vpc.ID}, more)
}

func (n app) listenerOf(more props) props {
	return merged(props{
		"loadBalancerArn": n.balancer.ID, "port": 443, "protocol": "HTTPS", "certificateArn": "arn:aws:acm:x",
		"defaultActions": []any{props{"type": "fixed-response"}},
	}, more)
}

func (n app) ruleOf(more props) props {
	return merged(props{
		"listenerArn": n.listener.ID, "actions": []any{props{"type": "forward", "targetGroupArn": n.target.ID}},
		"conditions": []any{props{"hostHeader": props{"values": []any{"acme.example.com"}}}},
	}, more)
}

func (n app) serviceOf(more props) props {
	return merged(props{
		"name": "acme", "cluster": n.cluster.ID, "taskDefinition": n.task.ID, "desiredCount": 2,
		"networkConfiguration": props{"subnets": []any{n.a.ID, n.b.ID}, "securityGroups": []any{n.sg.ID}},
		"loadBalancers":        []any{props{"targetGroupArn": n.target.ID, "containerName": "app", "containerPort": 8080}},
	}, more)
}

func TestServicesAreRefusedAsByAWS(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		typ    string
		inputs func(n app) props
		code   string
		text   string
	}{
		"role with a long name": {
			cloudsim.TypeRole, func(app) props { return props{"name": strings.Repeat("r", 65), "assumeRolePolicy": trust} },
			"ValidationError", "less than or equal to 64",
		},
		"role that nobody may take": {
			cloudsim.TypeRole, func(app) props { return props{"name": "r", "assumeRolePolicy": "{}"} },
			"MalformedPolicyDocument", "Syntax errors in policy.",
		},
		"policy of a role that is not there": {
			cloudsim.TypeRolePolicy, func(app) props { return props{"name": "p", "role": "none", "policy": policy} },
			"NoSuchEntity", "The role with name none cannot be found.",
		},
		"log group with a long name": {
			cloudsim.TypeLogGroup, func(app) props { return props{"name": strings.Repeat("l", 513)} },
			"InvalidParameterException", "at most 512",
		},
		"log group with a space": {
			cloudsim.TypeLogGroup, func(app) props { return props{"name": "a b"} },
			"InvalidParameterException", "[\\.\\-_/#A-Za-z0-9]+",
		},
		"log group that is kept for a term of its own": {
			cloudsim.TypeLogGroup, func(app) props { return props{"name": "l", "retentionInDays": 31} },
			"InvalidParameterException", "'31' at 'retentionInDays'",
		},
		"cluster with a dot": {
			cloudsim.TypeCluster, func(app) props { return props{"name": "a.b"} },
			"InvalidParameterException", "Invalid identifier",
		},
		"task definition with a bad family": {
			cloudsim.TypeTaskDefinition, func(app) props { return task(props{"family": "a.b"}) },
			"ClientException", "Family contains invalid characters.",
		},
		"task definition without containers": {
			cloudsim.TypeTaskDefinition, func(app) props { return task(props{"containerDefinitions": "[]"}) },
			"ClientException", "at least one container",
		},
		"container without an image": {
			cloudsim.TypeTaskDefinition, func(app) props { return task(props{"containerDefinitions": `[{"name":"app"}]`}) },
			"ClientException", "Container.image",
		},
		"fargate on the host's network": {
			cloudsim.TypeTaskDefinition, func(app) props { return task(props{"networkMode": "bridge"}) },
			"ClientException", "'awsvpc'",
		},
		"fargate with too much memory": {
			cloudsim.TypeTaskDefinition, func(app) props { return task(props{"memory": "3072"}) },
			"ClientException", "No Fargate configuration exists for given values: 256 CPU, 3072 memory.",
		},
		"fargate with memory between two steps": {
			cloudsim.TypeTaskDefinition, func(app) props { return task(props{"cpu": "8192", "memory": "17408"}) },
			"ClientException", "8192 CPU, 17408 memory.",
		},
		"fargate with no such CPU": {
			cloudsim.TypeTaskDefinition, func(app) props { return task(props{"cpu": "300", "memory": "1024"}) },
			"ClientException", "300 CPU",
		},
		"fargate logs without a role": {
			cloudsim.TypeTaskDefinition, func(app) props { return task(props{"executionRoleArn": nil}) },
			"ClientException", "execution role ARN to support log driver awslogs",
		},
		"load balancer with a long name": {
			cloudsim.TypeLoadBalancer, func(n app) props { return n.balancerOf(props{"name": strings.Repeat("b", 33)}) },
			"ValidationError", "cannot be longer than '32' characters",
		},
		"load balancer that ends with a hyphen": {
			cloudsim.TypeLoadBalancer, func(n app) props { return n.balancerOf(props{"name": "b-"}) },
			"ValidationError", "must not begin or end with a hyphen",
		},
		"load balancer with a reserved name": {
			cloudsim.TypeLoadBalancer, func(n app) props { return n.balancerOf(props{"name": "internal-b"}) },
			"ValidationError", "cannot begin with 'internal-'",
		},
		"load balancer in one zone": {
			cloudsim.TypeLoadBalancer, func(n app) props { return n.balancerOf(props{"name": "b", "subnets": []any{n.a.ID}}) },
			"ValidationError", "two different Availability Zones",
		},
		"load balancer in a subnet that is not there": {
			cloudsim.TypeLoadBalancer, func(n app) props { return n.balancerOf(props{"name": "b", "subnets": []any{n.a.ID, "subnet-0"}}) },
			"SubnetNotFound", "subnet-0",
		},
		"load balancer with a security group that is not there": {
			cloudsim.TypeLoadBalancer, func(n app) props { return n.balancerOf(props{"name": "b", "securityGroups": []any{"sg-0"}}) },
			"InvalidSecurityGroup", "",
		},
		"target group with a long name": {
			cloudsim.TypeTargetGroup, func(n app) props { return n.targetOf(props{"name": strings.Repeat("t", 33)}) },
			"ValidationError", "target group name",
		},
		"target group nowhere": {
			cloudsim.TypeTargetGroup, func(n app) props { return n.targetOf(props{"name": "t", "vpcId": "vpc-0"}) },
			"ValidationError", "The VPC ID 'vpc-0' is not found",
		},
		"target group with no port": {
			cloudsim.TypeTargetGroup, func(n app) props { return n.targetOf(props{"name": "t", "port": 65536}) },
			"ValidationError", "65536",
		},
		"listener of nothing": {
			cloudsim.TypeListener, func(n app) props { return n.listenerOf(props{"loadBalancerArn": "arn:none"}) },
			"LoadBalancerNotFound", "",
		},
		"listener on a port in use": {
			cloudsim.TypeListener, func(n app) props { return n.listenerOf(nil) },
			"DuplicateListener", "A listener already exists on this port",
		},
		"listener without a certificate": {
			cloudsim.TypeListener, func(n app) props { return n.listenerOf(props{"port": 8443, "certificateArn": nil}) },
			"ValidationError", "A certificate must be specified",
		},
		"listener to nowhere": {
			cloudsim.TypeListener, func(n app) props {
				return n.listenerOf(props{"port": 8443, "defaultActions": []any{props{"type": "forward", "targetGroupArn": "arn:none"}}})
			},
			"TargetGroupNotFound", "",
		},
		"rule of a listener that is not there": {
			cloudsim.TypeListenerRule, func(n app) props { return n.ruleOf(props{"listenerArn": "arn:none"}) },
			"ListenerNotFound", "",
		},
		"rule with a priority in use": {
			cloudsim.TypeListenerRule, func(n app) props { return n.ruleOf(props{"priority": 1}) },
			"PriorityInUse", "Priority '1' is currently in use",
		},
		"rule with a priority out of range": {
			cloudsim.TypeListenerRule, func(n app) props { return n.ruleOf(props{"priority": 50001}) },
			"ValidationError", "'50001' is not a valid priority",
		},
		"rule without conditions": {
			cloudsim.TypeListenerRule, func(n app) props { return n.ruleOf(props{"conditions": nil}) },
			"ValidationError", "A condition must be specified",
		},
		"rule with a long host": {
			cloudsim.TypeListenerRule, func(n app) props {
				return n.ruleOf(props{"conditions": []any{props{"hostHeader": props{"values": []any{strings.Repeat("h", 129)}}}}})
			},
			"ValidationError", "1 to 128 characters",
		},
		"rule to nowhere": {
			cloudsim.TypeListenerRule, func(n app) props {
				return n.ruleOf(props{"actions": []any{props{"forward": props{"targetGroups": []any{props{"arn": "arn:none"}}}}}})
			},
			"TargetGroupNotFound", "",
		},
		"service twice": {
			cloudsim.TypeService, func(n app) props { return n.serviceOf(nil) },
			"InvalidParameterException", "Creation of service was not idempotent.",
		},
		"service in no cluster": {
			cloudsim.TypeService, func(n app) props { return n.serviceOf(props{"cluster": "none"}) },
			"ClusterNotFoundException", "Cluster not found.",
		},
		"service without a definition": {
			cloudsim.TypeService, func(n app) props { return n.serviceOf(props{"name": "s", "taskDefinition": "none"}) },
			"ClientException", "Unable to describe task definition.",
		},
		"service without a network": {
			cloudsim.TypeService, func(n app) props { return n.serviceOf(props{"name": "s", "networkConfiguration": nil}) },
			"InvalidParameterException", "Network Configuration must be provided",
		},
		"service in a subnet that is not there": {
			cloudsim.TypeService, func(n app) props {
				return n.serviceOf(props{"name": "s", "networkConfiguration": props{"subnets": []any{"subnet-0"}}})
			},
			"InvalidParameterException", "The subnet ID 'subnet-0' does not exist",
		},
		"service with a security group that is not there": {
			cloudsim.TypeService, func(n app) props {
				return n.serviceOf(props{"name": "s", "networkConfiguration": props{"subnets": []any{n.a.ID}, "securityGroups": []any{"sg-0"}}})
			},
			"InvalidParameterException", "The security group 'sg-0' does not exist",
		},
		"service behind nothing": {
			cloudsim.TypeService, func(n app) props {
				return n.serviceOf(props{"name": "s", "loadBalancers": []any{props{"targetGroupArn": "none"}}})
			},
			"InvalidParameterException", "The specified target group does not exist: none",
		},
		"service whose container is not there": {
			cloudsim.TypeService, func(n app) props {
				return n.serviceOf(props{"name": "s", "loadBalancers": []any{props{"targetGroupArn": n.target.ID, "containerName": "x", "containerPort": 8080}}})
			},
			"InvalidParameterException", "The container x does not exist in the task definition.",
		},
		"service whose port is not there": {
			cloudsim.TypeService, func(n app) props {
				return n.serviceOf(props{"name": "s", "loadBalancers": []any{props{"targetGroupArn": n.target.ID, "containerName": "app", "containerPort": 80}}})
			},
			"InvalidParameterException", "The container app did not have a container port 80 defined.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			a := newAccount(t, instant())
			n := a.app()

			_, err := a.create(tc.typ, tc.inputs(n))
			refused(t, err, tc.code, tc.text)
		})
	}
}

func TestNamesOfServicesAreUnique(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.app()
	role := props{"name": "acme", "assumeRolePolicy": trust}

	a.must(cloudsim.TypeRole, role)
	a.must(cloudsim.TypeLogGroup, props{"name": "acme"})

	for typ, tc := range map[string]struct {
		inputs props
		code   string
	}{
		cloudsim.TypeRole:         {role, "EntityAlreadyExists"},
		cloudsim.TypeLogGroup:     {props{"name": "acme"}, "ResourceAlreadyExistsException"},
		cloudsim.TypeLoadBalancer: {n.balancerOf(nil), "DuplicateLoadBalancerName"},
		cloudsim.TypeTargetGroup:  {n.targetOf(nil), "DuplicateTargetGroupName"},
	} {
		_, err := a.create(typ, tc.inputs)
		refused(t, err, tc.code, "")
	}

	_, err := a.Create(t.Context(), cloudsim.Creation{Type: cloudsim.TypeRole, Region: "eu-west-1", Inputs: role})
	refused(t, err, "EntityAlreadyExists", "acme already exists")

	_, err = a.Create(t.Context(), cloudsim.Creation{Type: cloudsim.TypeLogGroup, Region: "eu-west-1", Inputs: props{"name": "acme"}})
	require.NoError(t, err, "a name is free in another region")

	again := a.must(cloudsim.TypeCluster, props{"name": "shared"})
	require.Equal(t, n.cluster.ID, again.ID, "a second creation answers with the first cluster")

	elsewhere := a.must(cloudsim.TypeCluster, props{"name": "other"})
	a.must(cloudsim.TypeService, n.serviceOf(props{"cluster": elsewhere.ID}))
}

func TestServicesInUseStay(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.app()

	refused(t, a.remove(n.target, nil), "ResourceInUse", "is currently in use by a listener or a rule")
	refused(t, a.remove(n.cluster, nil), "ClusterContainsServicesException", "while Services are active")
	refused(t, a.remove(n.service, nil), "InvalidParameterException", "The service cannot be stopped while it is scaled above 0.")
	refused(t, a.remove(n.a, nil), "DependencyViolation", "has dependencies")
	refused(t, a.remove(n.sg, nil), "DependencyViolation", "dependent object")

	require.NoError(t, a.change(n.service, props{"desiredCount": 0}))
	require.NoError(t, a.remove(n.service, nil))
	require.NoError(t, a.remove(n.task, nil))
	require.NoError(t, a.remove(n.cluster, nil))
	refused(t, a.remove(n.sg, nil), "DependencyViolation", "dependent object")

	require.NoError(t, a.change(n.listener, props{"defaultActions": []any{props{"type": "forward", "targetGroupArn": n.target.ID}}}))
	require.NoError(t, a.remove(n.rule, nil))
	refused(t, a.remove(n.target, nil), "ResourceInUse", "")

	require.NoError(t, a.change(n.balancer, props{"enableDeletionProtection": true}))
	refused(t, a.remove(n.balancer, nil), "OperationNotPermitted", "deletion protection is enabled")
	require.NoError(t, a.change(n.balancer, props{"enableDeletionProtection": false}))

	a.must(cloudsim.TypeListenerRule, n.ruleOf(nil))
	require.NoError(t, a.remove(n.balancer, nil))

	for _, typ := range []string{cloudsim.TypeListener, cloudsim.TypeListenerRule} {
		left, err := a.List(t.Context(), cloudsim.Filter{Type: typ})
		require.NoError(t, err)
		require.Empty(t, left, "they go with their load balancer")
	}

	for _, r := range []cloudsim.Resource{n.target, n.group, n.sg, n.a, n.b, n.vpc} {
		require.NoError(t, a.remove(r, nil), r.Type)
	}
}

// A service runs on when what it was made of is gone.
func TestServicesRunOn(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.app()
	require.NoError(t, a.remove(n.task, nil))
	require.NoError(t, a.remove(n.rule, nil))
	require.NoError(t, a.change(n.service, props{"desiredCount": 3}))

	refused(t, a.change(n.service, props{"taskDefinition": n.task.ID + "0"}), "ClientException", "Unable to describe")

	n.task = a.must(cloudsim.TypeTaskDefinition, task(nil))
	refused(t, a.change(n.service, props{
		"taskDefinition": n.task.ID, "loadBalancers": []any{props{"targetGroupArn": n.target.ID}},
	}), "InvalidParameterException", "does not have an associated load balancer")
	refused(t, a.change(n.service, props{
		"taskDefinition": n.task.ID, "networkConfiguration": props{},
	}), "InvalidParameterException", "Network Configuration must be provided")
	require.NoError(t, a.change(n.service, props{"taskDefinition": n.task.ID, "loadBalancers": nil, "desiredCount": 0}))
}
