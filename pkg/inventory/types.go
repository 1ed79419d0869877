package inventory

import "strings"

// Services and kinds as they stand in ARNs.
const (
	serviceEC2      = "ec2"
	serviceRDS      = "rds"
	serviceKMS      = "kms"
	serviceSQS      = "sqs"
	serviceSNS      = "sns"
	serviceS3       = "s3"
	serviceDynamoDB = "dynamodb"

	kindKey      = "key"
	kindSnapshot = "snapshot"
)

// typ is how resources of a Pulumi type are recognised at AWS.
type typ struct {
	// service and kind are those in its ARNs; service is "" for what carries
	// no tags.
	service, kind string
	// byInputs gives the import id where it is a function of the inputs; nil
	// where AWS makes it.
	byInputs func(inputs map[string]any) string
	// named is the input that is the id in the ARN. Where it is "", the tag
	// Name tells resources apart.
	named string
	// imported makes the import id from the ARN; nil takes the id in it.
	imported func(arn string) string
	// idInARN makes the id in the ARN from the import id; nil takes it as it is.
	idInARN func(id string) string
}

// nameOf is the name of the resource with the import id.
func (t typ) nameOf(id string) name {
	if t.idInARN != nil {
		id = t.idInARN(id)
	}

	return name{service: t.service, kind: t.kind, id: id}
}

// types are those that lessor's programs use and that local mode has. Import ids
// are those of "Import" on each type's page in the Pulumi registry:
// https://www.pulumi.com/registry/packages/aws/api-docs/
func types() map[string]typ {
	return map[string]typ{
		"aws:ec2/vpc:Vpc":                     {service: serviceEC2, kind: "vpc"},
		"aws:ec2/subnet:Subnet":               {service: serviceEC2, kind: "subnet"},
		"aws:ec2/securityGroup:SecurityGroup": {service: serviceEC2, kind: "security-group"},
		"aws:kms/key:Key":                     {service: serviceKMS, kind: kindKey},
		// An alias carries no tags.
		"aws:kms/alias:Alias":             {byInputs: input("name")},
		"aws:rds/subnetGroup:SubnetGroup": {service: serviceRDS, kind: "subgrp", byInputs: input("name")},
		"aws:rds/instance:Instance":       {service: serviceRDS, kind: "db", byInputs: input("identifier")},
		"aws:dynamodb/table:Table":        {service: serviceDynamoDB, kind: "table", byInputs: input("name")},
		"aws:s3/bucketV2:BucketV2":        {service: serviceS3, byInputs: input("bucket")},
		// The URL of a queue and the ARN of a topic have the account in them,
		// which the inputs do not have.
		"aws:sqs/queue:Queue": {service: serviceSQS, named: "name", imported: queueURL, idInARN: lastSegment("/")},
		"aws:sns/topic:Topic": {service: serviceSNS, named: "name", imported: same, idInARN: lastSegment(":")},
		// What follows are settings of another resource, which is their id.
		"aws:sqs/queuePolicy:QueuePolicy":                                                            {byInputs: input("queueUrl")},
		"aws:sqs/redrivePolicy:RedrivePolicy":                                                        {byInputs: input("queueUrl")},
		"aws:s3/bucketVersioningV2:BucketVersioningV2":                                               {byInputs: bucketSetting},
		"aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2": {byInputs: bucketSetting},
		"aws:s3/bucketLifecycleConfigurationV2:BucketLifecycleConfigurationV2":                       {byInputs: bucketSetting},
		"aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock":                                     {byInputs: input("bucket")},
	}
}

// modules are those of pulumi-aws that have another name in ARNs.
func modules() map[string]string {
	return map[string]string{
		"alb":               "elasticloadbalancing",
		"lb":                "elasticloadbalancing",
		"elb":               "elasticloadbalancing",
		"cloudwatch":        "logs",
		"msk":               "kafka",
		"efs":               "elasticfilesystem",
		"apigatewayv2":      "apigateway",
		"opensearch":        "es",
		"elasticsearch":     "es",
		"docdb":             "rds",
		"neptune":           "rds",
		"ec2transitgateway": "ec2",
		"sfn":               "states",
	}
}

func input(key string) func(map[string]any) string {
	return func(inputs map[string]any) string { return text(inputs, key) }
}

// bucketSetting is the import id of a setting of a bucket: its name and, where
// the inputs name one, the account that is expected to own it.
func bucketSetting(inputs map[string]any) string {
	bucket, owner := text(inputs, "bucket"), text(inputs, "expectedBucketOwner")
	if bucket == "" || owner == "" {
		return bucket
	}

	return bucket + "," + owner
}

// queueURL is the URL of a queue.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-queue-message-identifiers.html
func queueURL(arn string) string {
	partition, region, account := place(arn)

	domain := "amazonaws.com"
	if partition == "aws-cn" {
		domain += ".cn"
	}

	return "https://sqs." + region + "." + domain + "/" + account + "/" + parse(arn).id
}

func same(arn string) string { return arn }

func lastSegment(separator string) func(string) string {
	return func(id string) string { return id[strings.LastIndex(id, separator)+1:] }
}
