package inventory_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
	tagging "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi"
	taggingtypes "github.com/aws/aws-sdk-go-v2/service/resourcegroupstaggingapi/types"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lessor-dev/lessor/pkg/inventory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The ARNs of one account.
const (
	ec2 = "arn:aws:ec2:eu-west-1:123456789012:"
	rds = "arn:aws:rds:eu-west-1:123456789012:"
	key = "arn:aws:kms:eu-west-1:123456789012:key/"
	sqs = "arn:aws:sqs:eu-west-1:123456789012:"
	sns = "arn:aws:sns:eu-west-1:123456789012:"
)

type tags = map[string]string

// fakeAPI answers a page for each token, and notes what it was asked.
type fakeAPI struct {
	t     *testing.T
	pages map[string]*tagging.GetResourcesOutput
	err   error
	asked []tagging.GetResourcesInput
}

func (f *fakeAPI) GetResources(
	_ context.Context, in *tagging.GetResourcesInput, _ ...func(*tagging.Options),
) (*tagging.GetResourcesOutput, error) {
	f.asked = append(f.asked, *in)

	if f.err != nil {
		return nil, f.err
	}

	page, ok := f.pages[aws.ToString(in.PaginationToken)]
	require.True(f.t, ok, "token %q", aws.ToString(in.PaginationToken))

	return page, nil
}

func page(next string, resources ...inventory.Resource) *tagging.GetResourcesOutput {
	out := &tagging.GetResourcesOutput{PaginationToken: &next}

	for _, r := range resources {
		mapping := taggingtypes.ResourceTagMapping{ResourceARN: &r.ARN}
		for _, name := range slices.Sorted(maps.Keys(r.Tags)) {
			mapping.Tags = append(mapping.Tags, taggingtypes.Tag{Key: &name, Value: aws.String(r.Tags[name])})
		}

		out.ResourceTagMappingList = append(out.ResourceTagMappingList, mapping)
	}

	return out
}

// fakeKeys knows keys by id.
type fakeKeys map[string]kmstypes.KeyState

func (f fakeKeys) DescribeKey(_ context.Context, in *kms.DescribeKeyInput, _ ...func(*kms.Options)) (*kms.DescribeKeyOutput, error) {
	state, ok := f[*in.KeyId]

	switch {
	case !ok:
		return nil, &kmstypes.NotFoundException{}
	case state == "":
		return nil, &kmstypes.KMSInternalException{}
	default:
		return &kms.DescribeKeyOutput{KeyMetadata: &kmstypes.KeyMetadata{KeyId: in.KeyId, KeyState: state}}, nil
	}
}
