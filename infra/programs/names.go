package programs

// What AWS allows of physical names, in characters. All of them come from
// engine.Topology.PhysicalName, which keeps to the limit.
const (
	maxSessionName       = 64  // https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRole.html
	maxSecurityGroupName = 255 // https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateSecurityGroup.html
	maxSubnetGroupName   = 255 // https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_CreateDBSubnetGroup.html
	maxInstanceName      = 63  // https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_CreateDBInstance.html
	maxAliasName         = 256 // https://docs.aws.amazon.com/kms/latest/APIReference/API_CreateAlias.html
	maxTagValue          = 256 // https://docs.aws.amazon.com/tag-editor/latest/userguide/best-practices-and-strats.html
	maxSchemaName        = 63  // https://www.postgresql.org/docs/current/limits.html
)

const aliasPrefix = "alias/"
