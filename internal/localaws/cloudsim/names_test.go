package cloudsim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_DeleteService.html
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_DeleteQueue.html
// https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_DeleteDBInstance.html
func TestNamesAreFreeAgainAfterDeletion(t *testing.T) {
	t.Parallel()

	clk := &clock{now: time.Unix(1_700_000_000, 0)}
	a := newAccount(t, cloudsim.Options{Now: clk.Now, NameRest: time.Minute})
	n := a.app()
	db := a.must(cloudsim.TypeInstance, n.instance(nil))
	queue := a.must(cloudsim.TypeQueue, props{"name": "acme"})

	clk.advance(cloudsim.DefaultDelay)
	require.NoError(t, a.change(n.service, props{"desiredCount": 0}))

	for _, r := range []cloudsim.Resource{n.service, n.balancer, queue} {
		require.NoError(t, a.remove(r, nil))
	}

	require.NoError(t, a.remove(db, props{"skipFinalSnapshot": true}))

	leaving := map[string]props{
		"DBInstanceAlreadyExists":                     n.instance(nil),
		"InvalidParameterException":                   n.serviceOf(props{"loadBalancers": nil}),
		"DuplicateLoadBalancerName":                   n.balancerOf(nil),
		"AWS.SimpleQueueService.QueueDeletedRecently": {"name": "acme"},
	}
	types := map[string]string{
		"DBInstanceAlreadyExists": cloudsim.TypeInstance, "InvalidParameterException": cloudsim.TypeService,
		"DuplicateLoadBalancerName": cloudsim.TypeLoadBalancer, "AWS.SimpleQueueService.QueueDeletedRecently": cloudsim.TypeQueue,
	}

	for code, inputs := range leaving {
		_, err := a.create(types[code], inputs)
		refused(t, err, code, "")
	}

	_, err := a.create(cloudsim.TypeService, leaving["InvalidParameterException"])
	refused(t, err, "InvalidParameterException", "Unable to Start a service that is still Draining.")

	clk.advance(cloudsim.DefaultDelay)

	for _, code := range []string{"DBInstanceAlreadyExists", "InvalidParameterException", "DuplicateLoadBalancerName"} {
		a.must(types[code], leaving[code])
	}

	_, err = a.create(cloudsim.TypeQueue, props{"name": "acme"})
	refused(t, err, "AWS.SimpleQueueService.QueueDeletedRecently", "You must wait 60 seconds")
	a.must(cloudsim.TypeQueue, props{"name": "globex"})
	clk.advance(time.Minute)
	a.must(cloudsim.TypeQueue, props{"name": "acme"})
}

// Tasks keep their network interfaces until they are stopped.
// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-lifecycle-explanation.html
func TestTasksLeaveTheirSubnetsInTheEnd(t *testing.T) {
	t.Parallel()

	clk := &clock{now: time.Unix(1_700_000_000, 0)}
	a := newAccount(t, cloudsim.Options{Now: clk.Now, Delays: map[string]time.Duration{cloudsim.TypeLoadBalancer: 0}})
	n := a.app()
	require.NoError(t, a.remove(n.balancer, nil))
	require.NoError(t, a.remove(n.group, nil))

	clk.advance(cloudsim.DefaultDelay)
	require.NoError(t, a.change(n.service, props{"desiredCount": 0, "loadBalancers": nil}))
	refused(t, a.remove(n.a, nil), "DependencyViolation", "has dependencies")

	clk.advance(cloudsim.DefaultDelay)
	require.NoError(t, a.remove(n.a, nil))
	require.NoError(t, a.remove(n.service, nil))
}

// What is being made is not made sooner by a change.
func TestChangeWhileCreating(t *testing.T) {
	t.Parallel()

	clk := &clock{now: time.Unix(1_700_000_000, 0)}
	a := newAccount(t, cloudsim.Options{Now: clk.Now})
	n := a.app()
	require.NoError(t, a.change(n.balancer, props{"idleTimeout": 30}))

	found, err := a.Get(t.Context(), n.balancer.Type, region, n.balancer.ID)
	require.NoError(t, err)
	require.Equal(t, cloudsim.StateCreating, found.State)
	clk.advance(cloudsim.DefaultDelay)
	require.Equal(t, []string{"created:creating", "updated:creating", "available:available"},
		steps(a.journal(""), cloudsim.TypeLoadBalancer))
}
