package awsplugin

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

func bucketData() *dataPlane {
	return &dataPlane{
		create: func(ctx context.Context, c *clients, p part) (string, map[string]any, error) {
			input := &s3.CreateBucketInput{Bucket: aws.String(p.inputs.text("bucket"))}
			if c.region != "us-east-1" {
				input.CreateBucketConfiguration = &s3types.CreateBucketConfiguration{
					LocationConstraint: s3types.BucketLocationConstraint(c.region),
				}
			}

			_, err := c.s3.CreateBucket(ctx, input)
			if leftOver[*s3types.BucketAlreadyOwnedByYou](err) {
				return "", nil, nil
			}

			return "", nil, err //nolint:wrapcheck // explained by the caller
		},
		vacate: vacateBucket,
		remove: func(ctx context.Context, c *clients, p part) error {
			_, err := c.s3.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &p.id})

			return err //nolint:wrapcheck // explained by the caller
		},
	}
}

// vacateBucket deletes every version of every object, or refuses to where the
// program does not force it.
func vacateBucket(ctx context.Context, c *clients, p part) error {
	input := &s3.ListObjectVersionsInput{Bucket: &p.id}

	for {
		page, err := c.s3.ListObjectVersions(ctx, input)
		if err != nil {
			return err //nolint:wrapcheck // explained by the caller
		}

		var objects []s3types.ObjectIdentifier

		for _, v := range page.Versions {
			objects = append(objects, s3types.ObjectIdentifier{Key: v.Key, VersionId: v.VersionId})
		}

		for _, m := range page.DeleteMarkers {
			objects = append(objects, s3types.ObjectIdentifier{Key: m.Key, VersionId: m.VersionId})
		}

		if len(objects) > 0 && !p.inputs.flag("forceDestroy") {
			return &cloudsim.Error{
				Status: 409, Code: "BucketNotEmpty", //nolint:mnd // HTTP conflict, as S3 answers
				Message: "The bucket you tried to delete is not empty. You must delete all versions in the bucket.",
			}
		}

		if len(objects) > 0 {
			_, err = c.s3.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &p.id, Delete: &s3types.Delete{Objects: objects}})
			if err != nil {
				return fmt.Errorf("emptying the bucket: %w", err)
			}
		}

		if !aws.ToBool(page.IsTruncated) {
			return nil
		}

		input.KeyMarker, input.VersionIdMarker = page.NextKeyMarker, page.NextVersionIdMarker
	}
}

// settingOf makes the data plane of a setting of a bucket.
func settingOf(put, remove func(ctx context.Context, c *clients, bucket *string, inputs bag) error) *dataPlane {
	update := func(ctx context.Context, c *clients, p part) error {
		return put(ctx, c, aws.String(p.inputs.text("bucket")), p.inputs)
	}

	return &dataPlane{
		create: func(ctx context.Context, c *clients, p part) (string, map[string]any, error) {
			return "", nil, update(ctx, c, p)
		},
		update: update,
		remove: func(ctx context.Context, c *clients, p part) error {
			return remove(ctx, c, aws.String(p.inputs.text("bucket")), p.inputs)
		},
	}
}

func versioningData() *dataPlane {
	put := func(ctx context.Context, c *clients, bucket *string, status string) error {
		_, err := c.s3.PutBucketVersioning(ctx, &s3.PutBucketVersioningInput{
			Bucket: bucket, VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatus(status)},
		})

		return err //nolint:wrapcheck // explained by the caller
	}

	return settingOf(func(ctx context.Context, c *clients, bucket *string, inputs bag) error {
		return put(ctx, c, bucket, inputs.bag("versioningConfiguration").text("status"))
	}, func(ctx context.Context, c *clients, bucket *string, _ bag) error {
		// Versioning that was on once can only be suspended.
		return put(ctx, c, bucket, string(s3types.BucketVersioningStatusSuspended))
	})
}

func publicAccessData() *dataPlane {
	return settingOf(func(ctx context.Context, c *clients, bucket *string, inputs bag) error {
		_, err := c.s3.PutPublicAccessBlock(ctx, &s3.PutPublicAccessBlockInput{
			Bucket: bucket, PublicAccessBlockConfiguration: &s3types.PublicAccessBlockConfiguration{
				BlockPublicAcls:       aws.Bool(inputs.flag("blockPublicAcls")),
				BlockPublicPolicy:     aws.Bool(inputs.flag("blockPublicPolicy")),
				IgnorePublicAcls:      aws.Bool(inputs.flag("ignorePublicAcls")),
				RestrictPublicBuckets: aws.Bool(inputs.flag("restrictPublicBuckets")),
			},
		})

		return err //nolint:wrapcheck // explained by the caller
	}, func(ctx context.Context, c *clients, bucket *string, _ bag) error {
		_, err := c.s3.DeletePublicAccessBlock(ctx, &s3.DeletePublicAccessBlockInput{Bucket: bucket})

		return err //nolint:wrapcheck // explained by the caller
	})
}

