package awsplugin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// function looks one resource up by what its arguments say.
type function struct {
	typ string
	// arguments are the properties of the resource that they are.
	arguments map[string]string
}

// functions are those that lessor's programs use. They return the resource's id,
// ARN and tags.
func functions() map[string]function {
	named := map[string]string{"name": "name"}

	return map[string]function{
		"aws:rds/getInstance:getInstance":        {cloudsim.TypeInstance, map[string]string{"dbInstanceIdentifier": "identifier"}},
		"aws:rds/getSubnetGroup:getSubnetGroup":  {cloudsim.TypeSubnetGroup, named},
		"aws:cloudwatch/getLogGroup:getLogGroup": {cloudsim.TypeLogGroup, named},
		"aws:kms/getAlias:getAlias":              {cloudsim.TypeAlias, named},
		"aws:ecs/getCluster:getCluster":          {cloudsim.TypeCluster, map[string]string{"clusterName": "name"}},
		"aws:ecs/getService:getService":          {cloudsim.TypeService, map[string]string{"clusterArn": "cluster", "serviceName": "name"}},
		"aws:lb/getLoadBalancer:getLoadBalancer": {cloudsim.TypeLoadBalancer, named},
		"aws:lb/getTargetGroup:getTargetGroup":   {cloudsim.TypeTargetGroup, named},
		"aws:dynamodb/getTable:getTable":         {cloudsim.TypeTable, named},
		"aws:sqs/getQueue:getQueue":              {cloudsim.TypeQueue, named},
		"aws:iam/getRole:getRole":                {cloudsim.TypeRole, named},
	}
}

// callerIdentity is the function that looks nothing up.
const callerIdentity = "aws:index/getCallerIdentity:getCallerIdentity"

// whose answers as for a user of the account that there is.
// https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html
func (p *Provider) whose() (*pulumirpc.InvokeResponse, error) {
	if p.configured() == nil {
		return nil, errNotConfigured
	}

	result, err := marshal("the result", resource.NewPropertyMapFromMap(map[string]any{
		"id": cloudsim.Account, "accountId": cloudsim.Account, "userId": "AIDALOCAL",
		"arn": "arn:aws:iam::" + cloudsim.Account + ":user/local",
	}))

	return &pulumirpc.InvokeResponse{Return: result}, err
}

// Invoke calls a function.
func (p *Provider) Invoke(ctx context.Context, req *pulumirpc.InvokeRequest) (*pulumirpc.InvokeResponse, error) {
	if req.GetTok() == callerIdentity {
		return p.whose()
	}

	f, known := functions()[req.GetTok()]
	if !known {
		return nil, fmt.Errorf("%w %q: the local pulumi-resource-%s has only %s; add it in internal/localaws/awsplugin "+
			"or use the real plugin", errUnknownFunction, req.GetTok(), Name, strings.Join(slices.Sorted(maps.Keys(functions())), ", "))
	}

	given, err := unmarshal("the arguments", req.GetArgs())
	if err != nil {
		return nil, err
	}

	t, err := p.types.find(f.typ)
	if err != nil {
		return nil, err
	}

	b, ctx, stop, err := p.begin(ctx, t, 0)
	if err != nil {
		return nil, err
	}
	defer stop()

	filter := cloudsim.Filter{Type: f.typ, Region: b.settings.region, Texts: map[string]string{}}

	for argument, property := range f.arguments {
		value := given[resource.PropertyKey(argument)]
		if !value.IsString() {
			return nil, fmt.Errorf("%w: %s needs %s", errArgument, req.GetTok(), argument)
		}

		filter.Texts[property] = value.StringValue()
	}

	found, err := b.cloud.List(ctx, filter)

	switch {
	case err != nil:
		return nil, t.explain("reading", "", t.calls.read, err)
	case len(found) == 0:
		return nil, t.explain("reading", strings.Join(slices.Sorted(maps.Values(filter.Texts)), "/"), t.calls.read, errNothing)
	}

	result, err := marshal("the result", resource.NewPropertyMapFromMap(map[string]any{
		"id": found[0].ID, "arn": found[0].ARN(), tags: found[0].Tags,
	}))

	return &pulumirpc.InvokeResponse{Return: result}, err
}
