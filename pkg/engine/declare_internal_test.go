package engine

import (
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
)

// requests keeps what a program asks the engine for, by name.
type requests struct {
	mutex  sync.Mutex
	byName map[string]*pulumirpc.RegisterResourceRequest
}

func (*requests) Call(pulumi.MockCallArgs) (resource.PropertyMap, error) {
	return resource.PropertyMap{}, nil
}

func (r *requests) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()

	if args.RegisterRPC != nil {
		r.byName[args.Name] = args.RegisterRPC
	}

	return args.ID, args.Inputs, nil
}

// A deletion heeds more of a resource than its inputs.
func TestDeclaredResourcesKeepTheirOptions(t *testing.T) {
	t.Parallel()

	state := testState()
	database, queue := &state[4], &state[6]
	database.Inputs = map[string]any{"deletionProtection": true, "identifier": "db"}
	database.RetainOnDelete = true
	database.AdditionalSecretOutputs = []string{"password"}
	database.CustomTimeouts = map[string]float64{"create": 1, "update": 2, "delete": 5400}
	queue.Dependencies = []string{testGroup, testDatabase, "urn:pulumi:a::p::x:y:Z::gone"}
	queue.DeletedWith = testDatabase

	state = append(state, checkpoint.Resource{
		URN: "urn:pulumi:a::p::aws:kms/key:Key::t1-key", Type: "aws:kms/key:Key", Custom: true, ID: "k", Parent: testStack,
		Provider: testProvider + "::1", Protect: true,
	})

	list, err := declarations(state, []Topology{{Generation: 1, FinalSnapshot: "last"}, {Generation: 12}}, true)
	require.NoError(t, err)

	asked := &requests{byName: map[string]*pulumirpc.RegisterResourceRequest{}}
	require.NoError(t, pulumi.RunErr(func(ctx *pulumi.Context) error { return declare(ctx, list) }, pulumi.WithMocks("p", "a", asked)))
	require.Len(t, asked.byName, len(list))

	for name, r := range asked.byName {
		require.NotNil(t, r.Protect, name)
		require.False(t, r.GetProtect(), name)
		require.Equal(t, name == "t1-db" || name == "t1-key", r.GetRetainOnDelete(), name)
	}

	db := asked.byName["t1-db"]
	require.Equal(t, testGroup, db.GetParent())
	require.Contains(t, db.GetProvider(), testProvider+"::")
	require.Empty(t, db.GetVersion())
	require.Equal(t, []string{"identifier"}, db.GetIgnoreChanges())
	require.Equal(t, []string{"password"}, db.GetAdditionalSecretOutputs())
	require.Equal(t, "1s", db.GetCustomTimeouts().GetCreate())
	require.Equal(t, "2s", db.GetCustomTimeouts().GetUpdate())
	require.Equal(t, "1h30m0s", db.GetCustomTimeouts().GetDelete())
	require.Equal(t, map[string]any{
		"deletionProtection": false, "skipFinalSnapshot": false, "finalSnapshotIdentifier": "last",
	}, db.GetObject().AsMap())

	work := asked.byName["t12-queue"]
	require.Equal(t, []string{testDatabase}, work.GetDependencies())
	require.Equal(t, testDatabase, work.GetDeletedWith())
	require.Empty(t, work.GetProvider())
	require.Equal(t, "6.83.4", work.GetVersion())
	require.Equal(t, "https://x", work.GetPluginDownloadURL())
	require.False(t, asked.byName["t1-group"].GetCustom())
}
