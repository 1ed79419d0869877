package programs

import (
	"fmt"
	"net/netip"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/rds"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// DatabaseArgs say what a Database is like.
type DatabaseArgs struct {
	Network *Network
	Key     *Key
	// Clients is the range that may connect while the tenant is serving.
	Clients netip.Prefix
	// Peer is a range beyond that may connect, too; none if it is not valid.
	Peer netip.Prefix

	InstanceClass string
	EngineVersion string
	StorageGiB    int
	// MaxStorageGiB lets the storage grow by itself; 0 does not.
	MaxStorageGiB int
	MultiAZ       bool
	BackupDays    int
	Name          string
	// LogDays is how long its logs are kept.
	LogDays int
}

// Database is a PostgreSQL database in the private subnets of a network. RDS
// makes its master password and keeps it in Secrets Manager, so that neither
// code nor state ever has it.
type Database struct {
	pulumi.ResourceState

	Instance      *rds.Instance
	SubnetGroup   *rds.SubnetGroup
	SecurityGroup *ec2.SecurityGroup
	Logs          *cloudwatch.LogGroup
}

const (
	portPostgres = 5432
	masterUser   = "lessor"
	// logsPostgres is what RDS calls PostgreSQL's own log.
	logsPostgres  = "postgresql"
	maxStorageGiB = 65536
)

// checkGrowth judges what storage grows to by itself.
func checkGrowth(storage, most int) error {
	if most != 0 && (most <= storage || most > maxStorageGiB) {
		return problem("maxStorageGiB", "%d must be 0 or above storageGiB (%d) and at most %d", most, storage, maxStorageGiB)
	}

	return nil
}

// NewDatabase declares a database. A suspended tenant keeps it, but nothing can
// connect to it.
func NewDatabase(ctx *pulumi.Context, topology engine.Topology, args DatabaseArgs, opts ...pulumi.ResourceOption) (*Database, error) {
	database := &Database{}
	if err := ctx.RegisterComponentResource("lessor:programs:Database", topology.Name("database"), database, opts...); err != nil {
		return nil, fmt.Errorf("database: %w", err)
	}

	within := pulumi.Parent(database)

	var err error

	if database.SecurityGroup, err = newSecurityGroup(ctx, topology, args, within); err != nil {
		return nil, fmt.Errorf("security group: %w", err)
	}

	name := topology.PhysicalName("db", maxSubnetGroupName)

	database.SubnetGroup, err = rds.NewSubnetGroup(ctx, topology.Name("db-subnets"), &rds.SubnetGroupArgs{
		Name:        pulumi.String(name),
		Description: pulumi.String("Private subnets of tenant " + topology.Tenant.String()),
		SubnetIds:   args.Network.SubnetIDs(),
		Tags:        named(name),
	}, within)
	if err != nil {
		return nil, fmt.Errorf("subnet group: %w", err)
	}

	// RDS would make the log group by itself, and keep it and its lines for ever.
	database.Logs, err = newLogs(ctx, topology, "db-logs",
		databaseLogs(topology), args.LogDays, within)
	if err != nil {
		return nil, err
	}

	if database.Instance, err = newInstance(ctx, topology, args, database, within); err != nil {
		return nil, fmt.Errorf("instance: %w", err)
	}

	return database, nil
}

// databaseLogs is the log group that RDS writes to.
// https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/USER_LogAccess.Procedural.UploadtoCloudWatch.html
func databaseLogs(topology engine.Topology) string {
	return "/aws/rds/instance/" + topology.PhysicalName("db", maxInstanceName) + "/" + logsPostgres
}

func newSecurityGroup(
	ctx *pulumi.Context, topology engine.Topology, args DatabaseArgs, opts ...pulumi.ResourceOption,
) (*ec2.SecurityGroup, error) {
	name := topology.PhysicalName("db", maxSecurityGroupName)
	ingress := ec2.SecurityGroupIngressArray{}

	if serving(topology) {
		ingress = append(ingress, ec2.SecurityGroupIngressArgs{
			Description: pulumi.String("PostgreSQL from the tenant's own network"),
			Protocol:    pulumi.String("tcp"),
			FromPort:    pulumi.Int(portPostgres),
			ToPort:      pulumi.Int(portPostgres),
			CidrBlocks:  pulumi.ToStringArray([]string{args.Clients.String()}),
		})
		ingress = append(ingress, admit(args.Peer, portPostgres, "PostgreSQL")...)
	}

	// There is no egress rule: a database calls nobody.
	return ec2.NewSecurityGroup(ctx, topology.Name("db-access"), &ec2.SecurityGroupArgs{ //nolint:wrapcheck // by the caller
		Name:        pulumi.String(name),
		Description: pulumi.String("Access to the database of tenant " + topology.Tenant.String()),
		VpcId:       args.Network.VPC.ID(),
		Ingress:     ingress,
		Egress:      ec2.SecurityGroupEgressArray{},
		Tags:        named(name),
	}, opts...)
}

func newInstance(
	ctx *pulumi.Context, topology engine.Topology, args DatabaseArgs, database *Database, opts ...pulumi.ResourceOption,
) (*rds.Instance, error) {
	name := topology.PhysicalName("db", maxInstanceName)
	instance := &rds.InstanceArgs{
		Identifier:               pulumi.String(name),
		Engine:                   pulumi.String("postgres"),
		EngineVersion:            pulumi.String(args.EngineVersion),
		AutoMinorVersionUpgrade:  pulumi.Bool(true),
		AllowMajorVersionUpgrade: pulumi.Bool(true),
		InstanceClass:            pulumi.String(args.InstanceClass),
		AllocatedStorage:         pulumi.Int(args.StorageGiB),
		StorageType:              pulumi.String("gp3"),
		StorageEncrypted:         pulumi.Bool(true),
		KmsKeyId:                 args.Key.Key.Arn,
		DbName:                   pulumi.String(args.Name),
		Port:                     pulumi.Int(portPostgres),
		Username:                 pulumi.String(masterUser),
		ManageMasterUserPassword: pulumi.Bool(true),
		MasterUserSecretKmsKeyId: args.Key.Key.KeyId,
		DbSubnetGroupName:        database.SubnetGroup.Name,
		VpcSecurityGroupIds:      pulumi.StringArray{database.SecurityGroup.ID()},
		PubliclyAccessible:       pulumi.Bool(false),
		MultiAz:                  pulumi.Bool(args.MultiAZ),
		BackupRetentionPeriod:    pulumi.Int(args.BackupDays),
		CopyTagsToSnapshot:       pulumi.Bool(true),
		// A change is made when the operation is, and not in some later
		// maintenance window that nobody waits for.
		ApplyImmediately: pulumi.Bool(true),

		EnabledCloudwatchLogsExports: pulumi.ToStringArray([]string{logsPostgres}),

		DeletionProtection: pulumi.Bool(topology.Protect),
		SkipFinalSnapshot:  pulumi.Bool(topology.FinalSnapshot == ""),
		Tags:               named(name),
	}

	if args.MaxStorageGiB > 0 {
		instance.MaxAllocatedStorage = pulumi.Int(args.MaxStorageGiB)
	}

	if topology.FinalSnapshot != "" {
		instance.FinalSnapshotIdentifier = pulumi.String(topology.FinalSnapshot)
	}

	opts = append(opts, pulumi.Protect(topology.Protect), pulumi.DependsOn([]pulumi.Resource{database.Logs}))

	return rds.NewInstance(ctx, topology.Name("db"), instance, opts...) //nolint:wrapcheck // by the caller
}

// SecretARN is where RDS keeps the master password.
func (d *Database) SecretARN() pulumi.Output {
	return d.Instance.MasterUserSecrets.ApplyT(func(secrets []rds.InstanceMasterUserSecret) string {
		if len(secrets) == 0 || secrets[0].SecretArn == nil {
			return ""
		}

		return *secrets[0].SecretArn
	})
}
