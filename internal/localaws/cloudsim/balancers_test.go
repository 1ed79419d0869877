package cloudsim_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

func TestListenerTakesItsRulesAlong(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.app()
	require.NoError(t, a.remove(n.listener, nil))

	_, err := a.Get(t.Context(), n.rule.Type, region, n.rule.ID)
	require.True(t, cloudsim.IsNotFound(err))
	require.NoError(t, a.remove(n.target, nil))
}

func TestPrioritiesAreChosen(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.app()
	require.InEpsilon(t, 1.0, n.rule.Outputs["priority"], 0)

	a.must(cloudsim.TypeListenerRule, n.ruleOf(props{"priority": 70}))
	next := a.must(cloudsim.TypeListenerRule, n.ruleOf(nil))
	require.InEpsilon(t, 71.0, next.Outputs["priority"], 0)
	require.NoError(t, a.change(next, props{"actions": []any{props{"type": "fixed-response"}}}))

	same, err := a.Get(t.Context(), next.Type, region, next.ID)
	require.NoError(t, err)
	require.InEpsilon(t, 71.0, same.Outputs["priority"], 0, "a change keeps it")
	refused(t, a.change(next, props{"priority": 70}), "PriorityInUse", "")
	require.NoError(t, a.change(next, props{"priority": 72}))
	require.NoError(t, a.change(next, props{"priority": 72}), "its own is not in its way")
}

func TestLoadBalancerHasAHundredRules(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.app()
	second := a.must(cloudsim.TypeListener, n.listenerOf(props{"port": 8443}))

	for range 98 {
		a.must(cloudsim.TypeListenerRule, n.ruleOf(nil))
	}

	last := a.must(cloudsim.TypeListenerRule, n.ruleOf(props{"listenerArn": second.ID}))

	for _, listener := range []cloudsim.Resource{n.listener, second} {
		_, err := a.create(cloudsim.TypeListenerRule, n.ruleOf(props{"listenerArn": listener.ID}))
		refused(t, err, "TooManyRules", n.balancer.ID)
	}

	require.NoError(t, a.change(last, props{"priority": 9}), "a change adds none")

	other := a.must(cloudsim.TypeLoadBalancer, n.balancerOf(props{"name": "other"}))
	elsewhere := a.must(cloudsim.TypeListener, n.listenerOf(props{"loadBalancerArn": other.ID}))
	a.must(cloudsim.TypeListenerRule, n.ruleOf(props{"listenerArn": elsewhere.ID, "actions": []any{props{"type": "fixed-response"}}}))
}

func TestLoadBalancerStandsInOneVPC(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.app()
	same := a.must(cloudsim.TypeSubnet, props{"vpcId": n.vpc.ID, "cidrBlock": "10.0.32.0/20", "availabilityZone": "us-east-1a"})
	vpc := a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.9.0.0/16"})
	far := a.must(cloudsim.TypeSubnet, props{"vpcId": vpc.ID, "cidrBlock": "10.9.0.0/20", "availabilityZone": "us-east-1b"})
	access := a.must(cloudsim.TypeSecurityGroup, props{"vpcId": vpc.ID, "name": "elsewhere"})

	for _, change := range []props{
		{"name": "b", "subnets": []any{n.a.ID, n.b.ID, same.ID}},
		{"name": "b", "subnets": []any{n.a.ID, far.ID}},
	} {
		_, err := a.create(cloudsim.TypeLoadBalancer, n.balancerOf(change))
		refused(t, err, "ValidationError", "two different Availability Zones")
	}

	_, err := a.create(cloudsim.TypeLoadBalancer, n.balancerOf(props{"name": "b", "securityGroups": []any{access.ID}}))
	refused(t, err, "InvalidSecurityGroup", "")
}

func TestTargetGroupHasOneLoadBalancer(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.app()
	second := a.must(cloudsim.TypeLoadBalancer, n.balancerOf(props{"name": "second"}))

	_, err := a.create(cloudsim.TypeListener, n.listenerOf(props{
		"loadBalancerArn": second.ID, "defaultActions": []any{props{"type": "forward", "targetGroupArn": n.target.ID}},
	}))
	refused(t, err, "TargetGroupAssociationLimit", n.target.ID)

	lonely := a.must(cloudsim.TypeTargetGroup, n.targetOf(props{"name": "lonely"}))
	behind := func(group cloudsim.Resource) props {
		return n.serviceOf(props{"name": "s", "loadBalancers": []any{
			props{"targetGroupArn": group.ID, "containerName": "app", "containerPort": 8080},
		}})
	}

	_, err = a.create(cloudsim.TypeService, behind(lonely))
	refused(t, err, "InvalidParameterException", "does not have an associated load balancer")

	hosts := a.must(cloudsim.TypeTargetGroup, n.targetOf(props{"name": "hosts", "targetType": "instance"}))
	a.must(cloudsim.TypeListenerRule, n.ruleOf(props{"actions": []any{props{"type": "forward", "targetGroupArn": hosts.ID}}}))
	_, err = a.create(cloudsim.TypeService, behind(hosts))
	refused(t, err, "InvalidParameterException", "incompatible with the awsvpc network mode")
}

