package e2e_test

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/engine/stategate"
	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const day = 24 * time.Hour

// Of a tenant that is gone the bucket keeps an empty checkpoint for a day, and
// what its tier retains for as long as that says. Then nothing is left but the
// row, and the tenant may come again.
func TestGoneTenantsArePurged(t *testing.T) {
	t.Parallel()

	f := newFleet(t, 1, "LESSOR_SWEEP_INTERVAL=1s")
	ids := map[tenant.ID]string{"purged": "wired", "retained": "kept"}

	for id, tier := range ids {
		f.create(id, tier)
	}

	for id := range ids {
		f.applied(id, 1)
		f.ask(tenant.EventDeleted, id)
	}

	purged, retained := f.applied("purged", 2), f.applied("retained", 2)
	require.Equal(t, purged.Stack.RemovedAt.Add(day).UnixMilli(), purged.DueAt.UnixMilli())
	require.Equal(t, retained.Stack.RemovedAt.Add(30*day).UnixMilli(), retained.DueAt.UnixMilli())

	kept := f.versions(purged)
	require.Len(t, kept["stacks"], 1, "the empty checkpoint")
	require.Empty(t, kept["history"])
	require.Greater(t, len(f.versions(retained)["stacks"]), 1)
	require.NotEmpty(t, f.versions(retained)["history"])

	// Somebody comes back before anything is purged.
	f.create("retained", "kept")
	f.applied("retained", 3)
	f.ask(tenant.EventDeleted, "retained")
	retained = f.applied("retained", 4)

	for _, rec := range []tenant.Record{purged, retained} {
		f.age(rec, day+time.Hour)
	}

	gone := f.purged("purged")
	require.Empty(t, f.versions(gone))
	require.False(t, gone.Stack.Created)
	require.Zero(t, gone.Stack.RemovedAt)
	require.Zero(t, gone.DueAt)
	require.Equal(t, tenant.PhaseAbsent, gone.Applied.Spec.Phase)
	require.Equal(t, []string{"purge"}, gone.Last.Steps)

	retained = f.settled("retained")
	require.NotEmpty(t, f.versions(retained)["history"], "29 days are left")
	f.age(retained, 29*day)
	require.Empty(t, f.versions(f.purged("retained")))

	for id, tier := range ids {
		before := f.settled(id)
		f.create(id, tier)

		rec := f.applied(id, before.DesiredSeq+1)
		require.True(t, rec.Stack.Created)
		require.Zero(t, rec.Stack.PurgedAt)
		require.Greater(t, rec.Applied.Generation, before.Applied.Generation)
		require.Equal(t, 2, rec.Last.Resources)
	}
}

// A network that something of somebody else's is in cannot be deleted. The
// deletion is tried until that is gone, and ends with nothing left.
func TestDeletionWaitsForDependencies(t *testing.T) {
	t.Parallel()

	const id = tenant.ID("entangled")

	f := newFleet(t, 1, "LESSOR_BACKOFF_MAX=2s")
	f.create(id, "wired")
	f.applied(id, 1)

	network := f.only(id, cloudsim.TypeVPC)
	stranger, err := local.Cloud().Create(t.Context(), cloudsim.Creation{
		Type: cloudsim.TypeSubnet, Region: network.Region,
		Inputs: map[string]any{"vpcId": network.ID, "cidrBlock": "10.0.9.0/24", "availabilityZone": network.Region + "a"},
	})
	require.NoError(t, err)

	fault, err := local.Cloud().SetFault(t.Context(), cloudsim.Fault{
		Effect: cloudsim.EffectFail, Operation: cloudsim.OperationDelete, Type: cloudsim.TypeVPC, Tenant: string(id),
		Code: "DependencyViolation", Message: "The vpc '" + network.ID + "' has dependencies and cannot be deleted.",
	})
	require.NoError(t, err)
	f.ask(tenant.EventDeleted, id)
	f.struck(fault.ID)
	require.NoError(t, local.Cloud().ClearFaults(t.Context(), fault.ID))
	require.NoError(t, local.Cloud().Remove(t.Context(), cloudsim.Removal{
		Type: stranger.Type, Region: stranger.Region, ID: stranger.ID, Behind: true,
	}))

	rec := f.applied(id, 2)
	require.Equal(t, tenant.PhaseAbsent, rec.Applied.Spec.Phase)
	require.False(t, rec.Stack.Created)

	left, err := local.Cloud().OfTenant(t.Context(), string(id))
	require.NoError(t, err)
	require.Empty(t, left)
}

// purged waits until nothing of a tenant is kept.
func (f *fleet) purged(id tenant.ID) tenant.Record {
	f.t.Helper()

	var rec tenant.Record

	f.await("the purge of "+string(id), time.Minute, func() bool {
		rec = f.settled(id)

		return !rec.Stack.PurgedAt.IsZero()
	})

	return rec
}

// age lets time pass for the row of a tenant that is gone.
func (f *fleet) age(rec tenant.Record, d time.Duration) {
	f.t.Helper()

	rec.Stack.RemovedAt = rec.Stack.RemovedAt.Add(-d)

	stack, err := json.Marshal(rec.Stack)
	require.NoError(f.t, err)

	_, err = dynamodb.NewFromConfig(f.aws).UpdateItem(f.t.Context(), &dynamodb.UpdateItemInput{
		TableName: aws.String(f.table), Key: registry.Key(rec.ID),
		UpdateExpression: aws.String("SET stack = :stack, due_at = :due"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":stack": &types.AttributeValueMemberS{Value: string(stack)},
			":due":   &types.AttributeValueMemberN{Value: strconv.FormatInt(rec.DueAt.Add(-d).UnixMilli(), 10)},
		},
	})
	require.NoError(f.t, err)
}

// versions are what the bucket keeps of a tenant's stack, marks of deletions
// included, by the directory that it is in.
func (f *fleet) versions(rec tenant.Record) map[string][]stategate.Version {
	f.t.Helper()

	all, err := stategate.NewStore(stategate.NewClient(f.aws), rec.Stack.Shard).Versions(f.t.Context(), ".pulumi/")
	require.NoError(f.t, err)

	kept := map[string][]stategate.Version{}

	for _, v := range all {
		directory, key, _ := strings.Cut(strings.TrimPrefix(v.Key, ".pulumi/"), "/")
		if strings.Contains("/"+key+"/", "/"+rec.Stack.Name+"/") || strings.HasSuffix(key, "/"+rec.Stack.Name+".json") {
			kept[directory] = append(kept[directory], v)
		}
	}

	return kept
}
