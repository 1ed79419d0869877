package programs

import (
	"cmp"
	"errors"
	"fmt"
	"sync"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// lookup finds a resource by a name that can be given once: a function of the AWS
// provider, its argument that is the name, if that is not called so, and the one that
// says where the name is given, if that is not the whole account and region.
type lookup struct{ what, function, argument, within string }

//nolint:gochecknoglobals // constants
var (
	lookupInstance     = lookup{"DB instance", "aws:rds/getInstance:getInstance", "dbInstanceIdentifier", ""}
	lookupSubnetGroup  = lookup{"DB subnet group", "aws:rds/getSubnetGroup:getSubnetGroup", "", ""}
	lookupLogGroup     = lookup{"log group", "aws:cloudwatch/getLogGroup:getLogGroup", "", ""}
	lookupAlias        = lookup{"key alias", "aws:kms/getAlias:getAlias", "", ""}
	lookupCluster      = lookup{"cluster", "aws:ecs/getCluster:getCluster", "clusterName", ""}
	lookupLoadBalancer = lookup{"load balancer", "aws:lb/getLoadBalancer:getLoadBalancer", "", ""}
	lookupService      = lookup{"service", "aws:ecs/getService:getService", "serviceName", "clusterArn"}
	lookupTargetGroup  = lookup{"target group", "aws:lb/getTargetGroup:getTargetGroup", "", ""}
	lookupTable        = lookup{"table", "aws:dynamodb/getTable:getTable", "", ""}
	lookupQueue        = lookup{"queue", "aws:sqs/getQueue:getQueue", "", ""}
	lookupRole         = lookup{"role", "aws:iam/getRole:getRole", "", ""}
)

// claim is a name that a topology is to have.
type claim struct {
	lookup lookup
	name   string
	within string
}

func keyClaims(topology engine.Topology) []claim {
	return []claim{{lookup: lookupAlias, name: aliasPrefix + topology.PhysicalName("key", maxAliasName-len(aliasPrefix))}}
}

func databaseClaims(topology engine.Topology) []claim {
	return []claim{
		{lookup: lookupInstance, name: topology.PhysicalName("db", maxInstanceName)},
		{lookup: lookupSubnetGroup, name: topology.PhysicalName("db", maxSubnetGroupName)},
		{lookup: lookupLogGroup, name: databaseLogs(topology)},
	}
}

// computeClaims are of a cluster and a load balancer.
func computeClaims(topology engine.Topology) []claim {
	return []claim{
		{lookup: lookupCluster, name: topology.PhysicalName("cluster", maxECSName)},
		{lookup: lookupLoadBalancer, name: topology.PhysicalName("alb", maxBalancerName)},
	}
}

func roleClaim(topology engine.Topology, part string) claim {
	return claim{lookup: lookupRole, name: topology.PhysicalName(part, maxRoleName)}
}

func bridgeClaims(topology engine.Topology, cluster string) []claim {
	return []claim{
		{lookup: lookupTable, name: topology.PhysicalName("data", maxTableName)},
		{lookup: lookupQueue, name: topology.PhysicalName("dead", maxQueueName)},
		{lookup: lookupQueue, name: topology.PhysicalName("work", maxQueueName)},
		{lookup: lookupLogGroup, name: bridgeLogs(topology)},
		{lookup: lookupTargetGroup, name: topology.PhysicalName("app", maxTargetGroupName)},
		{lookup: lookupService, name: topology.PhysicalName("app", maxECSName), within: cluster},
		roleClaim(topology, "app"),
	}
}

// refuseTaken looks for what has the names of a topology that is new. AWS would
// refuse them too, but in the middle, when half of the rest stands and costs money.
// See docs/decisions/0012-names-are-looked-up-first.md.
func refuseTaken(ctx *pulumi.Context, topology engine.Topology, provider *aws.Provider, claims ...claim) error {
	if !topology.Fresh {
		return nil
	}

	var (
		wg    sync.WaitGroup
		taken = make([]error, len(claims))
	)

	for i, c := range claims {
		wg.Go(func() {
			var found struct {
				ARN string `pulumi:"arn"`
			}

			// An error is most often that there is none. It may be that the role
			// must not look, or that AWS is busy; then AWS refuses a name that is
			// taken, as it would without us.
			err := ctx.Invoke(c.lookup.function, c.arguments(), &found, pulumi.Provider(provider))
			if err == nil && found.ARN != "" {
				taken[i] = &engine.TakenError{What: c.lookup.what, Name: c.name}
			}
		})
	}

	wg.Wait()

	if err := errors.Join(taken...); err != nil {
		return fmt.Errorf("names are taken: %w", err)
	}

	return nil
}

func (c claim) arguments() map[string]any {
	arguments := map[string]any{cmp.Or(c.lookup.argument, "name"): c.name}
	if c.lookup.within != "" {
		arguments[c.lookup.within] = c.within
	}

	return arguments
}
