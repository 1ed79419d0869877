package programs

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/inventory"
)

// The tags that every resource of a tenant has. The inventory finds resources
// by them.
const (
	TagTenant    = inventory.TagTenant
	TagTier      = "tier"
	TagManagedBy = inventory.TagManagedBy
	ManagedBy    = inventory.ManagedBy
)

const (
	// maxRetries is how often the provider repeats a throttled call. A fleet
	// shares the account's request rate, and waiting is cheaper than failing.
	maxRetries = 10
)

// Provider makes the AWS provider of a topology: its region, its role, and the
// tags of every resource. It is explicit, because the default one would take
// its region and tags from wherever the worker runs.
func Provider(ctx *pulumi.Context, topology engine.Topology) (*aws.Provider, error) {
	args := &aws.ProviderArgs{
		Region:     pulumi.String(topology.Region),
		MaxRetries: pulumi.Int(maxRetries),
		DefaultTags: aws.ProviderDefaultTagsArgs{Tags: pulumi.StringMap{
			TagTenant:    pulumi.String(topology.Tenant),
			TagTier:      pulumi.String(topology.Tier),
			TagManagedBy: pulumi.String(ManagedBy),
		}},
		// Each of these calls or checks would cost every operation its time
		// and find nothing that the first real call does not. Whether there is
		// a metadata service is for AWS_EC2_METADATA_DISABLED to say, since
		// the credentials of some workers come from it.
		SkipCredentialsValidation: pulumi.Bool(true),
		SkipRegionValidation:      pulumi.Bool(true),
	}

	if topology.RoleARN != "" {
		args.AssumeRole = aws.ProviderAssumeRoleArgs{
			RoleArn:     pulumi.String(topology.RoleARN),
			SessionName: pulumi.String(topology.PhysicalName(ManagedBy, maxSessionName)),
		}
	}

	provider, err := aws.NewProvider(ctx, topology.Name("aws"), args)
	if err != nil {
		return nil, fmt.Errorf("declaring the provider: %w", err)
	}

	return provider, nil
}

// named is the tag that AWS's console shows as the name of what has none. It is a
// resource's physical name, and where AWS makes up the id it is what the
// inventory finds it by: every resource that can have tags needs it.
func named(name string) pulumi.StringMap {
	return pulumi.StringMap{inventory.TagName: pulumi.String(name)}
}
