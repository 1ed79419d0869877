package cloudsim

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	minZones        = 2
	minStorage      = 20
	maxStorage      = 65536
	minBackupDays   = 0
	maxBackupDays   = 35
	endpointDigits  = 12
	resourceDigits  = 26
	secretSuffix    = 6
	engine          = "postgres"
	portPostgres    = 5432
	snapshotMaxName = 255
	oldestMajor     = 13
	newestMajor     = 18
)

// identifiers of databases and snapshots: letters, digits and single hyphens.
// https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/CHAP_Limits.html
var (
	instanceNames    = regexp.MustCompile(`^[a-zA-Z](-?[a-zA-Z0-9]){0,62}$`)
	snapshotNames    = regexp.MustCompile(`^[a-zA-Z](-?[a-zA-Z0-9])*$`)
	subnetGroupNames = regexp.MustCompile(`^[a-zA-Z0-9 ._-]{1,255}$`)
)

func rdsKinds() map[string]kind {
	return map[string]kind{
		TypeSubnetGroup: {
			name:  "name",
			lower: true,
			names: subnetGroupNames,
			badName: func(name string) *Error {
				return badRequest(codeInvalidValue, "The parameter DBSubnetGroupName is not a valid identifier: %s", name)
			},
			taken: func(r *Resource) *Error {
				return badRequest("DBSubnetGroupAlreadyExists", "The DB subnet group '%s' already exists.", r.Text("name")).modeled()
			},
			missing: func(id string) *Error {
				return notFound("DBSubnetGroupNotFoundFault", "DB subnet group '%s' does not exist.", id).modeled()
			},
			check:   checkSubnetGroup,
			fill:    fillSubnetGroup,
			blocked: subnetGroupBlocked,
		},
		TypeInstance: {
			name:    "identifier",
			lower:   true,
			names:   instanceNames,
			badName: func(string) *Error { return badIdentifier("DBInstanceIdentifier") },
			taken: func(*Resource) *Error {
				return badRequest("DBInstanceAlreadyExists", "DB instance already exists").modeled()
			},
			missing: func(id string) *Error {
				return notFound("DBInstanceNotFound", "DBInstance %s not found.", id).modeled()
			},
			check:   checkInstance,
			fill:    fillInstance,
			blocked: instanceBlocked,
			deleted: instanceDeleted,
		},
		TypeSnapshot: {
			name:    "dbSnapshotIdentifier",
			names:   snapshotNames,
			badName: func(string) *Error { return badIdentifier("DBSnapshotIdentifier") },
			missing: func(id string) *Error {
				return notFound("DBSnapshotNotFound", "DBSnapshot %s not found.", id).modeled()
			},
		},
	}
}

func badIdentifier(parameter string) *Error {
	return badRequest(codeInvalidValue, "The parameter %s is not a valid identifier. Identifiers must begin with a letter; "+
		"must contain only ASCII letters, digits, and hyphens; and must not end with a hyphen or contain two consecutive hyphens.",
		parameter)
}

// checkSubnetGroup: the subnets are of one VPC and in at least two zones.
// https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_CreateDBSubnetGroup.html
func checkSubnetGroup(c *Cloud, r, _ *Resource) *Error {
	if r.Text("name") == "default" {
		return badRequest(codeInvalidValue, "The parameter DBSubnetGroupName must not be 'default'.")
	}

	zones, vpcs := map[string]bool{}, map[string]bool{}

	for _, id := range r.texts("subnetIds") {
		subnet := c.find(TypeSubnet, r.Region, id)
		if subnet == nil {
			return badRequest("InvalidSubnet", "Some input subnets in :[%s] are invalid.", id).modeled()
		}

		zones[subnet.Text("availabilityZone")] = true
		vpcs[subnet.Text("vpcId")] = true
	}

	if len(vpcs) > 1 {
		return badRequest("InvalidVPCNetworkStateFault", "The DB subnet group has subnets of more than one VPC.").modeled()
	}

	if len(zones) < minZones {
		return badRequest("DBSubnetGroupDoesNotCoverEnoughAZs",
			"The DB subnet group doesn't meet Availability Zone (AZ) coverage requirement. Current AZ coverage: %s. "+
				"Add subnets to cover at least %d AZs.", strings.Join(slices.Sorted(maps.Keys(zones)), ", "), minZones).modeled()
	}

	return nil
}

func fillSubnetGroup(c *Cloud, r *Resource) {
	r.set("arn", arn("rds", r.Region, "subgrp:"+r.ID))
	r.set("supportedNetworkTypes", []any{"IPV4"})

	if subnets := r.texts("subnetIds"); len(subnets) > 0 {
		r.set("vpcId", c.find(TypeSubnet, r.Region, subnets[0]).Text("vpcId"))
	}
}

