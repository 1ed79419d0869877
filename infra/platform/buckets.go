package platform

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/s3"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// BucketArgs say how a state bucket shall be.
type BucketArgs struct {
	// Bucket is its name at S3.
	Bucket string
	// Key encrypts what is in it.
	Key *kms.Key
	// RetentionDays is how long what was overwritten can be brought back.
	RetentionDays int
	// Protect lets S3 refuse a deletion; without it the bucket is emptied first.
	Protect bool
}

// Bucket is a state bucket, one of the fleet's shards.
type Bucket struct {
	pulumi.ResourceState

	// Name is known once the bucket is as it shall be: a state that is written
	// before versions are on could not be brought back.
	Name pulumi.StringOutput
	ARN  pulumi.StringOutput
}

// NewBucket declares a state bucket: versioned, encrypted, closed to the public
// and to whoever does not encrypt on the way.
func NewBucket(ctx *pulumi.Context, name string, args BucketArgs, opts ...pulumi.ResourceOption) (*Bucket, error) {
	made := &Bucket{}
	if err := ctx.RegisterComponentResource("lessor:platform:Bucket", name, made, opts...); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}

	within := pulumi.Parent(made)

	bucket, err := s3.NewBucketV2(ctx, name, &s3.BucketV2Args{
		Bucket:       pulumi.String(args.Bucket),
		ForceDestroy: pulumi.Bool(!args.Protect),
	}, within)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}

	versioning, err := s3.NewBucketVersioningV2(ctx, name, &s3.BucketVersioningV2Args{
		Bucket: bucket.Bucket,
		VersioningConfiguration: s3.BucketVersioningV2VersioningConfigurationArgs{
			Status: pulumi.String("Enabled"),
		},
	}, within)
	if err != nil {
		return nil, fmt.Errorf("versioning of %s: %w", name, err)
	}

	if err := args.encrypt(ctx, name, bucket, within); err != nil {
		return nil, err
	}

	if err := shut(ctx, name, bucket, within); err != nil {
		return nil, err
	}

	_, err = s3.NewBucketLifecycleConfigurationV2(ctx, name, &s3.BucketLifecycleConfigurationV2Args{
		Bucket: versioning.Bucket,
		Rules:  args.lifecycle(),
	}, within)
	if err != nil {
		return nil, fmt.Errorf("lifecycle of %s: %w", name, err)
	}

	made.Name, made.ARN = versioning.Bucket, bucket.Arn

	return made, nil
}

// encrypt makes the key that of everything in the bucket. The bucket key spares
// nearly all of the calls to KMS.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucket-key.html
func (args BucketArgs) encrypt(ctx *pulumi.Context, name string, bucket *s3.BucketV2, opts ...pulumi.ResourceOption) error {
	_, err := s3.NewBucketServerSideEncryptionConfigurationV2(ctx, name, &s3.BucketServerSideEncryptionConfigurationV2Args{
		Bucket: bucket.Bucket,
		Rules: s3.BucketServerSideEncryptionConfigurationV2RuleArray{
			s3.BucketServerSideEncryptionConfigurationV2RuleArgs{
				ApplyServerSideEncryptionByDefault: s3.BucketServerSideEncryptionConfigurationV2RuleApplyServerSideEncryptionByDefaultArgs{
					SseAlgorithm:   pulumi.String("aws:kms"),
					KmsMasterKeyId: args.Key.Arn,
				},
				BucketKeyEnabled: pulumi.Bool(true),
			},
		},
	}, opts...)
	if err != nil {
		return fmt.Errorf("encryption of %s: %w", name, err)
	}

	return nil
}

// shut keeps the public out, and clear text.
func shut(ctx *pulumi.Context, name string, bucket *s3.BucketV2, opts ...pulumi.ResourceOption) error {
	block, err := s3.NewBucketPublicAccessBlock(ctx, name, &s3.BucketPublicAccessBlockArgs{
		Bucket:                bucket.Bucket,
		BlockPublicAcls:       pulumi.Bool(true),
		BlockPublicPolicy:     pulumi.Bool(true),
		IgnorePublicAcls:      pulumi.Bool(true),
		RestrictPublicBuckets: pulumi.Bool(true),
	}, opts...)
	if err != nil {
		return fmt.Errorf("public access to %s: %w", name, err)
	}

	// One after the other: S3 refuses two changes of a bucket at once.
	_, err = s3.NewBucketPolicy(ctx, name, &s3.BucketPolicyArgs{
		Bucket: block.Bucket,
		Policy: document(tlsOnly("s3:*", bucket.Arn, pulumi.Sprintf("%s/*", bucket.Arn))),
	}, opts...)
	if err != nil {
		return fmt.Errorf("policy of %s: %w", name, err)
	}

	return nil
}
