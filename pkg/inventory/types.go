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
	serviceECS      = "ecs"
	serviceELB      = "elasticloadbalancing"
	serviceLogs     = "logs"

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
		"aws:ec2/vpc:Vpc":                                   {service: serviceEC2, kind: "vpc"},
		"aws:ec2/subnet:Subnet":                             {service: serviceEC2, kind: "subnet"},
		"aws:ec2/securityGroup:SecurityGroup":               {service: serviceEC2, kind: "security-group"},
		"aws:ec2/vpcPeeringConnection:VpcPeeringConnection": {service: serviceEC2, kind: "vpc-peering-connection"},
		"aws:ec2/routeTable:RouteTable":                     {service: serviceEC2, kind: "route-table"},
		"aws:ec2/vpcEndpoint:VpcEndpoint":                   {service: serviceEC2, kind: "vpc-endpoint"},
		// Routes and associations carry no tags.
		"aws:ec2/route:Route": {byInputs: joined("routeTableId", "_", "destinationCidrBlock")},
		"aws:ec2/routeTableAssociation:RouteTableAssociation": {byInputs: joined("subnetId", "/", "routeTableId")},
		"aws:kms/key:Key": {service: serviceKMS, kind: kindKey},
		// An alias carries no tags.
		"aws:kms/alias:Alias":             {byInputs: input("name")},
		"aws:rds/subnetGroup:SubnetGroup": {service: serviceRDS, kind: "subgrp", byInputs: input("name")},
		"aws:rds/instance:Instance":       {service: serviceRDS, kind: "db", byInputs: input("identifier")},
		"aws:dynamodb/table:Table":        {service: serviceDynamoDB, kind: "table", byInputs: input("name")},
		"aws:s3/bucketV2:BucketV2":        {service: serviceS3, byInputs: input("bucket")},
		// The URL of a queue and the ARN of a topic have the account in them,
		// which the inputs do not have.
		"aws:sqs/queue:Queue":     {service: serviceSQS, named: "name", imported: queueURL, idInARN: lastSegment("/")},
		"aws:sns/topic:Topic":     {service: serviceSNS, named: "name", imported: same, idInARN: lastSegment(":")},
		"aws:ecs/cluster:Cluster": {service: serviceECS, kind: "cluster", byInputs: input("name"), idInARN: idOf},
		"aws:ecs/service:Service": {service: serviceECS, kind: "service", byInputs: serviceInCluster, idInARN: idOf},
		// Revisions of one family have one name: two that nobody knows are
		// Unsure, and cost nothing.
		"aws:ecs/taskDefinition:TaskDefinition": {service: serviceECS, kind: "task-definition", imported: same, idInARN: idOf},
		"aws:lb/loadBalancer:LoadBalancer":      {service: serviceELB, kind: "loadbalancer", imported: same, idInARN: idOf},
		"aws:lb/targetGroup:TargetGroup":        {service: serviceELB, kind: "targetgroup", imported: same, idInARN: idOf},
		"aws:lb/listener:Listener":              {service: serviceELB, kind: "listener", imported: same, idInARN: idOf},
		"aws:lb/listenerRule:ListenerRule":      {service: serviceELB, kind: "listener-rule", imported: same, idInARN: idOf},
		"aws:cloudwatch/logGroup:LogGroup":      {service: serviceLogs, kind: "log-group", byInputs: input("name")},
		// A role carries tags, but a search by tag does not cover it.
		// https://docs.aws.amazon.com/resourcegroupstagging/latest/APIReference/supported-services.html
		"aws:iam/role:Role":             {byInputs: input("name")},
		"aws:iam/rolePolicy:RolePolicy": {byInputs: policyOfRole},
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

// joined is an import id of two inputs.
func joined(first, separator, second string) func(map[string]any) string {
	return func(inputs map[string]any) string {
		a, b := text(inputs, first), text(inputs, second)
		if a == "" || b == "" {
			return ""
		}

		return a + separator + b
	}
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

// serviceInCluster is the import id of a service: CLUSTER/NAME. The cluster is
// given as a name or as an ARN.
func serviceInCluster(inputs map[string]any) string {
	cluster, service := text(inputs, "cluster"), text(inputs, "name")
	if cluster == "" || service == "" {
		return ""
	}

	return lastSegment("/")(cluster) + "/" + service
}

// policyOfRole is the import id of an inline policy: ROLE:NAME.
func policyOfRole(inputs map[string]any) string {
	role, policy := text(inputs, "role"), text(inputs, "name")
	if role == "" || policy == "" {
		return ""
	}

	return role + ":" + policy
}

// idOf is the id in an ARN; what is none is an id.
func idOf(id string) string {
	if n := parse(id); n.id != "" {
		return n.id
	}

	return id
}

func same(arn string) string { return arn }

func lastSegment(separator string) func(string) string {
	return func(id string) string { return id[strings.LastIndex(id, separator)+1:] }
}
