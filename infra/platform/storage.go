package platform

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/dynamodb"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/s3"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// partitionKey is the only key of the table; see docs/ for the rows.
	partitionKey = "pk"
	// noncurrentDays is how long an overwritten or deleted state can be
	// brought back.
	noncurrentDays       = 90
	abandonedUploadDays  = 7
	keyDeletionDays      = 30
	keyDeletionDaysLoose = 7
	arnRegion            = 3
)

func newTable(ctx *pulumi.Context, cfg Config, opts ...pulumi.ResourceOption) (*dynamodb.Table, error) {
	table, err := dynamodb.NewTable(ctx, "tenants", &dynamodb.TableArgs{
		Name:        pulumi.String(cfg.Name + "-tenants"),
		BillingMode: pulumi.String("PAY_PER_REQUEST"),
		HashKey:     pulumi.String(partitionKey),
		Attributes: dynamodb.TableAttributeArray{
			dynamodb.TableAttributeArgs{Name: pulumi.String(partitionKey), Type: pulumi.String("S")},
		},
		PointInTimeRecovery:       dynamodb.TablePointInTimeRecoveryArgs{Enabled: pulumi.Bool(true)},
		ServerSideEncryption:      dynamodb.TableServerSideEncryptionArgs{Enabled: pulumi.Bool(true)},
		DeletionProtectionEnabled: pulumi.Bool(cfg.Protect),
	}, withProtection(cfg, opts)...)
	if err != nil {
		return nil, fmt.Errorf("declaring the tenant table: %w", err)
	}

	return table, nil
}

// newStateBuckets makes the state buckets and returns their names in order.
func newStateBuckets(ctx *pulumi.Context, cfg Config, opts ...pulumi.ResourceOption) (pulumi.StringArray, error) {
	names := make(pulumi.StringArray, 0, cfg.StateBuckets)

	for i := range cfg.StateBuckets {
		bucket, err := newStateBucket(ctx, cfg, i, opts...)
		if err != nil {
			return nil, fmt.Errorf("declaring state bucket %d: %w", i, err)
		}

		// A bucket is handed out only with its versioning on: a state that
		// is written before that could not be brought back.
		names = append(names, bucket)
	}

	return names, nil
}

func newStateBucket(ctx *pulumi.Context, cfg Config, index int, opts ...pulumi.ResourceOption) (pulumi.StringOutput, error) {
	name := fmt.Sprintf("state-%d", index)

	bucket, err := s3.NewBucketV2(ctx, name, &s3.BucketV2Args{
		Bucket:       pulumi.String(fmt.Sprintf("%s-%d", cfg.StateBucketPrefix, index)),
		ForceDestroy: pulumi.Bool(!cfg.Protect),
	}, withProtection(cfg, opts)...)
	if err != nil {
		return pulumi.StringOutput{}, fmt.Errorf("bucket: %w", err)
	}

	opts = append([]pulumi.ResourceOption{pulumi.Parent(bucket)}, opts...)

	versioning, err := s3.NewBucketVersioningV2(ctx, name, &s3.BucketVersioningV2Args{
		Bucket: bucket.Bucket,
		VersioningConfiguration: s3.BucketVersioningV2VersioningConfigurationArgs{
			Status: pulumi.String("Enabled"),
		},
	}, opts...)
	if err != nil {
		return pulumi.StringOutput{}, fmt.Errorf("versioning: %w", err)
	}

	if err := closeStateBucket(ctx, name, bucket, opts...); err != nil {
		return pulumi.StringOutput{}, err
	}

	_, err = s3.NewBucketLifecycleConfigurationV2(ctx, name, &s3.BucketLifecycleConfigurationV2Args{
		Bucket: versioning.Bucket,
		Rules:  s3.BucketLifecycleConfigurationV2RuleArray{retention()},
	}, opts...)
	if err != nil {
		return pulumi.StringOutput{}, fmt.Errorf("lifecycle: %w", err)
	}

	return versioning.Bucket, nil
}