// subnetGroupBlocked: a group with databases stays.
// https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_DeleteDBSubnetGroup.html
func subnetGroupBlocked(c *Cloud, r, _ *Resource) *Error {
	for _, db := range c.of(TypeInstance, r.Region) {
		if db.Text("dbSubnetGroupName") == r.ID {
			return badRequest("InvalidDBSubnetGroupStateFault",
				"Cannot delete the subnet group '%s' because at least one database instance: %s is still using it.", r.ID, db.ID).modeled()
		}
	}

	return nil
}

// checkInstance judges a creation and a modification.
// https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_CreateDBInstance.html
// https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_ModifyDBInstance.html
func checkInstance(c *Cloud, r, old *Resource) *Error {
	if old != nil && old.State != StateAvailable {
		return badRequest("InvalidDBInstanceState", "Database instance is not in available state.").modeled()
	}

	if err := checkStorage(r, old); err != nil {
		return err
	}

	if err := checkPassword(r); err != nil {
		return err
	}

	if err := checkVersion(r, old); err != nil {
		return err
	}

	if days, ok := r.number("backupRetentionPeriod"); ok && (days < minBackupDays || days > maxBackupDays) {
		return badRequest(codeInvalidValue, "Invalid backup retention period: %d. Must be between %d and %d days.",
			days, minBackupDays, maxBackupDays)
	}

	if key := r.Text("kmsKeyId"); key != "" {
		if k := c.key(r.Region, key); k == nil || k.State == StatePendingDeletion {
			return badRequest("KMSKeyNotAccessibleFault",
				"The specified KMS key [%s] does not exist, is not enabled or you do not have permissions to access it.", key).modeled()
		}
	}

	return checkPlacement(c, r)
}

// checkVersion: the major version is one of those on offer, and never goes back.
// https://docs.aws.amazon.com/AmazonRDS/latest/PostgreSQLReleaseNotes/postgresql-release-calendar.html
// https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/USER_UpgradeDBInstance.PostgreSQL.html
func checkVersion(r, old *Resource) *Error {
	version := r.Text("engineVersion")
	if version == "" || r.Text("engine") != engine {
		return nil
	}

	number := majorOf(version)
	if number < oldestMajor || number > newestMajor {
		return badRequest(codeInvalidCombo, "Cannot find version %s for %s", version, engine)
	}

	if old != nil && number < majorOf(old.Text("engineVersion")) {
		return badRequest(codeInvalidCombo, "Cannot upgrade %s from %s to %s", engine, old.Text("engineVersion"), version)
	}

	return nil
}

func majorOf(version string) int {
	text, _, _ := strings.Cut(version, ".")
	number, _ := strconv.Atoi(text) // 0 is on offer nowhere

	return number
}

// checkStorage: sizes are within bounds and never shrink.
// https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/CHAP_Storage.html
func checkStorage(r, old *Resource) *Error {
	size, ok := r.number("allocatedStorage")
	if !ok || size < minStorage || size > maxStorage {
		return badRequest(codeInvalidCombo, "Invalid storage size for engine name %s and storage type %s: %d",
			r.Text("engine"), r.Text("storageType"), size)
	}

	if old == nil {
		return nil
	}

	if before, _ := old.number("allocatedStorage"); size < before {
		return badRequest(codeInvalidCombo, "You can't reduce the storage size of a DB instance: requested %d GiB, allocated %d GiB.",
			size, before)
	}

	return nil
}

// checkPassword: the master password is managed or given, not both, and its
// user is not one of the engine's own.
// https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/rds-secrets-manager.html
func checkPassword(r *Resource) *Error {
	managed, given := r.flag("manageMasterUserPassword"), r.Text("password") != ""

	switch {
	case managed && given:
		return badRequest(codeInvalidCombo, "You can't specify MasterUserPassword when ManageMasterUserPassword is enabled.")
	case !managed && !given:
		return badRequest(codeInvalidValue, "The parameter MasterUserPassword must be provided and must not be blank.")
	}

	if user := strings.ToLower(r.Text("username")); r.Text("engine") == engine && (user == "admin" || user == "rdsadmin") {
		return badRequest(codeInvalidValue, "MasterUsername %s cannot be used as it is a reserved word used by the engine", user)
	}

	return nil
}