func encryptionData() *dataPlane {
	return settingOf(func(ctx context.Context, c *clients, bucket *string, inputs bag) error {
		configuration := &s3types.ServerSideEncryptionConfiguration{}

		for _, rule := range inputs.bags("rules") {
			byDefault := rule.bag("applyServerSideEncryptionByDefault")
			setting := &s3types.ServerSideEncryptionByDefault{SSEAlgorithm: s3types.ServerSideEncryption(byDefault.text("sseAlgorithm"))}

			if key := byDefault.text("kmsMasterKeyId"); key != "" {
				setting.KMSMasterKeyID = &key
			}

			configuration.Rules = append(configuration.Rules, s3types.ServerSideEncryptionRule{
				ApplyServerSideEncryptionByDefault: setting, BucketKeyEnabled: aws.Bool(rule.flag("bucketKeyEnabled")),
			})
		}

		_, err := c.s3.PutBucketEncryption(ctx, &s3.PutBucketEncryptionInput{
			Bucket: bucket, ServerSideEncryptionConfiguration: configuration,
		})

		return err //nolint:wrapcheck // explained by the caller
	}, func(ctx context.Context, c *clients, bucket *string, _ bag) error {
		_, err := c.s3.DeleteBucketEncryption(ctx, &s3.DeleteBucketEncryptionInput{Bucket: bucket})

		return err //nolint:wrapcheck // explained by the caller
	})
}

func lifecycleData() *dataPlane {
	return settingOf(func(ctx context.Context, c *clients, bucket *string, inputs bag) error {
		configuration := &s3types.BucketLifecycleConfiguration{}
		for _, rule := range inputs.bags("rules") {
			configuration.Rules = append(configuration.Rules, lifecycleRule(rule))
		}

		_, err := c.s3.PutBucketLifecycleConfiguration(ctx, &s3.PutBucketLifecycleConfigurationInput{
			Bucket: bucket, LifecycleConfiguration: configuration,
		})

		return err //nolint:wrapcheck // explained by the caller
	}, func(ctx context.Context, c *clients, bucket *string, _ bag) error {
		_, err := c.s3.DeleteBucketLifecycle(ctx, &s3.DeleteBucketLifecycleInput{Bucket: bucket})

		return err //nolint:wrapcheck // explained by the caller
	})
}

func lifecycleRule(rule bag) s3types.LifecycleRule {
	days := func(of bag, name string) *int32 {
		n, ok := of.number(name)
		if !ok {
			return nil
		}

		return aws.Int32(int32(n)) //nolint:gosec // days
	}

	made := s3types.LifecycleRule{
		ID:     aws.String(rule.text("id")),
		Status: s3types.ExpirationStatus(rule.text("status")),
		Filter: lifecycleFilter(rule.bag("filter")),
	}

	if expiration := rule.bag("expiration"); expiration != nil {
		made.Expiration = &s3types.LifecycleExpiration{Days: days(expiration, "days")}
		if expiration.flag("expiredObjectDeleteMarker") {
			made.Expiration.ExpiredObjectDeleteMarker = aws.Bool(true)
		}
	}

	if old := rule.bag("noncurrentVersionExpiration"); old != nil {
		made.NoncurrentVersionExpiration = &s3types.NoncurrentVersionExpiration{NoncurrentDays: days(old, "noncurrentDays")}
	}

	for _, old := range rule.bags("noncurrentVersionTransitions") {
		made.NoncurrentVersionTransitions = append(made.NoncurrentVersionTransitions, s3types.NoncurrentVersionTransition{
			NoncurrentDays: days(old, "noncurrentDays"), StorageClass: s3types.TransitionStorageClass(old.text("storageClass")),
		})
	}

	if abort := rule.bag("abortIncompleteMultipartUpload"); abort != nil {
		made.AbortIncompleteMultipartUpload = &s3types.AbortIncompleteMultipartUpload{
			DaysAfterInitiation: days(abort, "daysAfterInitiation"),
		}
	}

	return made
}

func lifecycleFilter(filter bag) *s3types.LifecycleRuleFilter {
	if size, ok := filter.number("objectSizeGreaterThan"); ok {
		return &s3types.LifecycleRuleFilter{ObjectSizeGreaterThan: aws.Int64(int64(size))}
	}

	return &s3types.LifecycleRuleFilter{Prefix: aws.String(filter.text("prefix"))}
}

func bucketPolicyData() *dataPlane {
	return settingOf(func(ctx context.Context, c *clients, bucket *string, inputs bag) error {
		_, err := c.s3.PutBucketPolicy(ctx, &s3.PutBucketPolicyInput{Bucket: bucket, Policy: aws.String(inputs.text("policy"))})

		return err //nolint:wrapcheck // explained by the caller
	}, func(ctx context.Context, c *clients, bucket *string, _ bag) error {
		_, err := c.s3.DeleteBucketPolicy(ctx, &s3.DeleteBucketPolicyInput{Bucket: bucket})

		return err //nolint:wrapcheck // explained by the caller
	})
}
