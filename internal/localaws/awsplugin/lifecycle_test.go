package awsplugin_test

import (
	"context"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/lessor-dev/lessor/internal/localaws/awsplugin"
	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// network makes what a database needs and returns its inputs.
func (h *host) network() (inputs props, made []made) {
	h.t.Helper()

	add := func(typ string, in props) string {
		m := h.create(typ, in)
		h.steady(m, in)
		made = append(made, m)

		return m.id
	}

	vpc := add(cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16", "enableDnsHostnames": true})
	one := add(cloudsim.TypeSubnet, props{"vpcId": vpc, "cidrBlock": "10.0.0.0/20", "availabilityZone": "us-east-1a"})
	two := add(cloudsim.TypeSubnet, props{"vpcId": vpc, "cidrBlock": "10.0.16.0/20", "availabilityZone": "us-east-1b"})
	access := add(cloudsim.TypeSecurityGroup, props{
		"name": "acme", "vpcId": vpc,
		"ingress": []any{props{"protocol": "tcp", "fromPort": 5432, "toPort": 5432, "cidrBlocks": []any{"10.0.0.0/16"}}},
	})
	group := add(cloudsim.TypeSubnetGroup, props{"name": "acme", "subnetIds": []any{one, two}})

	return props{
		"identifier": "acme", "engine": "postgres", "engineVersion": "17", "instanceClass": "db.t4g.micro", "allocatedStorage": 20,
		"storageType": "gp3", "username": "lessor", "manageMasterUserPassword": true, "dbSubnetGroupName": group,
		"vpcSecurityGroupIds": []any{access}, "skipFinalSnapshot": true,
	}, made
}

func TestDatabaseFromCreationToDeletion(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})
	inputs, network := h.network()

	db := h.create(cloudsim.TypeInstance, inputs)
	h.steady(db, inputs)
	require.Contains(t, db.output(h, "endpoint"), "acme.")

	found, err := h.cloud.Get(t.Context(), db.typ, region, db.id)
	require.NoError(t, err)
	require.Equal(t, cloudsim.StateAvailable, found.State, "the plugin waits")
	require.Equal(t, map[string]string{"tenant-id": "acme", "managed-by": "lessor"}, found.Tags)

	inputs["allocatedStorage"] = 40
	inputs["tags"] = props{"Name": "acme"}
	diff := h.diff(db, inputs)
	require.Equal(t, []string{"allocatedStorage", "tags"}, diff.GetDiffs())
	require.Empty(t, diff.GetReplaces())

	db, err = h.update(db, inputs)
	require.NoError(t, err)
	h.steady(db, inputs)

	for i := range network {
		require.NoError(t, h.delete(append(network, db)[len(network)-i]))
	}

	require.NoError(t, h.delete(network[0]))

	left, err := h.cloud.List(t.Context(), cloudsim.Filter{})
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestErrorsAreInTheWordsOfTheRealPlugin(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{Quotas: map[string]int{cloudsim.TypeVPC: 1}})
	inputs, network := h.network()
	inputs["deletionProtection"] = true
	db := h.create(cloudsim.TypeInstance, inputs)

	_, err := h.tryCreate(t.Context(), cloudsim.TypeVPC, props{"cidrBlock": "10.1.0.0/16"})
	failed(t, err, "creating EC2 VPC: operation error EC2: CreateVpc, https response error StatusCode: 400, RequestID: ")
	failed(t, err, ", api error VpcLimitExceeded: The maximum number of VPCs has been reached.")

	_, err = h.tryCreate(t.Context(), cloudsim.TypeInstance, inputs)
	failed(t, err, "creating RDS DB Instance (acme): operation error RDS: CreateDBInstance, ")
	failed(t, err, ", DBInstanceAlreadyExists: DB instance already exists")

	failed(t, h.delete(db), "deleting RDS DB Instance (acme): operation error RDS: DeleteDBInstance, ")
	failed(t, h.delete(db), ", api error InvalidParameterCombination: Cannot delete protected DB Instance")

	inputs["allocatedStorage"] = 1
	_, err = h.update(db, inputs)
	failed(t, err, "updating RDS DB Instance (acme): operation error RDS: ModifyDBInstance, ")

	failed(t, h.delete(network[0]), "deleting EC2 VPC ("+network[0].id+"): operation error EC2: DeleteVpc, ")
}

