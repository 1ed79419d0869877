package awsplugin_test

import (
	"testing"

	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

func (h *host) lookUp(token string, arguments props) (props, error) {
	h.t.Helper()

	res, err := h.Invoke(h.t.Context(), &pulumirpc.InvokeRequest{Tok: token, Args: h.pack(arguments)})
	if err != nil {
		return nil, err
	}

	return h.unpack(res.GetReturn()).Mappable(), nil
}

func TestCallerIsOfTheAccount(t *testing.T) {
	t.Parallel()

	const token = "aws:index/getCallerIdentity:getCallerIdentity"

	caller, err := configured(t, "", cloudsim.Options{}).lookUp(token, props{})
	require.NoError(t, err)
	require.Equal(t, cloudsim.Account, caller["accountId"])
	require.Contains(t, caller["arn"], cloudsim.Account)

	_, err = newHost(t, "", cloudsim.Options{}).lookUp(token, props{})
	require.ErrorContains(t, err, "not configured")
}

func TestFunctionsFindByName(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})
	arn := "arn:aws:ecs:us-east-1:000000000000:cluster/look"

	h.create(cloudsim.TypeCluster, props{"name": "look", "tags": props{"a": "b"}})
	h.create(cloudsim.TypeCluster, props{"name": "another"})
	h.create(cloudsim.TypeLogGroup, props{"name": "/look"})
	h.create(cloudsim.TypeRole, props{"name": "look", "assumeRolePolicy": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"ecs-tasks.amazonaws.com"},"Action":"sts:AssumeRole"}]}`})

	found, err := h.lookUp("aws:ecs/getCluster:getCluster", props{"clusterName": "look"})
	require.NoError(t, err)
	require.Equal(t, arn, found["arn"])
	require.Contains(t, found["tags"], "a")

	found, err = h.lookUp("aws:cloudwatch/getLogGroup:getLogGroup", props{"name": "/look"})
	require.NoError(t, err)
	require.Equal(t, "/look", found["id"])

	_, err = h.lookUp("aws:iam/getRole:getRole", props{"name": "look"})
	require.NoError(t, err)

	for token, arguments := range map[string]props{
		"aws:ecs/getCluster:getCluster":          {"clusterName": "looks"},
		"aws:ecs/getService:getService":          {"clusterArn": arn, "serviceName": "look"},
		"aws:rds/getInstance:getInstance":        {"dbInstanceIdentifier": "look"},
		"aws:rds/getSubnetGroup:getSubnetGroup":  {"name": "look"},
		"aws:kms/getAlias:getAlias":              {"name": "alias/look"},
		"aws:lb/getLoadBalancer:getLoadBalancer": {"name": "look"},
		"aws:lb/getTargetGroup:getTargetGroup":   {"name": "look"},
		"aws:dynamodb/getTable:getTable":         {"name": "look"},
		"aws:sqs/getQueue:getQueue":              {"name": "look"},
		"aws:iam/getRole:getRole":                {"name": "looks"},
	} {
		_, err := h.lookUp(token, arguments)
		require.ErrorContains(t, err, "couldn't find resource", token)
		require.ErrorContains(t, err, "look", token)
	}

	_, err = h.lookUp("aws:ecs/getService:getService", props{"clusterArn": arn})
	require.ErrorContains(t, err, "aws:ecs/getService:getService needs serviceName")
}
