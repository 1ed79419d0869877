package inventory_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/inventory"
)

type inputs = map[string]any

func named(arn, name string) inventory.Resource {
	return inventory.Resource{ARN: arn, Tags: tags{"tenant-id": "acme", "Name": name}}
}

func pending(typ string, in inputs) inventory.Known { return inventory.Known{Type: typ, Inputs: in} }

// The forms of the ids are those of "pulumi import" on each type's page.
func TestIdentify(t *testing.T) {
	t.Parallel()

	name := inputs{"tags": inputs{"Name": "acme-t1-vpc", "tenant-id": "acme"}}
	vpc := pending("aws:ec2/vpc:Vpc", name)
	one, two := named(ec2+"vpc/vpc-1", "acme-t1-vpc"), named(ec2+"vpc/vpc-2", "acme-t1-vpc")
	dying := named(key+"1-2", "acme-t1-vpc")
	dying.PendingDeletion = true

	for title, c := range map[string]struct {
		pending inventory.Known
		unknown []inventory.Resource
		id      string
		verdict inventory.Verdict
	}{
		"vpc by name":                   {vpc, []inventory.Resource{named(ec2+"vpc/vpc-0", "acme-t2-vpc"), one}, "vpc-1", inventory.Exists},
		"none of that name":             {vpc, []inventory.Resource{named(ec2+"vpc/vpc-0", "acme-t2-vpc")}, "", inventory.Absent},
		"nothing":                       {vpc, nil, "", inventory.Absent},
		"another kind of that name":     {vpc, []inventory.Resource{named(ec2+"subnet/subnet-1", "acme-t1-vpc")}, "", inventory.Absent},
		"another service of that name":  {vpc, []inventory.Resource{named("arn:aws:x:::vpc/vpc-1", "acme-t1-vpc")}, "", inventory.Absent},
		"two of that name":              {vpc, []inventory.Resource{one, two}, "", inventory.Unsure},
		"no name wanted, some there":    {pending("aws:ec2/vpc:Vpc", nil), []inventory.Resource{one}, "", inventory.Unsure},
		"no name wanted, none there":    {pending("aws:ec2/vpc:Vpc", nil), nil, "", inventory.Absent},
		"subnet":                        {pending("aws:ec2/subnet:Subnet", name), []inventory.Resource{named(ec2+"subnet/subnet-1", "acme-t1-vpc")}, "subnet-1", inventory.Exists},
		"security group":                {pending("aws:ec2/securityGroup:SecurityGroup", name), []inventory.Resource{named(ec2+"security-group/sg-1", "acme-t1-vpc")}, "sg-1", inventory.Exists},
		"key":                           {pending("aws:kms/key:Key", name), []inventory.Resource{named(key+"1-2", "acme-t1-vpc")}, "1-2", inventory.Exists},
		"key of an earlier life":        {pending("aws:kms/key:Key", name), []inventory.Resource{dying}, "", inventory.Absent},
		"key of this and earlier lives": {pending("aws:kms/key:Key", name), []inventory.Resource{dying, named(key+"3-4", "acme-t1-vpc")}, "3-4", inventory.Exists},
		"alias":                         {pending("aws:kms/alias:Alias", inputs{"name": "alias/acme"}), nil, "alias/acme", inventory.Exists},
		"alias without a name":          {pending("aws:kms/alias:Alias", nil), nil, "", inventory.Unsure},
		"database":                      {pending("aws:rds/instance:Instance", inputs{"identifier": "acme"}), nil, "acme", inventory.Exists},
		"subnet group":                  {pending("aws:rds/subnetGroup:SubnetGroup", inputs{"name": "acme"}), nil, "acme", inventory.Exists},
		"table":                         {pending("aws:dynamodb/table:Table", inputs{"name": "acme"}), nil, "acme", inventory.Exists},
		"bucket":                        {pending("aws:s3/bucketV2:BucketV2", inputs{"bucket": "acme"}), nil, "acme", inventory.Exists},
		"queue":                         {pending("aws:sqs/queue:Queue", inputs{"name": "acme"}), []inventory.Resource{{ARN: sqs + "acme-2"}, {ARN: sqs + "acme"}}, "https://sqs.eu-west-1.amazonaws.com/123456789012/acme", inventory.Exists},
		"queue in China":                {pending("aws:sqs/queue:Queue", inputs{"name": "acme"}), []inventory.Resource{{ARN: "arn:aws-cn:sqs:cn-north-1:1:acme"}}, "https://sqs.cn-north-1.amazonaws.com.cn/1/acme", inventory.Exists},
		"no queue":                      {pending("aws:sqs/queue:Queue", inputs{"name": "acme"}), []inventory.Resource{{ARN: sqs + "acme-2"}, {ARN: sns + "acme"}}, "", inventory.Absent},
		"topic":                         {pending("aws:sns/topic:Topic", inputs{"name": "acme"}), []inventory.Resource{{ARN: sns + "acme"}}, sns + "acme", inventory.Exists},
		"queue policy":                  {pending("aws:sqs/queuePolicy:QueuePolicy", inputs{"queueUrl": "https://q/acme"}), nil, "https://q/acme", inventory.Exists},
		"redrive policy":                {pending("aws:sqs/redrivePolicy:RedrivePolicy", inputs{"queueUrl": "https://q/acme"}), nil, "https://q/acme", inventory.Exists},
		"versioning":                    {pending("aws:s3/bucketVersioningV2:BucketVersioningV2", inputs{"bucket": "acme"}), nil, "acme", inventory.Exists},
		"versioning with an owner":      {pending("aws:s3/bucketVersioningV2:BucketVersioningV2", inputs{"bucket": "acme", "expectedBucketOwner": "1"}), nil, "acme,1", inventory.Exists},
		"public access":                 {pending("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", inputs{"bucket": "acme", "expectedBucketOwner": "1"}), nil, "acme", inventory.Exists},
		"route":                         {pending("aws:ec2/route:Route", inputs{"routeTableId": "rtb-1", "destinationCidrBlock": "10.0.0.0/16"}), nil, "rtb-1_10.0.0.0/16", inventory.Exists},
		"route to nobody knows where":   {pending("aws:ec2/route:Route", inputs{"routeTableId": "rtb-1"}), nil, "", inventory.Unsure},
		"route of nobody knows where":   {pending("aws:ec2/route:Route", inputs{"destinationCidrBlock": "10.0.0.0/16"}), nil, "", inventory.Unsure},
		"association":                   {pending("aws:ec2/routeTableAssociation:RouteTableAssociation", inputs{"routeTableId": "rtb-1", "subnetId": "subnet-1"}), nil, "subnet-1/rtb-1", inventory.Exists},
		"unknown type, nothing":         {pending("aws:ec2/natGateway:NatGateway", name), nil, "", inventory.Absent},
		"unknown type, its service":     {pending("aws:ec2/natGateway:NatGateway", name), []inventory.Resource{one}, "", inventory.Unsure},
		"unknown type, other service":   {pending("aws:ec2/natGateway:NatGateway", name), []inventory.Resource{{ARN: sqs + "acme"}}, "", inventory.Absent},
		"cluster":                       {pending("aws:ecs/cluster:Cluster", inputs{"name": "acme"}), nil, "acme", inventory.Exists},
		"service by its cluster's ARN":  {pending("aws:ecs/service:Service", inputs{"name": "acme", "cluster": "arn:aws:ecs:r:1:cluster/shared"}), nil, "shared/acme", inventory.Exists},
		"service of nobody knows where": {pending("aws:ecs/service:Service", inputs{"name": "acme"}), nil, "", inventory.Absent},
		"balancer by its name's tag":    {pending("aws:lb/loadBalancer:LoadBalancer", name), []inventory.Resource{{ARN: "arn:aws:elasticloadbalancing:r:1:loadbalancer/app/acme/1", Tags: tags{"Name": "acme-t1-vpc"}}}, "arn:aws:elasticloadbalancing:r:1:loadbalancer/app/acme/1", inventory.Exists},
		"role":                          {pending("aws:iam/role:Role", inputs{"name": "acme"}), nil, "acme", inventory.Exists},
		"policy":                        {pending("aws:iam/rolePolicy:RolePolicy", inputs{"name": "data", "role": "acme"}), nil, "acme:data", inventory.Exists},
		"policy of nobody knows whom":   {pending("aws:iam/rolePolicy:RolePolicy", inputs{"name": "data"}), nil, "", inventory.Unsure},
		"service of another name":       {pending("aws:lb/trustStore:TrustStore", name), []inventory.Resource{{ARN: "arn:aws:elasticloadbalancing:r:1:loadbalancer/app/acme/1"}}, "", inventory.Unsure},
		"unknown type, kept":            {pending("aws:kms/externalKey:ExternalKey", name), []inventory.Resource{dying}, "", inventory.Absent},
		"not of AWS":                    {pending("random:index/randomId:RandomId", name), []inventory.Resource{{ARN: "no ARN"}}, "", inventory.Absent},
	} {
		id, verdict := inventory.Identify(c.pending, c.unknown)
		require.Equal(t, c.id, id, title)
		require.Equal(t, c.verdict.String(), verdict.String(), title)
	}
}