// checkPlacement: subnet group and security groups exist and are of one VPC.
// https://docs.aws.amazon.com/AmazonRDS/latest/UserGuide/USER_VPC.WorkingWithRDSInstanceinaVPC.html
func checkPlacement(c *Cloud, r *Resource) *Error {
	name := r.Text("dbSubnetGroupName")

	group := c.find(TypeSubnetGroup, r.Region, name)
	if name != "" && group == nil {
		return badRequest("DBSubnetGroupNotFoundFault", "DB subnet group '%s' does not exist.", name).modeled()
	}

	for _, id := range r.texts("vpcSecurityGroupIds") {
		sg := c.find(TypeSecurityGroup, r.Region, id)
		if sg == nil {
			return badRequest(codeInvalidValue, "Invalid security group , groupId= %s, groupName=.", id)
		}

		if group != nil && sg.Text("vpcId") != group.Text("vpcId") {
			return badRequest(codeInvalidCombo, "The DB instance and EC2 security group are in different VPCs. "+
				"The DB instance is in %s and the EC2 security group is in %s", group.Text("vpcId"), sg.Text("vpcId"))
		}
	}

	return nil
}

func fillInstance(_ *Cloud, r *Resource) {
	port, ok := r.number("port")
	if !ok {
		port = portPostgres

		r.set("port", port)
	}

	if _, made := r.Outputs["resourceId"]; made {
		return
	}

	address := r.ID + ".c" + randomHex(endpointDigits-1) + "." + r.Region + ".rds.amazonaws.com"
	r.set("address", address)
	r.set("endpoint", address+":"+strconv.Itoa(port))
	r.set("arn", arn("rds", r.Region, "db:"+r.ID))
	r.set("resourceId", "db-"+strings.ToUpper(randomHex(resourceDigits)))
	r.set("hostedZoneId", "Z2R2ITUGPM61AM")
	r.set("engineVersionActual", r.Text("engineVersion"))

	if r.flag("manageMasterUserPassword") {
		secret := arn("secretsmanager", r.Region, "secret:rds!db-"+newUUID()+"-"+randomHex(secretSuffix))
		r.set("masterUserSecrets", []any{map[string]any{
			"kmsKeyId": r.Text("masterUserSecretKmsKeyId"), "secretArn": secret, "secretStatus": "active",
		}})
	}
}

// instanceBlocked: protection is switched off first, and the last data is kept
// under a new name or given up on purpose.
// https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_DeleteDBInstance.html
func instanceBlocked(c *Cloud, r, arguments *Resource) *Error {
	if r.State != StateAvailable {
		return badRequest("InvalidDBInstanceState", "Instance %s is already being deleted or not in available state.", r.ID).modeled()
	}

	if r.flag("deletionProtection") {
		return badRequest(codeInvalidCombo, "Cannot delete protected DB Instance, please disable deletion protection and try again.")
	}

	snapshot, skip := arguments.Text("finalSnapshotIdentifier"), arguments.flag("skipFinalSnapshot")

	switch {
	case skip:
		return nil
	case snapshot == "":
		return badRequest(codeInvalidCombo, "FinalDBSnapshotIdentifier is required unless SkipFinalSnapshot is specified.")
	case len(snapshot) > snapshotMaxName || !snapshotNames.MatchString(snapshot):
		return badIdentifier("FinalDBSnapshotIdentifier")
	case c.find(TypeSnapshot, r.Region, strings.ToLower(snapshot)) != nil:
		return badRequest("DBSnapshotAlreadyExists",
			"Cannot create the snapshot because a snapshot with the identifier %s already exists.", snapshot).modeled()
	}

	return nil
}

// instanceDeleted: the database is deleting until its snapshot is made.
// https://docs.aws.amazon.com/AmazonRDS/latest/APIReference/API_DeleteDBInstance.html
func instanceDeleted(c *Cloud, r, arguments *Resource) {
	snapshot := strings.ToLower(arguments.Text("finalSnapshotIdentifier"))
	if arguments.flag("skipFinalSnapshot") || snapshot == "" {
		return
	}

	made := &Resource{
		Type: TypeSnapshot, ID: snapshot, Region: r.Region, State: StateAvailable, CreatedAt: c.at, UpdatedAt: c.at,
		Inputs: map[string]any{
			"dbSnapshotIdentifier": snapshot, "dbInstanceIdentifier": r.ID, "kmsKeyId": r.Text("kmsKeyId"),
		},
		Outputs: map[string]any{"dbSnapshotArn": arn("rds", r.Region, "snapshot:"+snapshot)},
		Tags:    maps.Clone(r.Tags),
	}
	if delay := c.delays[r.Type]; delay > 0 {
		made.State, made.settlesAt = StateCreating, c.at.Add(delay)
	}

	c.put(made)
	c.note(EventCreated, made, "", false)
}
