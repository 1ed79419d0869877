package checkpoint_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
)

const (
	networkURN = "urn:pulumi:a::lessor::aws:ec2/vpc:Vpc::t1-vpc"
	dataURN    = "urn:pulumi:a::lessor::aws:s3/bucketV2:BucketV2::t1-data"
)

func pendingCreation(urn string) checkpoint.Pending {
	return checkpoint.Pending{Operation: "creating", Resource: checkpoint.Resource{URN: urn}}
}

func TestLost(t *testing.T) {
	t.Parallel()

	before := checkpoint.State{Pending: []checkpoint.Pending{
		pendingCreation(networkURN), pendingCreation(dataURN),
		{Operation: "deleting", Resource: checkpoint.Resource{URN: "urn:other"}},
	}}

	for name, tt := range map[string]struct {
		after checkpoint.State
		want  []string
	}{
		"both failed":       {checkpoint.State{}, []string{networkURN, dataURN}},
		"one is under way":  {checkpoint.State{Pending: []checkpoint.Pending{pendingCreation(networkURN)}}, []string{dataURN}},
		"one was made":      {checkpoint.State{Resources: []checkpoint.Resource{{URN: dataURN}}}, []string{networkURN}},
		"the old one is no": {checkpoint.State{Resources: []checkpoint.Resource{{URN: networkURN, Delete: true}, {URN: dataURN}}}, []string{networkURN}},
		"another operation": {checkpoint.State{Pending: []checkpoint.Pending{
			{Operation: "deleting", Resource: checkpoint.Resource{URN: networkURN}}, pendingCreation(dataURN),
		}}, []string{networkURN}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, tt.want, checkpoint.Lost(before, tt.after))
		})
	}

	require.Empty(t, checkpoint.Lost(checkpoint.State{}, before))
}

// What is put back is under way again, word for word, and all else is as it was.
func TestReopen(t *testing.T) {
	t.Parallel()

	pending := fixture(t, "pending")

	was, err := checkpoint.Read(pending)
	require.NoError(t, err)

	var (
		urns      []string
		creations []json.RawMessage
	)

	for _, p := range was.Pending {
		if raw := checkpoint.Creation(pending, p.Resource.URN); raw != nil {
			urns = append(urns, p.Resource.URN)
			creations = append(creations, raw)
		}
	}

	require.NotEmpty(t, urns)
	require.Nil(t, checkpoint.Creation(pending, "urn:nobody"))
	require.Nil(t, checkpoint.Creation([]byte("{"), urns[0]))

	forgotten, err := checkpoint.Adopt(pending, nil)
	require.NoError(t, err)

	after, err := checkpoint.Read(forgotten)
	require.NoError(t, err)
	require.Equal(t, urns, checkpoint.Lost(was, after))

	reopened, err := checkpoint.Reopen(forgotten, creations)
	require.NoError(t, err)

	again, err := checkpoint.Read(reopened)
	require.NoError(t, err)
	require.ElementsMatch(t, was.Pending, again.Pending)
	require.Equal(t, was.Resources, again.Resources)

	// What is under way besides stays so.
	twice, err := checkpoint.Reopen(reopened, creations)
	require.NoError(t, err)

	again, err = checkpoint.Read(twice)
	require.NoError(t, err)
	require.Len(t, again.Pending, len(was.Pending)+len(creations))

	for _, bad := range []string{"", "{}", `{"checkpoint":{}}`, `{"checkpoint":{"latest":[]}}`, `{"checkpoint":{"latest":{"pending_operations":1}}}`} {
		_, err := checkpoint.Reopen([]byte(bad), creations)
		require.ErrorIs(t, err, checkpoint.ErrUnreadable, bad)
	}
}

func TestUnread(t *testing.T) {
	t.Parallel()

	adopted := checkpoint.Resource{Type: "aws:ec2/vpc:Vpc", ID: "vpc-1", Custom: true}
	require.True(t, adopted.Unread())

	read := adopted
	read.Outputs = map[string]any{"arn": "x"}
	require.False(t, read.Unread())
	require.False(t, checkpoint.Resource{Type: "pulumi:providers:aws", ID: "1", Custom: true}.Unread())
	require.False(t, checkpoint.Resource{Type: "lessor:infra:Silo"}.Unread())
}