func TestRevisionsAreNeverGivenTwice(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	first := a.must(cloudsim.TypeTaskDefinition, task(nil))
	require.Equal(t, "arn:aws:ecs:us-east-1:000000000000:task-definition/acme:1", first.ID)
	require.Equal(t, "arn:aws:ecs:us-east-1:000000000000:task-definition/acme", first.Outputs["arnWithoutRevision"])

	second := a.must(cloudsim.TypeTaskDefinition, task(props{"memory": "1024"}))
	require.True(t, strings.HasSuffix(second.ID, ":2"), second.ID)

	require.NoError(t, a.remove(first, nil))
	require.NoError(t, a.remove(second, nil))

	third := a.must(cloudsim.TypeTaskDefinition, task(props{"cpu": "4096", "memory": "30720"}))
	require.True(t, strings.HasSuffix(third.ID, ":3"), third.ID)

	other := a.must(cloudsim.TypeTaskDefinition, task(props{"family": "other", "cpu": "16384", "memory": "40960"}))
	require.True(t, strings.HasSuffix(other.ID, "other:1"), other.ID)
}

func TestRoleIsDeletedAfterItsPolicies(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	role := a.must(cloudsim.TypeRole, props{"name": "acme", "path": "/tenants/", "assumeRolePolicy": trust})
	require.Equal(t, "arn:aws:iam::000000000000:role/tenants/acme", role.ARN())

	inline := a.must(cloudsim.TypeRolePolicy, props{"name": "data", "role": role.ID, "policy": policy})
	require.Equal(t, "acme:data", inline.ID)

	a.must(cloudsim.TypeRolePolicy, props{"name": "data", "role": role.ID, "policy": policy})

	_, err := a.create(cloudsim.TypeRolePolicy, props{"name": "x", "role": role.ID, "policy": "no"})
	refused(t, err, "MalformedPolicyDocument", "")

	long := `{"Statement":"` + strings.Repeat("x", 10240-len(policy)) + `"}`
	_, err = a.create(cloudsim.TypeRolePolicy, props{"name": "x", "role": role.ID, "policy": long})
	refused(t, err, "LimitExceeded", "10240")

	refused(t, a.remove(role, nil), "DeleteConflict", "must delete policies first")
	require.NoError(t, a.remove(inline, nil))
	require.NoError(t, a.remove(role, nil))
}

// A table that could be restored to a point in time leaves a backup.
func TestTableLeavesABackup(t *testing.T) {
	t.Parallel()

	for enabled, want := range map[bool]int{true: 1, false: 0} {
		a := newAccount(t, instant())
		table := a.must(cloudsim.TypeTable, props{"name": "acme", "pointInTimeRecovery": props{"enabled": enabled}})
		require.NoError(t, a.remove(table, nil))

		backups, err := a.List(t.Context(), cloudsim.Filter{Type: cloudsim.TypeBackup})
		require.NoError(t, err)
		require.Len(t, backups, want)

		if want == 1 {
			require.True(t, strings.HasPrefix(backups[0].ID, table.ARN()+"/backup/"), backups[0].ID)
			require.Equal(t, "acme", backups[0].Inputs["tableName"])
		}
	}
}

// What a load balancer that is being deleted stands on stays until it is gone.
func TestLoadBalancersAndServicesTakeTheirTime(t *testing.T) {
	t.Parallel()

	clk := &clock{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	a := newAccount(t, cloudsim.Options{Now: clk.Now})
	n := a.app()
	require.Equal(t, cloudsim.StateCreating, n.service.State)
	require.Equal(t, cloudsim.StateCreating, n.balancer.State)

	clk.advance(cloudsim.DefaultDelay)
	require.NoError(t, a.remove(n.balancer, nil))
	require.NoError(t, a.change(n.service, props{"desiredCount": 0, "loadBalancers": nil}))
	refused(t, a.remove(n.sg, nil), "DependencyViolation", "")
	clk.advance(cloudsim.DefaultDelay)
	require.NoError(t, a.remove(n.sg, nil))
}
