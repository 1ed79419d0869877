package programs

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// SharedParameters are the parameters of Shared.
type SharedParameters struct {
	// CIDR is the range of the VPC: private, /16 to /24. Where the tier has addresses, a block of those is.
	CIDR string `json:"cidr"`
	// AZs is the number of availability zones.
	AZs int `bounds:"2..6" json:"azs"`
	// Zones is their names, 2 to 6, where the first ones of the region will not do.
	Zones []string `json:"zones"`

	// InstanceClass is the size of the database's machine.
	InstanceClass string `form:"instanceClass" json:"instanceClass"`
	// EngineVersion is the version of PostgreSQL, best the major one alone.
	EngineVersion string `form:"engineVersion" json:"engineVersion"`
	// StorageGiB is the storage of the database; it never shrinks.
	StorageGiB int `bounds:"20..65536" json:"storageGiB"`
	// MaxStorageGiB is what storage grows to by itself, above storageGiB and at most 65536; 0 keeps it.
	MaxStorageGiB int `json:"maxStorageGiB"`
	// MultiAZ is whether the database has a standby in another zone.
	MultiAZ bool `json:"multiAz"`
	// BackupDays is how long daily backups are kept.
	BackupDays int `bounds:"1..35" json:"backupDays"`
	// DatabaseName is the database that the tenants have their schemas in. Changing it makes an empty instance.
	DatabaseName string `form:"databaseName" json:"databaseName"`

	// KeyDeletionDays is how long a deleted key can be brought back.
	KeyDeletionDays int `bounds:"7..30" json:"keyDeletionDays"`
	// LogRetentionDays is how long the database's logs are kept, one of CloudWatch's terms.
	LogRetentionDays int `json:"logRetentionDays"`
	// CertificateARN is that of the load balancer's listener for HTTPS; without it there is one for HTTP.
	CertificateARN string `form:"certificateArn" json:"certificateArn"`
	// Endpoints is the services of AWS that containers reach, beside S3 and DynamoDB: there is no way to the internet.
	Endpoints []string `bounds:"0..20" form:"service" json:"endpoints"`
	// RepositoryARNs is the ECR repositories that images come from; without any, all of the account in the region.
	RepositoryARNs []string `bounds:"0..50" form:"repositoryArn" json:"repositoryArns"`
}

// Outputs of Shared that no other program has. They have the names of the
// parameters that they become.
const (
	OutputSecurityGroupIDs = "securityGroupIds"
	OutputExecutionRoleARN = "executionRoleArn"
	OutputScheme           = "scheme"
)

// Shared is the program for what the tenants of other tiers share: a network, a
// database, a cluster and a load balancer. It is deployed for a tenant of its
// own, a pool, whose outputs are the parameters of Pool and Bridge. While the
// pool is suspended nothing can connect, so that none of its tenants is served.
func Shared() engine.Program {
	return program[SharedParameters]{
		defaults: sharedDefaults, validate: checkShared, deploy: deployShared,
		summary: "What the tenants of other tiers share: a network over at least two zones, a key, a PostgreSQL database encrypted " +
			"with it, an ECS cluster with a role that starts tasks, and a load balancer that tells tenants apart by host. Its " +
			"outputs are the parameters of `pool` and `bridge`.",
		outputs: routing(
			Output{OutputSharedEndpoint, "Where the database listens, with its port."},
			Output{OutputDatabaseName, "The database in the instance."},
			Output{OutputDatabaseSecretARN, "The secret with the master password."},
			Output{OutputKMSKeyARN, "The pool's key."},
			Output{OutputClusterARN, "The ECS cluster."},
			Output{OutputListenerARN, "The listener that services add their rules to."},
			Output{OutputScheme, "How the listener is spoken to: https or http."},
			Output{OutputLoadBalancerDNS, "The name of the load balancer, inside of the VPC."},
			Output{OutputVPCID, "The VPC."},
			Output{OutputSubnetIDs, "Its private subnets, one for each zone."},
			Output{OutputSecurityGroupIDs, "What admits the load balancer to containers, a list of one."},
			Output{OutputExecutionRoleARN, "The role that pulls images and opens logs."},
		),
	}
}

func sharedDefaults() SharedParameters {
	return SharedParameters{
		CIDR: "10.0.0.0/16", AZs: minZones, InstanceClass: "db.t4g.medium", EngineVersion: "17", StorageGiB: defaultStorageGiB,
		BackupDays: defaultBackupDays, DatabaseName: "app", KeyDeletionDays: defaultKeyDeletion,
		LogRetentionDays: defaultLogDays, Endpoints: []string{"ecr.api", "ecr.dkr", "logs", "sqs", "secretsmanager"},
	}
}

func checkShared(p SharedParameters) error {
	_, rangeErr := parseRange(p.CIDR)

	return errors.Join(rangeErr, checkZones(p.Zones), checkGrowth(p.StorageGiB, p.MaxStorageGiB),
		checkLogTerm("logRetentionDays", p.LogRetentionDays), distinct("repositoryArns", p.RepositoryARNs),
		distinct("endpoints", p.Endpoints))
}

