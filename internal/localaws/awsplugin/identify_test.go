package awsplugin_test

import (
	"net/http"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/awsplugin"
	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/inventory"
)

// The inventory has every type of the plugin in its table: of what is not there
// it would be unsure, since there is something unknown of every service.
func TestInventoryKnowsEveryType(t *testing.T) {
	t.Parallel()

	inputs := props{
		"name": "acme", "identifier": "acme", "bucket": "acme", "queueUrl": "acme", "role": "acme", "tags": props{"Name": "acme"},
		"routeTableId": "rtb-1", "destinationCidrBlock": "10.0.0.0/16", "subnetId": "subnet-1",
	}

	services := []string{"ec2", "rds", "kms", "sqs", "sns", "s3", "dynamodb", "ecs", "elasticloadbalancing", "iam", "logs"}
	everything := make([]inventory.Resource, 0, len(services))

	for _, service := range services {
		everything = append(everything, inventory.Resource{ARN: "arn:aws:" + service + ":us-east-1:000000000000:x/x"})
	}

	// No program of a tenant makes these: they are of the fleet's own platform.
	platform := []string{cloudsim.TypeBucketPolicy, cloudsim.TypeBus, cloudsim.TypeAlarm, cloudsim.TypePolicy}

	for _, token := range awsplugin.Tokens() {
		if slices.Contains(platform, token) {
			continue
		}

		_, verdict := inventory.Identify(inventory.Known{Type: token, Inputs: inputs}, everything)
		require.NotEqual(t, inventory.Unsure, verdict, token)
	}

	_, verdict := inventory.Identify(inventory.Known{Type: "aws:s3/unheard:Of", Inputs: inputs}, everything)
	require.Equal(t, inventory.Unsure, verdict)
}

// What was made and is in no state is found by its tags, and adopted under the
// import id that the inventory gives.
func TestWhatNoStateHasIsFoundAgain(t *testing.T) {
	t.Parallel()

	h, _ := emulated(t)
	name := func(n string) props { return props{"Name": n} }

	var all []made

	add := func(typ string, inputs props) made {
		m := h.create(typ, inputs)
		all = append(all, m)

		return m
	}

	vpc := add(cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16", "tags": name("found-vpc")})
	one := add(cloudsim.TypeSubnet, props{"vpcId": vpc.id, "cidrBlock": "10.0.0.0/20", "availabilityZone": "us-east-1a", "tags": name("found-1")})
	two := add(cloudsim.TypeSubnet, props{"vpcId": vpc.id, "cidrBlock": "10.0.16.0/20", "availabilityZone": "us-east-1b", "tags": name("found-2")})
	add(cloudsim.TypeSecurityGroup, props{"name": "found", "vpcId": vpc.id, "tags": name("found-db")})
	key := add(cloudsim.TypeKey, props{"tags": name("found-key")})
	add(cloudsim.TypeAlias, props{"name": "alias/found", "targetKeyId": key.id})

	group := add(cloudsim.TypeSubnetGroup, props{"name": "found", "subnetIds": []any{one.id, two.id}})
	add(cloudsim.TypeInstance, props{
		"identifier": "found", "engine": "postgres", "instanceClass": "db.t4g.micro", "allocatedStorage": 20, "username": "lessor",
		"manageMasterUserPassword": true, "dbSubnetGroupName": group.id,
	})
	add(cloudsim.TypeTable, props{"name": "found", "hashKey": "pk", "attributes": []any{props{"name": "pk", "type": "S"}}})
	add(cloudsim.TypeBucket, props{"bucket": "found-bucket"})
	add(cloudsim.TypeTopic, props{"name": "found"})
	queue := add(cloudsim.TypeQueue, props{"name": "found"})
	add(cloudsim.TypeQueuePolicy, props{"queueUrl": queue.id, "policy": "{}"})
	// Two of a kind are told apart.
	other := add(cloudsim.TypeVPC, props{"cidrBlock": "10.1.0.0/16", "tags": name("found-other")})

	peering := add(cloudsim.TypePeering, props{"vpcId": vpc.id, "peerVpcId": other.id, "autoAccept": true, "tags": name("found-peering")})
	table := add(cloudsim.TypeRouteTable, props{"vpcId": vpc.id, "tags": name("found-routes")})
	add(cloudsim.TypeRoute, props{"routeTableId": table.id, "destinationCidrBlock": "10.1.0.0/16", "vpcPeeringConnectionId": peering.id})
	add(cloudsim.TypeRouteAssociation, props{"subnetId": one.id, "routeTableId": table.id})

	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)

	look := inventory.Open(aws.Config{
		BaseEndpoint: &h.endpoint, HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	}, region)

	unknown, err := look.FindUnknown(t.Context(), "acme", nil)
	require.NoError(t, err)

	const untaggable = 4

	require.Len(t, unknown, len(all)-untaggable)

	for _, m := range all {
		id, verdict := inventory.Identify(inventory.Known{Type: m.typ, Inputs: h.unpack(m.inputs).Mappable()}, unknown)
		require.Equal(t, inventory.Exists, verdict, m.typ)
		require.Equal(t, m.id, h.refresh(made{typ: m.typ, id: id, inputs: m.inputs}).GetId(), "%s as %s", m.typ, id)
	}

	known := make([]inventory.Known, 0, len(all))
	for _, m := range all {
		known = append(known, inventory.Known{Type: m.typ, ID: m.id, Outputs: h.unpack(m.state).Mappable()})
	}

	unknown, err = look.FindUnknown(t.Context(), "acme", known)
	require.NoError(t, err)
	require.Empty(t, unknown, "a state with ARNs")

	for i := range known {
		known[i].Outputs = nil
	}

	unknown, err = look.FindUnknown(t.Context(), "acme", known)
	require.NoError(t, err)
	require.Empty(t, unknown, "a state without ARNs")

	require.NoError(t, h.delete(all[5]))
	require.NoError(t, h.delete(key))

	unknown, err = look.FindUnknown(t.Context(), "acme", nil)
	require.NoError(t, err)

	_, kept := inventory.Split(unknown)
	require.Len(t, kept, 1, "a key that waits for its deletion")
	require.Contains(t, kept[0].ARN, key.id)
}
