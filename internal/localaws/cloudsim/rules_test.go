package cloudsim_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
)

// The documentation that each rule follows is linked beside its code.

func TestCreationIsRefusedAsByAWS(t *testing.T) {
	t.Parallel()

	for name, tc := range map[string]struct {
		typ    string
		inputs func(n network) props
		code   string
		text   string
	}{
		"unknown type": {
			"aws:ec2/natGateway:NatGateway", func(network) props { return nil },
			cloudsim.CodeUnknownType, `"aws:ec2/natGateway:NatGateway"`,
		},
		"vpc with a block that is none": {
			cloudsim.TypeVPC, func(network) props { return props{"cidrBlock": "10.0.0.1/16"} },
			"InvalidParameterValue", "Value (10.0.0.1/16) for parameter cidrBlock is invalid",
		},
		"vpc too large": {
			cloudsim.TypeVPC, func(network) props { return props{"cidrBlock": "10.0.0.0/15"} },
			"InvalidVpc.Range", "The CIDR '10.0.0.0/15' is invalid.",
		},
		"vpc too small": {
			cloudsim.TypeVPC, func(network) props { return props{"cidrBlock": "10.0.0.0/29"} },
			"InvalidVpc.Range", "The CIDR '10.0.0.0/29' is invalid.",
		},
		"subnet without vpc": {
			cloudsim.TypeSubnet, func(network) props { return props{"vpcId": "vpc-0", "cidrBlock": "10.0.32.0/20"} },
			"InvalidVpcID.NotFound", "The vpc ID 'vpc-0' does not exist",
		},
		"subnet outside of its vpc": {
			cloudsim.TypeSubnet, func(n network) props { return props{"vpcId": n.vpc.ID, "cidrBlock": "10.1.0.0/20"} },
			"InvalidSubnet.Range", "The CIDR '10.1.0.0/20' is invalid.",
		},
		"subnet larger than its vpc": {
			cloudsim.TypeSubnet, func(n network) props { return props{"vpcId": n.vpc.ID, "cidrBlock": "10.0.0.0/8"} },
			"InvalidSubnet.Range", "The CIDR '10.0.0.0/8' is invalid.",
		},
		"subnets that overlap": {
			cloudsim.TypeSubnet, func(n network) props { return props{"vpcId": n.vpc.ID, "cidrBlock": "10.0.8.0/21"} },
			"InvalidSubnet.Conflict", "The CIDR '10.0.8.0/21' conflicts with another subnet",
		},
		"subnet in a zone of another region": {
			cloudsim.TypeSubnet, func(n network) props {
				return props{"vpcId": n.vpc.ID, "cidrBlock": "10.0.32.0/20", "availabilityZone": "eu-west-1a"}
			},
			"InvalidParameterValue", "availability zones: us-east-1a, us-east-1b, us-east-1c.",
		},
		"security group twice in a vpc": {
			cloudsim.TypeSecurityGroup, func(n network) props { return props{"vpcId": n.vpc.ID, "name": "acme-t1-db"} },
			"InvalidGroup.Duplicate", "The security group 'acme-t1-db' already exists for VPC 'vpc-",
		},
		"security group named like an id": {
			cloudsim.TypeSecurityGroup, func(n network) props { return props{"vpcId": n.vpc.ID, "name": "sg-acme"} },
			"InvalidParameterValue", "sg-*",
		},
		"security group with a long name": {
			cloudsim.TypeSecurityGroup, func(n network) props { return props{"vpcId": n.vpc.ID, "name": strings.Repeat("a", 256)} },
			"InvalidParameterValue", "GroupName is invalid",
		},
		"security group without vpc": {
			cloudsim.TypeSecurityGroup, func(network) props { return props{"vpcId": "vpc-0", "name": "x"} },
			"InvalidVpcID.NotFound", "vpc-0",
		},
		"security group that admits one that is not there": {
			cloudsim.TypeSecurityGroup, func(n network) props {
				return props{"vpcId": n.vpc.ID, "name": "x", "ingress": []any{props{"securityGroups": []any{"sg-0"}}}}
			},
			"InvalidGroup.NotFound", "The security group 'sg-0' does not exist",
		},
		"key with a short waiting period": {
			cloudsim.TypeKey, func(network) props { return props{"deletionWindowInDays": 6} },
			"ValidationException", "Value '6' at 'pendingWindowInDays'",
		},
		"alias without prefix": {
			cloudsim.TypeAlias, func(n network) props { return props{"name": "acme", "targetKeyId": n.key.ID} },
			"ValidationException", "'acme' at 'aliasName'",
		},
		"alias of amazon": {
			cloudsim.TypeAlias, func(n network) props { return props{"name": "alias/aws/rds", "targetKeyId": n.key.ID} },
			"NotAuthorizedException", "reserved",
		},
		"alias of a key that is not there": {
			cloudsim.TypeAlias, func(network) props { return props{"name": "alias/acme", "targetKeyId": "0"} },
			"NotFoundException", "Key '0' does not exist",
		},
		"subnet group in one zone": {
			cloudsim.TypeSubnetGroup, func(n network) props { return props{"name": "one", "subnetIds": []any{n.a.ID}} },
			"DBSubnetGroupDoesNotCoverEnoughAZs", "Current AZ coverage: us-east-1a. Add subnets to cover at least 2 AZs.",
		},
		"subnet group twice, whatever its case": {
			cloudsim.TypeSubnetGroup, func(n network) props { return props{"name": "ACME-T1", "subnetIds": []any{n.a.ID, n.b.ID}} },
			"DBSubnetGroupAlreadyExists", "already exists.",
		},
		"subnet group with a subnet that is not there": {
			cloudsim.TypeSubnetGroup, func(n network) props { return props{"name": "x", "subnetIds": []any{n.a.ID, "subnet-0"}} },
			"InvalidSubnet", "subnet-0",
		},
		"subnet group named default": {
			cloudsim.TypeSubnetGroup, func(n network) props { return props{"name": "default", "subnetIds": []any{n.a.ID, n.b.ID}} },
			"InvalidParameterValue", "default",
		},
		"instance with a long identifier": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"identifier": strings.Repeat("a", 64)}) },
			"InvalidParameterValue", "DBInstanceIdentifier is not a valid identifier",
		},
		"instance with two hyphens": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"identifier": "acme--t1"}) },
			"InvalidParameterValue", "two consecutive hyphens",
		},
		"instance with a digit first": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"identifier": "1acme"}) },
			"InvalidParameterValue", "must begin with a letter",
		},
		"instance with too little storage": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"allocatedStorage": 19}) },
			"InvalidParameterCombination", "Invalid storage size for engine name postgres and storage type gp3: 19",
		},
		"instance of a version that is not offered": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"engineVersion": "19"}) },
			"InvalidParameterCombination", "Cannot find version 19 for postgres",
		},
		"instance of a version that is no longer offered": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"engineVersion": "12.9"}) },
			"InvalidParameterCombination", "Cannot find version 12.9 for postgres",
		},
		"instance of a version that is none": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"engineVersion": "latest"}) },
			"InvalidParameterCombination", "Cannot find version latest for postgres",
		},
		"instance with two passwords": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"password": "x"}) },
			"InvalidParameterCombination", "ManageMasterUserPassword is enabled",
		},
		"instance without a password": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"manageMasterUserPassword": nil}) },
			"InvalidParameterValue", "MasterUserPassword must be provided",
		},
		"instance with a reserved user": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"username": "admin"}) },
			"InvalidParameterValue", "MasterUsername admin cannot be used",
		},
		"instance with too many backups": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"backupRetentionPeriod": 36}) },
			"InvalidParameterValue", "Invalid backup retention period: 36",
		},
		"instance with a key that is not there": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"kmsKeyId": "arn:aws:kms:us-east-1:0:key/0"}) },
			"KMSKeyNotAccessibleFault", "The specified KMS key [arn:aws:kms:us-east-1:0:key/0] does not exist",
		},
		"instance in a subnet group that is not there": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"dbSubnetGroupName": "none"}) },
			"DBSubnetGroupNotFoundFault", "DB subnet group 'none' does not exist.",
		},
		"instance with a security group that is not there": {
			cloudsim.TypeInstance, func(n network) props { return n.instance(props{"vpcSecurityGroupIds": []any{"sg-0"}}) },
			"InvalidParameterValue", "Invalid security group , groupId= sg-0",
		},
		"queue with a bad name": {
			cloudsim.TypeQueue, func(network) props { return props{"name": "a b"} },
			"InvalidParameterValue", "alphanumeric",
		},
		"queue that redrives to nowhere": {
			cloudsim.TypeQueue, func(network) props {
				return props{"name": "q", "redrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:us-east-1:0:dlq","maxReceiveCount":3}`}
			},
			"InvalidParameterValue", "Dead letter target does not exist.",
		},
		"table with a short name": {
			cloudsim.TypeTable, func(network) props { return props{"name": "ab"} },
			"ValidationException", "between 3 and 255",
		},
		"bucket with capitals": {
			cloudsim.TypeBucket, func(network) props { return props{"bucket": "Acme"} },
			"InvalidBucketName", "not valid",
		},
		"versioning of a bucket that is not there": {
			cloudsim.TypeVersioning, func(network) props { return props{"bucket": "none"} },
			"NoSuchBucket", "does not exist",
		},
		"topic with a bad name": {
			cloudsim.TypeTopic, func(network) props { return props{"name": "a.b"} },
			"InvalidParameter", "Topic Name",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			a := newAccount(t, instant())
			n := a.network()

			_, err := a.create(tc.typ, tc.inputs(n))
			refused(t, err, tc.code, tc.text)
		})
	}
}

func TestNamesAreUnique(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.network()

	for typ, tc := range map[string]struct {
		inputs props
		code   string
	}{
		cloudsim.TypeInstance: {n.instance(nil), "DBInstanceAlreadyExists"},
		cloudsim.TypeAlias:    {props{"name": "alias/acme", "targetKeyId": n.key.ID}, "AlreadyExistsException"},
		cloudsim.TypeQueue:    {props{"name": "acme"}, "QueueAlreadyExists"},
		cloudsim.TypeTable:    {props{"name": "acme"}, "ResourceInUseException"},
		cloudsim.TypeBucket:   {props{"bucket": "acme"}, "BucketAlreadyOwnedByYou"},
		cloudsim.TypeTopic:    {props{"name": "acme"}, "InvalidParameter"},
	} {
		a.must(typ, tc.inputs)

		_, err := a.create(typ, tc.inputs)
		refused(t, err, tc.code, "")
	}

	_, err := a.Create(t.Context(), cloudsim.Creation{Type: cloudsim.TypeQueue, Region: "eu-west-1", Inputs: props{"name": "acme"}})
	require.NoError(t, err, "a name is free in another region")

	_, err = a.Create(t.Context(), cloudsim.Creation{Type: cloudsim.TypeBucket, Region: "eu-west-1", Inputs: props{"bucket": "acme"}})
	refused(t, err, "BucketAlreadyOwnedByYou", "")
}

func TestWhatIsInUseStays(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.network()
	db := a.must(cloudsim.TypeInstance, n.instance(nil))

	refused(t, a.remove(n.vpc, nil), "DependencyViolation", "The vpc '"+n.vpc.ID+"' has dependencies and cannot be deleted.")
	refused(t, a.remove(n.a, nil), "DependencyViolation", "The subnet '"+n.a.ID+"' has dependencies and cannot be deleted.")
	refused(t, a.remove(n.sg, nil), "DependencyViolation", "resource "+n.sg.ID+" has a dependent object")
	refused(t, a.remove(n.group, nil), "InvalidDBSubnetGroupStateFault", "at least one database instance: acme-t1 is still using it.")

	require.NoError(t, a.remove(db, props{"skipFinalSnapshot": true}))

	for _, r := range []cloudsim.Resource{n.group, n.sg, n.a, n.b, n.vpc} {
		require.NoError(t, a.remove(r, nil), r.Type)
	}

	left, err := a.List(t.Context(), cloudsim.Filter{})
	require.NoError(t, err)
	require.Len(t, left, 1, "only the key is left")
}

func TestSecurityGroupThatAnotherAdmitsStays(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.network()
	other := a.must(cloudsim.TypeSecurityGroup, props{
		"vpcId": n.vpc.ID, "name": "other", "ingress": []any{props{"securityGroups": []any{n.sg.ID}}},
	})

	refused(t, a.remove(n.sg, nil), "DependencyViolation", "dependent object")
	require.NoError(t, a.remove(other, nil))
	require.NoError(t, a.remove(n.sg, nil))
}

func TestDatabaseIsDeletedOnPurposeOnly(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.network()
	db := a.must(cloudsim.TypeInstance, n.instance(props{"deletionProtection": true}))

	refused(t, a.remove(db, props{"skipFinalSnapshot": true}), "InvalidParameterCombination", "Cannot delete protected DB Instance")
	require.NoError(t, a.change(db, props{"deletionProtection": false}))

	refused(t, a.remove(db, nil), "InvalidParameterCombination", "FinalDBSnapshotIdentifier is required")
	refused(t, a.remove(db, props{"finalSnapshotIdentifier": "-x"}), "InvalidParameterValue", "FinalDBSnapshotIdentifier")
	require.NoError(t, a.remove(db, props{"finalSnapshotIdentifier": "Acme-Last"}))

	snapshots, err := a.List(t.Context(), cloudsim.Filter{Type: cloudsim.TypeSnapshot})
	require.NoError(t, err)
	require.Len(t, snapshots, 1)
	require.Equal(t, "acme-last", snapshots[0].ID)
	require.Equal(t, n.key.Outputs["arn"], snapshots[0].Inputs["kmsKeyId"])

	db = a.must(cloudsim.TypeInstance, n.instance(nil))
	refused(t, a.remove(db, props{"finalSnapshotIdentifier": "acme-last"}), "DBSnapshotAlreadyExists", "acme-last already exists.")
}

func TestChangeIsRefusedAsByAWS(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.network()
	db := a.must(cloudsim.TypeInstance, n.instance(props{"allocatedStorage": 100}))

	refused(t, a.change(n.vpc, props{"cidrBlock": "10.1.0.0/16"}), "OperationNotPermitted", "CIDR of a VPC")
	refused(t, a.change(n.a, props{"cidrBlock": "10.0.48.0/20"}), "OperationNotPermitted", "CIDR of a subnet")
	refused(t, a.change(db, props{"allocatedStorage": 50}), "InvalidParameterCombination", "can't reduce the storage size")
	require.NoError(t, a.change(db, props{"engineVersion": "17.2"}))
	require.NoError(t, a.change(db, props{"engineVersion": "17.2", "backupRetentionPeriod": 3}))
	refused(t, a.change(db, props{"engineVersion": "16"}), "InvalidParameterCombination", "Cannot upgrade postgres from 17.2 to 16")
	require.NoError(t, a.change(db, props{"engineVersion": "18"}))
	require.NoError(t, a.change(db, props{"allocatedStorage": 200}))
}

func TestInstanceAndItsSecurityGroupAreOfOneVPC(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.network()
	vpc := a.must(cloudsim.TypeVPC, props{"cidrBlock": "10.9.0.0/16"})
	sg := a.must(cloudsim.TypeSecurityGroup, props{"vpcId": vpc.ID, "name": "elsewhere"})

	_, err := a.create(cloudsim.TypeInstance, n.instance(props{"vpcSecurityGroupIds": []any{sg.ID}}))
	refused(t, err, "InvalidParameterCombination", "The DB instance is in "+n.vpc.ID+" and the EC2 security group is in "+vpc.ID)

	subnet := a.must(cloudsim.TypeSubnet, props{"vpcId": vpc.ID, "cidrBlock": "10.9.0.0/20", "availabilityZone": "us-east-1b"})
	_, err = a.create(cloudsim.TypeSubnetGroup, props{"name": "mixed", "subnetIds": []any{n.a.ID, subnet.ID}})
	refused(t, err, "InvalidVPCNetworkStateFault", "more than one VPC")
}

func TestDeletedKeyWaits(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	n := a.network()

	require.NoError(t, a.remove(n.key, props{"deletionWindowInDays": 7}))
	refused(t, a.remove(n.key, nil), "KMSInvalidStateException", "is pending deletion.")

	_, err := a.create(cloudsim.TypeInstance, n.instance(nil))
	refused(t, err, "KMSKeyNotAccessibleFault", "")

	_, err = a.create(cloudsim.TypeAlias, props{"name": "alias/acme", "targetKeyId": n.key.ID})
	refused(t, err, "KMSInvalidStateException", "is pending deletion.")

	key, err := a.Get(t.Context(), cloudsim.TypeKey, region, n.key.ID)
	require.NoError(t, err)
	require.Equal(t, cloudsim.StatePendingDeletion, key.State)
	require.NotEmpty(t, key.Outputs["deletionDate"])

	listed, err := a.List(t.Context(), cloudsim.Filter{Type: cloudsim.TypeKey})
	require.NoError(t, err)
	require.Empty(t, listed)

	listed, err = a.List(t.Context(), cloudsim.Filter{Type: cloudsim.TypeKey, PendingDeletion: true})
	require.NoError(t, err)
	require.Len(t, listed, 1)
}

func TestProtectedTableStays(t *testing.T) {
	t.Parallel()

	a := newAccount(t, instant())
	table := a.must(cloudsim.TypeTable, props{"name": "acme", "deletionProtectionEnabled": true})

	refused(t, a.remove(table, nil), "ValidationException", "protected against deletion")
	require.NoError(t, a.change(table, props{"deletionProtectionEnabled": false}))
	require.NoError(t, a.remove(table, nil))

	_, err := a.Get(t.Context(), cloudsim.TypeTable, region, "acme")
	require.True(t, cloudsim.IsNotFound(err))
}

func TestQuota(t *testing.T) {
	t.Parallel()

	opts := instant()
	opts.Quotas = map[string]int{cloudsim.TypeVPC: 1, cloudsim.TypeInstance: 0, cloudsim.TypeTopic: 0}
	a := newAccount(t, opts)
	n := a.network()

	_, err := a.create(cloudsim.TypeVPC, props{"cidrBlock": "10.1.0.0/16"})
	refused(t, err, "VpcLimitExceeded", "The maximum number of VPCs has been reached.")

	_, err = a.create(cloudsim.TypeInstance, n.instance(nil))
	refused(t, err, "InstanceQuotaExceeded", "Cannot create more than 0 DB instances")

	_, err = a.create(cloudsim.TypeTopic, props{"name": "x"})
	refused(t, err, "LimitExceededException", "limit of 0")
}