func TestDiffReplacesWhatCannotChange(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})
	inputs, _ := h.network()
	db := h.create(cloudsim.TypeInstance, inputs)

	inputs["username"] = "other"
	diff := h.diff(db, inputs)
	require.Equal(t, []string{"username"}, diff.GetReplaces())
	require.True(t, diff.GetDeleteBeforeReplace(), "the identifier is taken until then")
	require.Equal(t, pulumirpc.PropertyDiff_UPDATE_REPLACE, diff.GetDetailedDiff()["username"].GetKind())

	inputs["identifier"] = "other"
	require.False(t, h.diff(db, inputs).GetDeleteBeforeReplace())

	delete(inputs, "engineVersion")
	require.NotContains(t, h.diff(db, inputs).GetDiffs(), "engineVersion", "AWS's choice stays")
}

func TestCheck(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})

	for name, tc := range map[string]struct {
		typ      string
		inputs   props
		property string
		reason   string
	}{
		"missing":      {cloudsim.TypeVPC, props{}, "cidrBlock", `The argument "cidrBlock" is required`},
		"null":         {cloudsim.TypeVPC, props{"cidrBlock": nil}, "cidrBlock", "required"},
		"unknown":      {cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16", "ipamPool": "x"}, "ipamPool", "does not know this property"},
		"upper case":   {cloudsim.TypeInstance, props{"identifier": "Acme", "instanceClass": "x"}, "identifier", "lowercase"},
		"alias prefix": {cloudsim.TypeAlias, props{"name": "acme", "targetKeyId": "x"}, "name", "'alias/'"},
		"message size": {
			cloudsim.TypeQueue, props{"maxMessageSize": 1048576}, "maxMessageSize", "in the range (1024 - 262144), got 1048576",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			res, err := h.Check(t.Context(), &pulumirpc.CheckRequest{
				Urn: urn(tc.typ), News: h.pack(tc.inputs), RandomSeed: make([]byte, 32),
			})
			require.NoError(t, err)
			require.Len(t, res.GetFailures(), 1)
			require.Equal(t, tc.property, res.GetFailures()[0].GetProperty())
			require.Contains(t, res.GetFailures()[0].GetReason(), tc.reason)
		})
	}
}

func TestNamesAreMadeUpOnceOnly(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})
	first := h.checked(cloudsim.TypeAlias, props{"targetKeyId": "x"})
	require.Regexp(t, `^alias/it-[0-9a-f]{7}$`, h.unpack(first)["name"].StringValue())

	again, err := h.Check(t.Context(), &pulumirpc.CheckRequest{
		Urn: urn(cloudsim.TypeAlias), Olds: first, News: h.pack(props{"targetKeyId": "y"}),
		RandomSeed: []byte("another seed of thirty-two bytes"),
	})
	require.NoError(t, err)
	require.Equal(t, h.unpack(first)["name"], h.unpack(again.GetInputs())["name"])
}

func TestUnknownTypesAndFunctionsAreNamed(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})

	const typ = "aws:ecs/taskSet:TaskSet"

	_, err := h.Check(t.Context(), &pulumirpc.CheckRequest{Urn: urn(typ)})
	require.ErrorContains(t, err, `unknown resource type "aws:ecs/taskSet:TaskSet": `+
		`the local pulumi-resource-aws has only aws:cloudwatch/eventBus:EventBus`)

	_, err = h.Create(t.Context(), &pulumirpc.CreateRequest{Urn: urn(typ)})
	require.ErrorContains(t, err, typ)

	_, err = h.Invoke(t.Context(), &pulumirpc.InvokeRequest{Tok: "aws:index/getRegion:getRegion"})
	require.ErrorContains(t, err, `unknown function "aws:index/getRegion:getRegion": the local pulumi-resource-aws has only `+
		"aws:cloudwatch/getLogGroup:getLogGroup")
}

