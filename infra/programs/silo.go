package programs

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// SiloParameters are the parameters of Silo.
type SiloParameters struct {
	// CIDR is the range of the VPC, /16 to /24.
	CIDR string `json:"cidr"`
	// AZs is the number of availability zones, 2 to 6.
	AZs int `json:"azs"`
	// Zones names them, for accounts that do not have the first ones.
	Zones []string `json:"zones"`

	InstanceClass string `json:"instanceClass"`
	// EngineVersion is that of PostgreSQL, best the major one alone.
	EngineVersion string `json:"engineVersion"`
	StorageGiB    int    `json:"storageGiB"`
	// MaxStorageGiB lets the storage grow by itself; 0 does not.
	MaxStorageGiB int    `json:"maxStorageGiB"`
	MultiAZ       bool   `json:"multiAz"`
	BackupDays    int    `json:"backupDays"`
	DatabaseName  string `json:"databaseName"`
	// KeyDeletionDays is how long a deleted key can be brought back.
	KeyDeletionDays int `json:"keyDeletionDays"`
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
)

// Bounds of the parameters.
const (
	minZones, maxZones             = 2, 6
	minStorageGiB, maxStorageGiB   = 20, 65536
	minBackupDays, maxBackupDays   = 1, 35
	minKeyDeletion, maxKeyDeletion = 7, 30

	defaultStorageGiB  = 20
	defaultBackupDays  = 7
	defaultKeyDeletion = 30
)

var (
	classForm    = regexp.MustCompile(`^db\.[a-z0-9]+(-[a-z0-9]+)*\.[a-z0-9]+$`)
	versionForm  = regexp.MustCompile(`^\d{1,2}(\.\d{1,2})?$`)
	databaseForm = regexp.MustCompile(`^[a-z][a-z0-9_]{0,62}$`)
	zoneForm     = regexp.MustCompile(`^[a-z]{2}(-[a-z]+)+-\d[a-z]$`)
)

// Silo is the program for tenants that share nothing: an own network over at
// least two zones, an own key, and a PostgreSQL database encrypted with it. While
// the tenant is suspended the database stays and no rule lets anything connect.
func Silo() engine.Program {
	return New(siloDefaults, checkSilo, deploySilo)
}

func siloDefaults() SiloParameters {
	return SiloParameters{
		CIDR: "10.0.0.0/16", AZs: minZones, InstanceClass: "db.t4g.micro", EngineVersion: "17", StorageGiB: defaultStorageGiB,
		BackupDays: defaultBackupDays, DatabaseName: "app", KeyDeletionDays: defaultKeyDeletion,
	}
}

func checkSilo(p SiloParameters) error {
	_, rangeErr := parseRange("cidr", p.CIDR)
	problems := []error{
		rangeErr,
		between("azs", p.AZs, minZones, maxZones),
		checkZones(p),
		between("storageGiB", p.StorageGiB, minStorageGiB, maxStorageGiB),
		between("backupDays", p.BackupDays, minBackupDays, maxBackupDays),
		between("keyDeletionDays", p.KeyDeletionDays, minKeyDeletion, maxKeyDeletion),
	}

	if p.MaxStorageGiB != 0 && (p.MaxStorageGiB <= p.StorageGiB || p.MaxStorageGiB > maxStorageGiB) {
		problems = append(problems, problem("maxStorageGiB", "%d must be 0 or above storageGiB (%d) and at most %d",
			p.MaxStorageGiB, p.StorageGiB, maxStorageGiB))
	}

	for _, form := range []struct {
		name, value string
		want        *regexp.Regexp
	}{
		{"instanceClass", p.InstanceClass, classForm},
		{"engineVersion", p.EngineVersion, versionForm},
		{"databaseName", p.DatabaseName, databaseForm},
	} {
		if !form.want.MatchString(form.value) {
			problems = append(problems, problem(form.name, "%q must match %s", form.value, form.want))
		}
	}

	return errors.Join(problems...)
}

func checkZones(p SiloParameters) error {
	if len(p.Zones) == 0 {
		return nil
	}

	if len(p.Zones) < minZones || len(p.Zones) > maxZones {
		return problem("zones", "%d zones are not between %d and %d", len(p.Zones), minZones, maxZones)
	}

	for i, zone := range p.Zones {
		if !zoneForm.MatchString(zone) {
			return problem("zones", "%q is no availability zone such as eu-west-1a", zone)
		}

		if slices.Contains(p.Zones[:i], zone) {
			return problem("zones", "%s is named twice", zone)
		}
	}

	return nil
}

func deploySilo(ctx *pulumi.Context, topology engine.Topology, p SiloParameters) (pulumi.Map, error) {
	cidr, err := parseRange("cidr", p.CIDR)
	if err != nil {
		return nil, err
	}

	zones := p.Zones
	if len(zones) == 0 {
		zones = zonesOf(topology.Region, p.AZs)
	}

	for _, zone := range zones {
		if !strings.HasPrefix(zone, topology.Region) {
			return nil, problem("zones", "%s is not in the tenant's region %s", zone, topology.Region)
		}
	}

	provider, err := Provider(ctx, topology)
	if err != nil {
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

	database, err := NewDatabase(ctx, topology, DatabaseArgs{
		Network: network, Key: key, Clients: cidr, InstanceClass: p.InstanceClass, EngineVersion: p.EngineVersion,
		StorageGiB: p.StorageGiB, MaxStorageGiB: p.MaxStorageGiB, MultiAZ: p.MultiAZ, BackupDays: p.BackupDays, Name: p.DatabaseName,
	}, made)
	if err != nil {
		return nil, fmt.Errorf("declaring the database: %w", err)
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
	}, nil
}
