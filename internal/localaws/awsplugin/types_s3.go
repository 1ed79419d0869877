package awsplugin

import (
	"strings"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

const maxBucketName = 63

func s3Types() []resourceType {
	return []resourceType{
		{
			typ: "aws:s3/bucketV2:BucketV2", service: "S3", noun: "S3 Bucket", taggable: true, data: bucketData(),
			calls: calls{"CreateBucket", "HeadBucket", "PutBucketTagging", "DeleteBucket"},
			name:  autoName{property: "bucket", limit: maxBucketName},
			inputs: map[string]property{
				"bucket":            {replace: true},
				"objectLockEnabled": {replace: true, computed: true},
				"forceDestroy":      {fallback: false},
			},
			outputs: []string{"arn", "region", "bucketDomainName", "bucketRegionalDomainName", "hostedZoneId"},
		},
		bucketSetting("aws:s3/bucketVersioningV2:BucketVersioningV2", "S3 Bucket Versioning", "BucketVersioning",
			versioningData(), map[string]property{
				"versioningConfiguration": {required: true},
				"mfa":                     {},
			}),
		bucketSetting("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", "S3 Bucket Public Access Block", "PublicAccessBlock",
			publicAccessData(), map[string]property{
				"blockPublicAcls":       {fallback: false},
				"blockPublicPolicy":     {fallback: false},
				"ignorePublicAcls":      {fallback: false},
				"restrictPublicBuckets": {fallback: false},
			}),
		bucketSetting("aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2",
			"S3 Bucket Server-side Encryption Configuration", "BucketEncryption",
			encryptionData(), map[string]property{"rules": {required: true}}),
		bucketSetting("aws:s3/bucketLifecycleConfigurationV2:BucketLifecycleConfigurationV2",
			"S3 Bucket Lifecycle Configuration", "BucketLifecycleConfiguration",
			lifecycleData(), map[string]property{
				"rules":                              {required: true},
				"transitionDefaultMinimumObjectSize": {computed: true},
			}),
		{
			typ: cloudsim.TypeBucketPolicy, service: "S3", noun: "S3 Bucket Policy", data: bucketPolicyData(),
			calls: calls{"PutBucketPolicy", "GetBucketPolicy", "PutBucketPolicy", "DeleteBucketPolicy"},
			inputs: map[string]property{
				"bucket": {required: true, replace: true},
				"policy": {required: true},
			},
		},
	}
}

// bucketSetting is a type that sets something of a bucket.
func bucketSetting(typ, noun, call string, data *dataPlane, inputs map[string]property) resourceType {
	inputs["bucket"] = property{required: true, replace: true}
	inputs["expectedBucketOwner"] = property{replace: true}

	return resourceType{
		typ: typ, service: "S3", noun: noun, inputs: inputs, data: data, idOf: bucketOf,
		calls: calls{"Put" + call, "Get" + call, "Put" + call, "Delete" + call},
	}
}

// bucketOf reads the id of a bucket's setting: BUCKET or BUCKET,OWNER.
func bucketOf(_ *clients, id string) string {
	bucket, owner, given := strings.Cut(id, ",")
	if given && owner != cloudsim.Account {
		return ""
	}

	return bucket
}