// closeStateBucket encrypts the bucket and keeps it from the public.
func closeStateBucket(ctx *pulumi.Context, name string, bucket *s3.BucketV2, opts ...pulumi.ResourceOption) error {
	// Secrets inside of state are encrypted under the fleet's key already,
	// so S3's own keys do and spare a call to KMS for each checkpoint.
	byDefault := s3.BucketServerSideEncryptionConfigurationV2RuleApplyServerSideEncryptionByDefaultArgs{
		SseAlgorithm: pulumi.String("AES256"),
	}

	_, err := s3.NewBucketServerSideEncryptionConfigurationV2(ctx, name, &s3.BucketServerSideEncryptionConfigurationV2Args{
		Bucket: bucket.Bucket,
		Rules: s3.BucketServerSideEncryptionConfigurationV2RuleArray{
			s3.BucketServerSideEncryptionConfigurationV2RuleArgs{ApplyServerSideEncryptionByDefault: byDefault},
		},
	}, opts...)
	if err != nil {
		return fmt.Errorf("encryption: %w", err)
	}

	_, err = s3.NewBucketPublicAccessBlock(ctx, name, &s3.BucketPublicAccessBlockArgs{
		Bucket:                bucket.Bucket,
		BlockPublicAcls:       pulumi.Bool(true),
		BlockPublicPolicy:     pulumi.Bool(true),
		IgnorePublicAcls:      pulumi.Bool(true),
		RestrictPublicBuckets: pulumi.Bool(true),
	}, opts...)
	if err != nil {
		return fmt.Errorf("public access block: %w", err)
	}

	return nil
}

func retention() s3.BucketLifecycleConfigurationV2RuleArgs {
	return s3.BucketLifecycleConfigurationV2RuleArgs{
		Id:     pulumi.String("noncurrent"),
		Status: pulumi.String("Enabled"),
		// An empty filter means every object; without one S3 refuses the rule.
		Filter: s3.BucketLifecycleConfigurationV2RuleFilterArgs{},
		NoncurrentVersionExpiration: s3.BucketLifecycleConfigurationV2RuleNoncurrentVersionExpirationArgs{
			NoncurrentDays: pulumi.Int(noncurrentDays),
		},
		AbortIncompleteMultipartUpload: s3.BucketLifecycleConfigurationV2RuleAbortIncompleteMultipartUploadArgs{
			DaysAfterInitiation: pulumi.Int(abandonedUploadDays),
		},
	}
}

// newStateKey makes the key under which the secrets in tenants' states are
// encrypted.
func newStateKey(ctx *pulumi.Context, cfg Config, opts ...pulumi.ResourceOption) (*kms.Key, error) {
	window := keyDeletionDaysLoose
	if cfg.Protect {
		window = keyDeletionDays
	}

	key, err := kms.NewKey(ctx, "state", &kms.KeyArgs{
		Description:          pulumi.String("Secrets in the Pulumi state of " + cfg.Name + "'s tenants"),
		EnableKeyRotation:    pulumi.Bool(true),
		DeletionWindowInDays: pulumi.Int(window),
	}, withProtection(cfg, opts)...)
	if err != nil {
		return nil, fmt.Errorf("declaring the state key: %w", err)
	}

	_, err = kms.NewAlias(ctx, "state", &kms.AliasArgs{
		Name:        pulumi.String("alias/" + cfg.Name + "-state"),
		TargetKeyId: key.KeyId,
	}, opts...)
	if err != nil {
		return nil, fmt.Errorf("declaring the alias of the state key: %w", err)
	}

	return key, nil
}

// secretsProviderURL names the key by its id, which stays right when the alias
// moves to another key. It has no endpoint, since the URL is stored in every
// tenant's state.
func secretsProviderURL(key *kms.Key) pulumi.StringOutput {
	return pulumi.Sprintf("awskms:///%s%s", key.KeyId, key.Arn.ApplyT(regionQuery))
}

func regionQuery(arn string) string {
	if parts := strings.Split(arn, ":"); len(parts) > arnRegion {
		return "?region=" + parts[arnRegion]
	}

	return ""
}
