package programs

// What AWS allows of physical names, in characters. All of them come from
// engine.Topology.PhysicalName, which keeps to the limit.
const (
	maxSessionName       = 64  // https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
	maxSecurityGroupName = 255 // https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html
	maxSubnetGroupName   = 255 // https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_CreateDBSubnetGroup.html
	maxInstanceName      = 63  // https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_CreateDBInstance.html
	maxAliasName         = 256 // https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateAlias.html
	maxRoleName          = 64  // https://docs.aws.amazon.com/IAM/latest/APIReference/API_CreateRole.html
	maxTableName         = 255 // https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
	maxQueueName         = 80  // https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html
	maxLogGroupName      = 512 // https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_CreateLogGroup.html
	maxECSName           = 255 // https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_CreateService.html
	maxTargetGroupName   = 32  // https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateTargetGroup.html
	maxBalancerName      = 32  // https://docs.aws.amazon.com/elasticloadbalancing/latest/APIReference/API_CreateLoadBalancer.html
	maxLabel             = 63  // https://www.rfc-editor.org/rfc/rfc1035#section-2.3.4
	maxTagValue          = 256 // https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
	maxSchemaName        = 63  // https://www.postgresql.org/docs/current/limits.html
)

const (
	aliasPrefix = "alias/"
	logPrefix   = "/lessor/"
)