func TestPreviewCallsNobody(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})
	unknown := resource.MakeComputed(resource.NewStringProperty(""))
	in := resource.NewPropertyMapFromMap(props{"cidrBlock": "10.0.0.0/20", "tags": props{"a": "b"}})
	in["vpcId"] = unknown

	checked, err := h.Check(t.Context(), &pulumirpc.CheckRequest{Urn: urn(cloudsim.TypeSubnet), News: h.marshal(in)})
	require.NoError(t, err)
	require.Empty(t, checked.GetFailures())

	res, err := h.Create(t.Context(), &pulumirpc.CreateRequest{
		Urn: urn(cloudsim.TypeSubnet), Properties: checked.GetInputs(), Preview: true,
	})
	require.NoError(t, err)
	require.Empty(t, res.GetId())

	planned := h.unpack(res.GetProperties())
	require.True(t, planned["arn"].IsComputed())
	require.True(t, planned["availabilityZone"].IsComputed())
	require.True(t, planned["vpcId"].IsComputed())
	require.Equal(t, "b", planned["tagsAll"].ObjectValue()["a"].StringValue())
	require.Equal(t, "acme", planned["tagsAll"].ObjectValue()["tenant-id"].StringValue())

	vpc := h.create(cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16"})
	update, err := h.Update(t.Context(), &pulumirpc.UpdateRequest{
		Urn: urn(vpc.typ), Id: vpc.id, Olds: vpc.state, OldInputs: vpc.inputs, News: vpc.inputs, Preview: true,
	})
	require.NoError(t, err)
	require.Equal(t, vpc.output(h, "arn"), h.unpack(update.GetProperties())["arn"].StringValue(), "what is known stays known")

	entries, err := h.cloud.Log(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, entries, 1)
}

func TestSecretsStaySecret(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})
	inputs, _ := h.network()
	delete(inputs, "manageMasterUserPassword")

	in := resource.NewPropertyMapFromMap(inputs)
	in["password"] = resource.MakeSecret(resource.NewStringProperty("hunter2"))
	in["dbName"] = resource.MakeSecret(resource.NewStringProperty("classified"))

	checked, err := h.Check(t.Context(), &pulumirpc.CheckRequest{Urn: urn(cloudsim.TypeInstance), News: h.marshal(in)})
	require.NoError(t, err)

	res, err := h.Create(t.Context(), &pulumirpc.CreateRequest{
		Urn: urn(cloudsim.TypeInstance), Properties: checked.GetInputs(),
	})
	require.NoError(t, err)

	db := made{cloudsim.TypeInstance, res.GetId(), checked.GetInputs(), res.GetProperties()}
	read := h.refresh(db)

	for what, props := range map[string]resource.PropertyMap{
		"inputs": h.unpack(checked.GetInputs()), "state": h.unpack(db.state),
		"refreshed inputs": h.unpack(read.GetInputs()), "refreshed state": h.unpack(read.GetProperties()),
	} {
		require.True(t, props["password"].IsSecret(), what)
		require.True(t, props["dbName"].IsSecret(), what)
		require.False(t, props["identifier"].IsSecret(), what)
	}

	imported := h.unpack(h.refresh(made{typ: db.typ, id: db.id}).GetInputs())
	require.True(t, imported["password"].IsSecret(), "a password is one even if nobody said so")
}

func TestRefreshSeesDriftAndAbsence(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})
	inputs := props{"cidrBlock": "10.0.0.0/16", "enableDnsHostnames": true}
	vpc := h.create(cloudsim.TypeVPC, inputs)

	_, err := h.cloud.Change(t.Context(), cloudsim.Change{
		Type: vpc.typ, Region: region, ID: vpc.id, Behind: true,
		Inputs: props{"cidrBlock": "10.0.0.0/16", "enableDnsHostnames": false}, Tags: map[string]string{"tenant-id": "acme"},
	})
	require.NoError(t, err)

	read := h.refresh(vpc)
	require.False(t, h.unpack(read.GetInputs())["enableDnsHostnames"].BoolValue())

	drifted := made{vpc.typ, vpc.id, read.GetInputs(), read.GetProperties()}
	require.Equal(t, []string{"enableDnsHostnames", "enableDnsSupport", "instanceTenancy", "tags"}, h.diff(drifted, inputs).GetDiffs())

	require.NoError(t, h.cloud.Remove(t.Context(), cloudsim.Removal{Type: vpc.typ, Region: region, ID: vpc.id, Behind: true}))
	require.Empty(t, h.refresh(vpc).GetId())
	require.NoError(t, h.delete(vpc))
}

