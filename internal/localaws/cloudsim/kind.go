package cloudsim

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
)

// The types that have rules of their own.
const (
	TypeVPC           = "aws:ec2/vpc:Vpc"
	TypeSubnet        = "aws:ec2/subnet:Subnet"
	TypeSecurityGroup = "aws:ec2/securityGroup:SecurityGroup"
	TypePeering       = "aws:ec2/vpcPeeringConnection:VpcPeeringConnection"
	TypeEndpoint      = "aws:ec2/vpcEndpoint:VpcEndpoint"
	TypeRouteTable    = "aws:ec2/routeTable:RouteTable"
	TypeRoute         = "aws:ec2/route:Route"
	TypeKey           = "aws:kms/key:Key"
	TypeAlias         = "aws:kms/alias:Alias"
	TypeSubnetGroup   = "aws:rds/subnetGroup:SubnetGroup"
	TypeInstance      = "aws:rds/instance:Instance"
	TypeSnapshot      = "aws:rds/snapshot:Snapshot"
	TypeQueue         = "aws:sqs/queue:Queue"
	TypeRedrivePolicy = "aws:sqs/redrivePolicy:RedrivePolicy"
	TypeQueuePolicy   = "aws:sqs/queuePolicy:QueuePolicy"
	TypeTable         = "aws:dynamodb/table:Table"
	TypeBucket        = "aws:s3/bucketV2:BucketV2"
	TypeVersioning    = "aws:s3/bucketVersioningV2:BucketVersioningV2"
	TypePublicAccess  = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
	TypeEncryption    = "aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2"
	TypeLifecycle     = "aws:s3/bucketLifecycleConfigurationV2:BucketLifecycleConfigurationV2"
	TypeBucketPolicy  = "aws:s3/bucketPolicy:BucketPolicy"
	TypeTopic         = "aws:sns/topic:Topic"
	TypeBus           = "aws:cloudwatch/eventBus:EventBus"
	TypeAlarm         = "aws:cloudwatch/metricAlarm:MetricAlarm"
	TypePolicy        = "aws:iam/policy:Policy"

	TypeCluster        = "aws:ecs/cluster:Cluster"
	TypeService        = "aws:ecs/service:Service"
	TypeTaskDefinition = "aws:ecs/taskDefinition:TaskDefinition"
	TypeLoadBalancer   = "aws:lb/loadBalancer:LoadBalancer"
	TypeTargetGroup    = "aws:lb/targetGroup:TargetGroup"
	TypeListener       = "aws:lb/listener:Listener"
	TypeListenerRule   = "aws:lb/listenerRule:ListenerRule"
	TypeRole           = "aws:iam/role:Role"
	TypeRolePolicy     = "aws:iam/rolePolicy:RolePolicy"
	TypeLogGroup       = "aws:cloudwatch/logGroup:LogGroup"

	TypeRouteAssociation = "aws:ec2/routeTableAssociation:RouteTableAssociation"

	// TypeBackup is a backup that DynamoDB takes by itself: no program makes
	// one, and it carries no tags.
	TypeBackup = "aws:dynamodb/backup:Backup"
)

// Account is the id of the simulated account, the same as the emulator's.
const Account = "000000000000"

// kind is how resources of one type behave. Its functions run under the
// simulator's lock.
type kind struct {
	// prefix begins the ids that are chosen here; "" makes the unique name
	// the id.
	prefix string
	// id makes ids that are neither; nil where there are none.
	id func(c *Cloud, r *Resource) string
	// name is the input that must be unique, within scope (an input too) and
	// the region, or in all regions where global is set.
	name   string
	scope  string
	global bool
	// lower makes names case-insensitive, stored in lower case.
	lower bool
	// names is the form of a name, badName the refusal of another.
	names   *regexp.Regexp
	badName func(name string) *Error
	taken   func(r *Resource) *Error
	// leaving refuses the name of a resource that is being deleted; nil where
	// AWS says the same as of one that stays.
	leaving func() *Error
	// rests makes a name stay taken for a while after its resource is gone,
	// which tired says.
	rests   bool
	tired   func() *Error
	missing func(id string) *Error
	// check judges a creation or the result of a change; old is nil for a
	// creation.
	check func(c *Cloud, r, old *Resource) *Error
	// fill adds what AWS adds.
	fill func(c *Cloud, r *Resource)
	// blocked judges a deletion.
	blocked func(c *Cloud, r, arguments *Resource) *Error
	// deleted runs when a deletion was accepted.
	deleted func(c *Cloud, r, arguments *Resource)
	// retained is the state that a deleted resource stays in; "" removes it.
	retained State
}

// kinds is rebuilt for each simulator, so that there is no shared state.
func kinds() map[string]kind {
	all := map[string]kind{}

	for _, part := range []map[string]kind{
		ec2Kinds(), peeringKinds(), endpointKinds(), kmsKinds(), rdsKinds(), dataKinds(), ecsKinds(), elbKinds(), iamKinds(), logsKinds(),
		watchKinds(),
	} {
		maps.Copy(all, part)
	}

	return all
}

const idLength = 17

// newID returns an id as EC2 makes them.
func newID(prefix string) string { return prefix + randomHex(idLength) }

// newUUID returns an id as KMS makes them.
func newUUID() string {
	const digits, a, b, c, d = 32, 8, 12, 16, 20

	h := randomHex(digits)

	return fmt.Sprintf("%s-%s-%s-%s-%s", h[:a], h[a:b], h[b:c], h[c:d], h[d:])
}

func randomHex(digits int) string {
	raw := make([]byte, (digits+1)/2) //nolint:mnd // two digits per byte

	_, _ = rand.Read(raw) // documented never to fail

	return hex.EncodeToString(raw)[:digits]
}

func arn(service, region, rest string) string {
	return "arn:aws:" + service + ":" + region + ":" + Account + ":" + rest
}
