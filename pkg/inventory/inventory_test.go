package inventory_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	taggingtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/inventory"
)

func TestFindReadsEveryPage(t *testing.T) {
	t.Parallel()

	vpc := inventory.Resource{ARN: ec2 + "vpc/vpc-1", Tags: tags{"tenant-id": "Acme", "Name": "acme-t1-vpc"}}
	db := inventory.Resource{ARN: rds + "db:acme", Tags: tags{"tenant-id": "Acme"}}
	subnet := inventory.Resource{ARN: ec2 + "subnet/subnet-1", Tags: tags{}}

	// An index that changes between pages may show a resource twice.
	api := &fakeAPI{t: t, pages: map[string]*tagging.GetResourcesOutput{
		"": page("2", vpc, db), "2": page("3"), "3": page("", db, subnet),
	}}
	found, err := inventory.New(api).Find(t.Context(), "Acme")
	require.NoError(t, err)
	require.Equal(t, []inventory.Resource{subnet, vpc, db}, found)
	require.EqualValues(t, "Acme", found[1].Tenant())

	require.Len(t, api.asked, 3)

	for _, in := range api.asked {
		require.Equal(t, []taggingtypes.TagFilter{
			{Key: aws.String("tenant-id"), Values: []string{"Acme"}}, {Key: aws.String("managed-by"), Values: []string{"lessor"}},
		}, in.TagFilters, "the filters hold for each page")
		require.Equal(t, int32(100), *in.ResourcesPerPage)
	}
}

func TestFindAllAsksForAnyTenant(t *testing.T) {
	t.Parallel()

	api := &fakeAPI{t: t, pages: map[string]*tagging.GetResourcesOutput{"": {}}}
	found, err := inventory.New(api).FindAll(t.Context())
	require.NoError(t, err)
	require.Empty(t, found)
	require.Equal(t, []taggingtypes.TagFilter{
		{Key: aws.String("tenant-id")}, {Key: aws.String("managed-by"), Values: []string{"lessor"}},
	}, api.asked[0].TagFilters)
}

func TestFindFails(t *testing.T) {
	t.Parallel()

	broken := errors.New("throttled")
	_, err := inventory.New(&fakeAPI{t: t, err: broken}).Find(t.Context(), "acme")
	require.ErrorIs(t, err, broken)

	_, err = inventory.New(&fakeAPI{t: t, pages: map[string]*tagging.GetResourcesOutput{"": page("1"), "1": page("1")}}).
		Find(t.Context(), "acme")
	require.ErrorContains(t, err, "same page token")
}

func TestFindUnknownLooksAtKeys(t *testing.T) {
	t.Parallel()

	vpc := inventory.Resource{ARN: ec2 + "vpc/vpc-1", Tags: tags{}}
	used := inventory.Resource{ARN: key + "used", Tags: tags{}}
	doomed := inventory.Resource{ARN: key + "doomed", Tags: tags{}}
	gone := inventory.Resource{ARN: key + "gone", Tags: tags{}}
	known := inventory.Resource{ARN: key + "known", Tags: tags{}}
	noKey := inventory.Resource{ARN: "arn:aws:kms:eu-west-1:123456789012:something/else", Tags: tags{}}

	api := &fakeAPI{t: t, pages: map[string]*tagging.GetResourcesOutput{"": page("", vpc, used, doomed, gone, known, noKey)}}
	state := []inventory.Known{{Type: "aws:kms/key:Key", ID: "known", Outputs: map[string]any{"arn": known.ARN}}}

	// The key of the state is not asked for: fakeKeys does not know it.
	keys := fakeKeys{"used": kmstypes.KeyStateEnabled, "doomed": kmstypes.KeyStatePendingDeletion}
	unknown, err := inventory.New(api).WithKeys(keys).FindUnknown(t.Context(), "acme", state)
	require.NoError(t, err)

	doomed.PendingDeletion = true
	require.Equal(t, []inventory.Resource{vpc, doomed, used, noKey}, unknown)

	orphans, kept := inventory.Split(unknown)
	require.Equal(t, []inventory.Resource{vpc, used, noKey}, orphans)
	require.Equal(t, []inventory.Resource{doomed}, kept)

	unknown, err = inventory.New(api).FindUnknown(t.Context(), "acme", state)
	require.NoError(t, err)
	require.Len(t, unknown, 5, "nobody was asked about keys")

	_, err = inventory.New(api).WithKeys(fakeKeys{"doomed": ""}).FindUnknown(t.Context(), "acme", state)
	require.ErrorContains(t, err, "key doomed")
}