func TestThrottlingIsRetried(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})

	_, err := h.cloud.SetFault(t.Context(), cloudsim.Fault{Effect: cloudsim.EffectThrottle, Times: 2})
	require.NoError(t, err)
	h.create(cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16"})

	_, err = h.cloud.SetFault(t.Context(), cloudsim.Fault{Effect: cloudsim.EffectThrottle, Times: -1})
	require.NoError(t, err)

	_, err = h.tryCreate(t.Context(), cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16"})
	failed(t, err, "StatusCode: 503, RequestID: ")
	failed(t, err, "api error RequestLimitExceeded: Request limit exceeded.")

	faults, err := h.cloud.Faults(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, faults[1].Struck, "maxRetries is 2")
}

func TestDeletionWaitsForThoseInTheWay(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})
	vpc := h.create(cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16"})
	subnet := h.create(cloudsim.TypeSubnet, props{"vpcId": vpc.id, "cidrBlock": "10.0.0.0/20"})
	done := make(chan error, 1)

	go func() { done <- h.delete(vpc) }()

	require.Eventually(t, func() bool {
		entries, err := h.cloud.Log(t.Context(), 0)

		return err == nil && entries[len(entries)-1].Code == "DependencyViolation"
	}, 5*time.Second, time.Millisecond)

	require.NoError(t, h.delete(subnet))
	require.NoError(t, <-done)
}

// TestUnfinishedCreationIsInTheState: what exists must not be forgotten because
// nobody waited for it.
func TestUnfinishedCreationIsInTheState(t *testing.T) {
	t.Parallel()

	for name, end := range map[string]func(*host) error{
		"cancelled": func(h *host) error {
			_, err := h.Cancel(context.Background(), &emptypb.Empty{})

			return err
		},
		"timeout": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			h := configured(t, "", cloudsim.Options{Delays: map[string]time.Duration{cloudsim.TypeInstance: time.Hour}})
			inputs, _ := h.network()
			request := &pulumirpc.CreateRequest{Urn: urn(cloudsim.TypeInstance), Properties: h.checked(cloudsim.TypeInstance, inputs)}

			if end == nil {
				request.Timeout = 0.5
			} else {
				go func() {
					for {
						if _, err := h.cloud.Get(t.Context(), cloudsim.TypeInstance, region, "acme"); err == nil {
							_ = end(h)

							return
						}
					}
				}()
			}

			_, err := h.Create(t.Context(), request)
			require.ErrorContains(t, err, "waiting for RDS DB Instance (acme)")

			var detail *pulumirpc.ErrorResourceInitFailed

			for _, d := range status.Convert(err).Details() {
				if found, ok := d.(*pulumirpc.ErrorResourceInitFailed); ok {
					detail = found
				}
			}

			require.NotNil(t, detail)
			require.Equal(t, "acme", detail.GetId())
			require.Equal(t, "acme", h.unpack(detail.GetProperties())["identifier"].StringValue())
		})
	}
}

func TestScriptedCrashEndsTheProcess(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})

	_, err := h.cloud.SetFault(t.Context(), cloudsim.Fault{Effect: cloudsim.EffectCrash, Type: cloudsim.TypeVPC})
	require.NoError(t, err)

	_, err = h.tryCreate(t.Context(), cloudsim.TypeVPC, props{"cidrBlock": "10.0.0.0/16"})
	require.Error(t, err)
	require.Equal(t, awsplugin.ExitScripted, <-h.exits)

	found, err := h.cloud.OfTenant(t.Context(), "acme")
	require.NoError(t, err)
	require.Len(t, found, 1, "it exists, and nobody knows")
}
