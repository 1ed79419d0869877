package programs_test

import (
	"errors"
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/s3"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// BucketParameters are what the catalog and the tenants can set of Bucket.
type BucketParameters struct {
	// Keep is whether objects survive the tenant.
	Keep bool `json:"keep"`
	// Suffix tells the buckets of two environments apart.
	Suffix string `json:"suffix"`
}

// Bucket is a program of one's own: each tenant gets a bucket.
func Bucket() engine.Program {
	return programs.New(
		func() BucketParameters { return BucketParameters{Suffix: "files"} },
		func(p BucketParameters) error {
			if p.Suffix == "" {
				return &engine.ParameterError{Name: "suffix", Problem: "must not be empty"}
			}

			return nil
		},
		deployBucket,
	)
}

func deployBucket(ctx *pulumi.Context, topology engine.Topology, p BucketParameters) (pulumi.Map, error) {
	// The provider has the tenant's region, role and tags.
	provider, err := programs.Provider(ctx, topology)
	if err != nil {
		return nil, err
	}

	// Two names: the logical one is unique in the tenant's stack, the physical
	// one at AWS. Both carry the topology's generation.
	const maxBucketName = 63

	bucket, err := s3.NewBucketV2(ctx, topology.Name("files"), &s3.BucketV2Args{
		Bucket:       pulumi.String(topology.PhysicalName(p.Suffix, maxBucketName)),
		ForceDestroy: pulumi.Bool(!p.Keep),
	}, pulumi.Provider(provider), pulumi.Protect(topology.Protect))
	if err != nil {
		return nil, fmt.Errorf("declaring the bucket: %w", err)
	}

	return pulumi.Map{"bucket": bucket.Bucket}, nil
}

// A program of one's own stands beside the shipped ones. A worker that knows
// them is a main function that calls worker.Main(all).
func Example() {
	all := programs.All()
	all["bucket"] = Bucket()

	err := all["bucket"].Check(tenant.Parameters{"suffix": []byte(`""`)})
	fmt.Println(err)

	var refused *engine.ParameterError
	fmt.Println(errors.As(err, &refused))

	// Output:
	// parameters.suffix: must not be empty
	// true
}