func deployShared(ctx *pulumi.Context, topology engine.Topology, p SharedParameters) (pulumi.Map, error) {
	cidr, err := rangeOf(topology, p.CIDR)
	if err != nil {
		return nil, err
	}

	zones, err := placeZones(topology.Region, p.Zones, p.AZs)
	if err != nil {
		return nil, err
	}

	provider, err := Provider(ctx, topology)
	if err != nil {
		return nil, err
	}

	claims := slices.Concat(keyClaims(topology), databaseClaims(topology), computeClaims(topology))
	if err := refuseTaken(ctx, topology, provider, append(claims, roleClaim(topology, "execution"))...); err != nil {
		return nil, err
	}

	made := pulumi.Provider(provider)

	network, err := NewNetwork(ctx, topology, NetworkArgs{CIDR: cidr, Zones: zones}, made)
	if err != nil {
		return nil, fmt.Errorf("declaring the network: %w", err)
	}

	key, err := NewKey(ctx, topology, KeyArgs{DeletionDays: p.KeyDeletionDays}, made)
	if err != nil {
		return nil, fmt.Errorf("declaring the key: %w", err)
	}

	database, err := NewDatabase(ctx, topology, p.database(network, key, cidr), made)
	if err != nil {
		return nil, fmt.Errorf("declaring the database: %w", err)
	}

	if _, err := NewEndpoints(ctx, topology, EndpointsArgs{Network: network, Inside: cidr, Services: p.Endpoints}, made); err != nil {
		return nil, fmt.Errorf("declaring the endpoints: %w", err)
	}

	compute, err := newCompute(ctx, topology, p, network, cidr, made)
	if err != nil {
		return nil, err
	}

	scheme := "https"
	if p.CertificateARN == "" {
		scheme = "http"
	}

	return pulumi.Map{
		OutputIsolation:         pulumi.String(NameShared),
		OutputServing:           pulumi.Bool(serving(topology)),
		OutputRegion:            pulumi.String(topology.Region),
		OutputSharedEndpoint:    database.Instance.Endpoint,
		OutputDatabaseName:      pulumi.String(p.DatabaseName),
		OutputDatabaseSecretARN: database.SecretARN(),
		OutputKMSKeyARN:         key.Key.Arn,
		OutputClusterARN:        compute.cluster.Arn,
		OutputListenerARN:       compute.balancer.Listener.Arn,
		OutputScheme:            pulumi.String(scheme),
		OutputLoadBalancerDNS:   compute.balancer.LoadBalancer.DnsName,
		OutputVPCID:             network.VPC.ID(),
		OutputSubnetIDs:         network.SubnetIDs(),
		OutputSecurityGroupIDs:  pulumi.StringArray{compute.access.ID()},
		OutputExecutionRoleARN:  compute.execution.Role.Arn,
	}, nil
}

func (p SharedParameters) database(network *Network, key *Key, clients netip.Prefix) DatabaseArgs {
	return DatabaseArgs{
		Network: network, Key: key, Clients: clients, InstanceClass: p.InstanceClass, EngineVersion: p.EngineVersion,
		StorageGiB: p.StorageGiB, MaxStorageGiB: p.MaxStorageGiB, MultiAZ: p.MultiAZ, BackupDays: p.BackupDays, Name: p.DatabaseName,
		LogDays: p.LogRetentionDays,
	}
}

// newContainerAccess declares the security group of the tenants' containers. The
// load balancer gets in at any port, since tenants choose theirs; containers reach
// the database, and AWS's services by HTTPS.
func newContainerAccess(
	ctx *pulumi.Context, topology engine.Topology, network *Network, inside netip.Prefix, balancer *Balancer,
	opts ...pulumi.ResourceOption,
) (*ec2.SecurityGroup, error) {
	name := topology.PhysicalName("containers", maxSecurityGroupName)

	return ec2.NewSecurityGroup(ctx, topology.Name("container-access"), &ec2.SecurityGroupArgs{ //nolint:wrapcheck // by the caller
		Name:        pulumi.String(name),
		Description: pulumi.String("Access to the containers of the tenants of " + topology.Tenant.String()),
		VpcId:       network.VPC.ID(),
		Ingress: ec2.SecurityGroupIngressArray{ec2.SecurityGroupIngressArgs{
			Description: pulumi.String("Requests from the load balancer"),
			Protocol:    pulumi.String("tcp"), FromPort: pulumi.Int(0), ToPort: pulumi.Int(maxPorts),
			SecurityGroups: pulumi.StringArray{balancer.SecurityGroup.ID()},
		}},
		Egress: ec2.SecurityGroupEgressArray{
			ec2.SecurityGroupEgressArgs{
				Description: pulumi.String("To the database"),
				Protocol:    pulumi.String("tcp"), FromPort: pulumi.Int(portPostgres), ToPort: pulumi.Int(portPostgres),
				CidrBlocks: pulumi.ToStringArray([]string{inside.String()}),
			},
			ec2.SecurityGroupEgressArgs{
				Description: pulumi.String("To the services of AWS"),
				Protocol:    pulumi.String("tcp"), FromPort: pulumi.Int(portHTTPS), ToPort: pulumi.Int(portHTTPS),
				CidrBlocks: pulumi.ToStringArray([]string{"0.0.0.0/0"}),
			},
		},
		Tags: named(name),
	}, opts...)
}
