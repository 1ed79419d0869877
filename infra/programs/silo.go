package programs

import (
	"errors"
	"fmt"
	"slices"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ecs"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// SiloParameters are the parameters of Silo.
type SiloParameters struct {
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
	// DatabaseName is the database in the instance. Changing it makes an empty one.
	DatabaseName string `form:"databaseName" json:"databaseName"`

	// KeyDeletionDays is how long a deleted key can be brought back.
	KeyDeletionDays int `bounds:"7..30" json:"keyDeletionDays"`
	// LogRetentionDays is how long the database's logs are kept, one of CloudWatch's terms.
	LogRetentionDays int `json:"logRetentionDays"`
	// CertificateARN is that of the load balancer's listener for HTTPS; without it there is one for HTTP.
	CertificateARN string `form:"certificateArn" json:"certificateArn"`

	// PeerVPCID is a VPC of the same account and region that the tenant's is peered with. The tier then needs addresses.
	PeerVPCID string `form:"peerVpcId" json:"peerVpcId"`
	// PeerCIDR is the range of that VPC.
	PeerCIDR string `json:"peerCidr"`
	// PeerRouteTableIDs is the route tables of that VPC that get a route to the tenant's.
	PeerRouteTableIDs []string `bounds:"0..10" form:"routeTableId" json:"peerRouteTableIds"`
	// PeerAccess is what that VPC may connect to: loadBalancer, database, both or nothing.
	PeerAccess []string `form:"peerAccess" json:"peerAccess"`
}

// Outputs of Silo.
const (
	OutputVPCID             = "vpcId"
	OutputSubnetIDs         = "subnetIds"
	OutputSecurityGroupID   = "securityGroupId"
	OutputDatabaseEndpoint  = "databaseEndpoint"
	OutputDatabaseName      = "databaseName"
	OutputDatabaseSecretARN = "databaseSecretArn"
	OutputKMSKeyARN         = "kmsKeyArn"
	OutputLoadBalancerDNS   = "loadBalancerDns"
	OutputListenerARN       = "listenerArn"
)

// Bounds of the parameters.
const (
	minZones, maxZones = 2, 6

	defaultStorageGiB  = 20
	defaultBackupDays  = 7
	defaultKeyDeletion = 30
)

// Silo is the program for tenants that share nothing: an own network over at
// least two zones, an own key, a PostgreSQL database encrypted with it, and an ECS
// cluster behind a load balancer for the services that run there. While the tenant
// is suspended the database stays and no rule lets anything connect.
func Silo() engine.Program {
	return program[SiloParameters]{
		defaults: siloDefaults, validate: checkSilo, deploy: deploySilo,
		summary: "Nothing shared: an own network over at least two zones, an own key, a PostgreSQL database encrypted with it " +
			"whose password only Secrets Manager has, an ECS cluster and an internal load balancer.",
		outputs: routing(
			Output{OutputVPCID, "The tenant's VPC."},
			Output{OutputSubnetIDs, "Its private subnets, one for each zone."},
			Output{OutputSecurityGroupID, "What lets connect to the database."},
			Output{OutputDatabaseEndpoint, "Where the database listens, with its port."},
			Output{OutputDatabaseName, "The database in the instance."},
			Output{OutputDatabaseSecretARN, "The secret with the master password."},
			Output{OutputKMSKeyARN, "The tenant's key."},
			Output{OutputClusterARN, "The tenant's ECS cluster."},
			Output{OutputLoadBalancerDNS, "The name of the tenant's load balancer, inside of the VPC."},
			Output{OutputListenerARN, "The listener that services add their rules to."},
		),
	}
}

func siloDefaults() SiloParameters {
	return SiloParameters{
		CIDR: "10.0.0.0/16", AZs: minZones, InstanceClass: "db.t4g.micro", EngineVersion: "17", StorageGiB: defaultStorageGiB,
		BackupDays: defaultBackupDays, DatabaseName: "app", KeyDeletionDays: defaultKeyDeletion,
		LogRetentionDays: defaultLogDays,
	}
}

func checkSilo(p SiloParameters) error {
	_, rangeErr := parseRange(p.CIDR)

	return errors.Join(rangeErr, checkZones(p.Zones), checkGrowth(p.StorageGiB, p.MaxStorageGiB),
		checkLogTerm("logRetentionDays", p.LogRetentionDays), p.checkPeering())
}

func deploySilo(ctx *pulumi.Context, topology engine.Topology, p SiloParameters) (pulumi.Map, error) {
	cidr, err := rangeOf(topology, p.CIDR)
	if err != nil {
		return nil, err
	}

	hub, err := p.hub(topology, cidr)
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
	if err := refuseTaken(ctx, topology, provider, claims...); err != nil {
		return nil, err
	}

	made := pulumi.Provider(provider)

	network, err := NewNetwork(ctx, topology, NetworkArgs{CIDR: cidr, Zones: zones}, made)
	if err != nil {
		return nil, fmt.Errorf("declaring the network: %w", err)
	}

	if hub.VPCID != "" {
		if _, err := NewPeering(ctx, topology, network, cidr, hub, made); err != nil {
			return nil, fmt.Errorf("declaring the peering: %w", err)
		}
	}

	key, err := NewKey(ctx, topology, KeyArgs{DeletionDays: p.KeyDeletionDays}, made)
	if err != nil {
		return nil, fmt.Errorf("declaring the key: %w", err)
	}

	database, err := NewDatabase(ctx, topology, DatabaseArgs{
		Network: network, Key: key, Clients: cidr, InstanceClass: p.InstanceClass, EngineVersion: p.EngineVersion,
		StorageGiB: p.StorageGiB, MaxStorageGiB: p.MaxStorageGiB, MultiAZ: p.MultiAZ, BackupDays: p.BackupDays, Name: p.DatabaseName,
		LogDays: p.LogRetentionDays, Peer: p.admitted(admitDatabase, hub),
	}, made)
	if err != nil {
		return nil, fmt.Errorf("declaring the database: %w", err)
	}

	cluster, err := newCluster(ctx, topology, made)
	if err != nil {
		return nil, fmt.Errorf("declaring the cluster: %w", err)
	}

	balancer, err := NewBalancer(ctx, topology, BalancerArgs{
		Network: network, Clients: cidr, CertificateARN: p.CertificateARN, Peer: p.admitted(admitBalancer, hub),
	}, made)
	if err != nil {
		return nil, fmt.Errorf("declaring the load balancer: %w", err)
	}

	return pulumi.Map{
		OutputIsolation:         pulumi.String(NameSilo),
		OutputServing:           pulumi.Bool(serving(topology)),
		OutputRegion:            pulumi.String(topology.Region),
		OutputVPCID:             network.VPC.ID(),
		OutputSubnetIDs:         network.SubnetIDs(),
		OutputSecurityGroupID:   database.SecurityGroup.ID(),
		OutputDatabaseEndpoint:  database.Instance.Endpoint,
		OutputDatabaseName:      pulumi.String(p.DatabaseName),
		OutputDatabaseSecretARN: database.SecretARN(),
		OutputKMSKeyARN:         key.Key.Arn,
		OutputClusterARN:        cluster.Arn,
		OutputLoadBalancerDNS:   balancer.LoadBalancer.DnsName,
		OutputListenerARN:       balancer.Listener.Arn,
	}, nil
}

func newCluster(ctx *pulumi.Context, topology engine.Topology, opts ...pulumi.ResourceOption) (*ecs.Cluster, error) {
	name := topology.PhysicalName("cluster", maxECSName)

	return ecs.NewCluster(ctx, topology.Name("cluster"), &ecs.ClusterArgs{ //nolint:wrapcheck // by the caller
		Name: pulumi.String(name), Tags: named(name),
	}, opts...)
}
