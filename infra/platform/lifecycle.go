package platform

import (
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/s3"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	archiveDays = 30
	// archiveBytes is what S3 moves by itself to no cheaper class: below it,
	// that costs more than it saves.
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/lifecycle-transition-general-considerations.html
	archiveBytes = 128 << 10
	// archiveClass answers at once, which the others of Glacier do not: a worker
	// that meets a broken state restores an older version by itself.
	// https://docs.aws.amazon.com/AmazonS3/latest/userguide/glacier-storage-classes.html
	archiveClass        = "GLACIER_IR"
	abandonedUploadDays = 7
	lockDays            = 1
	historyPrefix       = ".pulumi/history/"
	lockPrefix          = ".pulumi/locks/"
)

type (
	lifecycleRule   = s3.BucketLifecycleConfigurationV2RuleArgs
	lifecycleFilter = s3.BucketLifecycleConfigurationV2RuleFilterArgs
	oldVersions     = s3.BucketLifecycleConfigurationV2RuleNoncurrentVersionExpirationArgs
	expiry          = s3.BucketLifecycleConfigurationV2RuleExpirationArgs
)

// lifecycle says what becomes of what is no longer needed. No rule touches the
// current version of a checkpoint, not even an empty one: it keeps late writes
// out. Where rules meet, the shorter term wins.
// https://docs.aws.amazon.com/AmazonS3/latest/userguide/lifecycle-conflicts.html
func (args BucketArgs) lifecycle() s3.BucketLifecycleConfigurationV2RuleArray {
	retention := oldVersions{NoncurrentDays: pulumi.Int(args.RetentionDays)}

	return s3.BucketLifecycleConfigurationV2RuleArray{
		// An empty filter means every object; without one S3 refuses the rule.
		lifecycleRule{
			Id: pulumi.String("old-versions"), Status: pulumi.String("Enabled"), Filter: lifecycleFilter{},
			NoncurrentVersionExpiration: retention,
			Expiration:                  expiry{ExpiredObjectDeleteMarker: pulumi.Bool(true)},
			AbortIncompleteMultipartUpload: s3.BucketLifecycleConfigurationV2RuleAbortIncompleteMultipartUploadArgs{
				DaysAfterInitiation: pulumi.Int(abandonedUploadDays),
			},
		},
		lifecycleRule{
			Id: pulumi.String("archive"), Status: pulumi.String("Enabled"),
			Filter: lifecycleFilter{ObjectSizeGreaterThan: pulumi.Int(archiveBytes)},
			NoncurrentVersionTransitions: s3.BucketLifecycleConfigurationV2RuleNoncurrentVersionTransitionArray{
				s3.BucketLifecycleConfigurationV2RuleNoncurrentVersionTransitionArgs{
					NoncurrentDays: pulumi.Int(archiveDays), StorageClass: pulumi.String(archiveClass),
				},
			},
		},
		lifecycleRule{
			Id: pulumi.String("history"), Status: pulumi.String("Enabled"), Filter: lifecycleFilter{Prefix: pulumi.String(historyPrefix)},
			Expiration:                  expiry{Days: pulumi.Int(args.RetentionDays)},
			NoncurrentVersionExpiration: oldVersions{NoncurrentDays: pulumi.Int(lockDays)},
		},
		// An operation takes a lock and gives it back: what is left is of no use.
		lifecycleRule{
			Id: pulumi.String("locks"), Status: pulumi.String("Enabled"), Filter: lifecycleFilter{Prefix: pulumi.String(lockPrefix)},
			NoncurrentVersionExpiration: oldVersions{NoncurrentDays: pulumi.Int(lockDays)},
		},
	}
}
