package cloudsim_test

import (
	"maps"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

const region = "us-east-1"

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// account is a simulator behind HTTP with helpers that must succeed.
type account struct {
	*cloudsim.Client

	t *testing.T
}

func newAccount(t *testing.T, opts cloudsim.Options) *account {
	t.Helper()

	cloud := cloudsim.New(opts)
	server := httptest.NewServer(cloud.Handler())
	client := cloudsim.NewClient(server.URL, nil)

	t.Cleanup(func() {
		cloud.Close()
		client.Close()
		server.Close()
	})

	return &account{Client: client, t: t}
}

func instant() cloudsim.Options {
	return cloudsim.Options{Delays: map[string]time.Duration{
		cloudsim.TypeInstance: 0, cloudsim.TypeService: 0, cloudsim.TypeLoadBalancer: 0,
	}}
}

type props = map[string]any

func (a *account) create(typ string, inputs props) (cloudsim.Resource, error) {
	return a.Create(a.t.Context(), cloudsim.Creation{Type: typ, Region: region, Inputs: inputs})
}

func (a *account) must(typ string, inputs props) cloudsim.Resource {
	a.t.Helper()

	r, err := a.create(typ, inputs)
	require.NoError(a.t, err)

	return r
}

func (a *account) remove(r cloudsim.Resource, arguments props) error {
	return a.Remove(a.t.Context(), cloudsim.Removal{Type: r.Type, Region: r.Region, ID: r.ID, Arguments: arguments})
}

func (a *account) change(r cloudsim.Resource, inputs props) error {
	merged := props{}
	maps.Copy(merged, r.Inputs)
	maps.Copy(merged, inputs)

	_, err := a.Change(a.t.Context(), cloudsim.Change{Type: r.Type, Region: r.Region, ID: r.ID, Inputs: merged})

	return err
}

// refused checks the code and a part of the text of a refusal.
func refused(t *testing.T, err error, code, text string) {
	t.Helper()

	var refusal *cloudsim.Error

	require.ErrorAs(t, err, &refusal)
	require.Equal(t, code, refusal.Code)
	require.Contains(t, refusal.Message, text)
	require.NotEmpty(t, refusal.RequestID)
}

// network is a VPC with two subnets in two zones, a security group, a key and
// a subnet group.
type network struct {
	vpc, a, b, sg, key, group cloudsim.Resource
}

func (a *account) network() network {
	a.t.Helper()

	var n network

	n.vpc = a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16"})
	n.a = a.must(cloudsim.TypeSubnet, props{"vpcId": n.vpc.ID, "cidrBlock": "10.0.0.0/20", "availabilityZone": "us-east-1a"})
	n.b = a.must(cloudsim.TypeSubnet, props{"vpcId": n.vpc.ID, "cidrBlock": "10.0.16.0/20", "availabilityZone": "us-east-1b"})
	n.sg = a.must(cloudsim.TypeSecurityGroup, props{"vpcId": n.vpc.ID, "name": "acme-t1-db"})
	n.key = a.must(cloudsim.TypeKey, props{})
	n.group = a.must(cloudsim.TypeSubnetGroup, props{"name": "acme-t1", "subnetIds": []any{n.a.ID, n.b.ID}})

	return n
}

func (n network) instance(more props) props {
	inputs := props{
		"identifier": "acme-t1", "engine": "postgres", "storageType": "gp3", "allocatedStorage": 20, "username": "lessor",
		"manageMasterUserPassword": true, "storageEncrypted": true, "kmsKeyId": n.key.Outputs["arn"],
		"dbSubnetGroupName": n.group.ID, "vpcSecurityGroupIds": []any{n.sg.ID},
	}
	for name, value := range more {
		if inputs[name] = value; value == nil {
			delete(inputs, name)
		}
	}

	return inputs
}
