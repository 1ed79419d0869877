package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// reported is an error in the words in which people reported it.
type reported struct {
	message string
	// hint is a part of the advice.
	hint string
}

// The forms are those of the provider with the AWS SDK v2 ("api error Code:",
// or the bare code of an error that the SDK has a type for), and with v1, which
// errors of some services still have ("Code: text, status code: 400").
const (
	v2    = "https response error StatusCode: 400, RequestID: 0f4a1e0e-7c9d-4a4e-9f10-1f5c2f3a9b11, "
	v2s3  = "https response error StatusCode: 409, RequestID: H3J1BTW5RWERJ7XP, HostID: qrp8J9Ak0arAw3nFQOVrm5+AuSGzWuS0FXIKgcFq8jkp0=, "
	v1    = "\n\tstatus code: 400, request id: 2d268ebb-f771-4475-aaa7-cecc9354438e"
	many  = "exceeded maximum number of attempts, 25, "
	tries = "exceeded maximum number of attempts, 3, "
)

func throttled() []reported {
	const hint = "lower LESSOR_PARALLEL"

	return []reported{
		{message: "Throttling: Rate exceeded" + v1},
		{message: "reading Auto Scaling Group: ThrottlingException: Rate exceeded status code: 400"},
		{message: "creating Lambda Function (x): operation error Lambda: CreateFunction, " + many + v2 +
			"TooManyRequestsException: Rate exceeded"},
		{message: "creating resource: operation error CloudControl: CreateResource, " + tries + v2 + "ThrottlingException:"},
		{message: "describing EC2 VPCs: operation error EC2: DescribeVpcs, " + many + v2 +
			"api error RequestLimitExceeded: Request limit exceeded."},
		{message: "RequestLimitExceeded: Request limit exceeded.\n\tstatus code: 503, request id: 1"},
		{message: "putting S3 Object: operation error S3: PutObject, " + v2s3 + "api error SlowDown: Please reduce your request rate."},
		{message: "operation error EC2: DescribeSubnets, failed to get rate limit token, retry quota exceeded, 0 available, 5 requested"},
		{message: "creating DynamoDB Table: operation error DynamoDB: CreateTable, " + v2 +
			"LimitExceededException: Subscriber limit exceeded: Only 10 tables can be created, updated, or deleted simultaneously"},
		{message: "operation error STS: AssumeRole, " + many + v2 + "api error Throttling: Rate exceeded", hint: hint},
	}
}

func quota() []reported {
	return []reported{
		{message: vpcLimit},
		{message: "Error creating EIP: AddressLimitExceeded: The maximum number of addresses has been reached." + v1},
		{message: "creating RDS DB Instance (x): operation error RDS: CreateDBInstance, " + v2 +
			"InstanceQuotaExceeded: DB Instance quota exceeded"},
		{message: "Error creating DB Instance: InstanceQuotaExceeded: DB Instance quota exceeded" + v1},
		{message: "creating KMS Key: operation error KMS: CreateKey, " + v2 + "LimitExceededException: Cannot exceed quota for KeysPerAccount"},
		{message: "creating IAM Role (x): operation error IAM: CreateRole, " + v2s3 +
			"LimitExceeded: Cannot exceed quota for RolesPerAccount: 1000"},
		{message: "creating ECS Service: operation error ECS: CreateService, " + v2 +
			"api error ServiceQuotaExceededException: The maximum number of tasks has been reached"},
		{message: "creating ELBv2 application Load Balancer (x): operation error Elastic Load Balancing v2: CreateLoadBalancer, " + v2 +
			"TooManyLoadBalancers: The maximum number of load balancers has been reached"},
		{message: "VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 32 allows" + v1},
		{message: "unexpected state 'Failed', wanted target 'Successful'. last error: You have requested more instances (1) than your " +
			"current instance limit of 0 allows for the specified instance type."},
		{message: "creating S3 Bucket (x): operation error S3: CreateBucket, " + v2s3 +
			"TooManyBuckets: You have attempted to create more buckets than allowed", hint: "raise the quota"},
	}
}

func denied() []reported {
	const credentials, key = "valid credentials", "the key is disabled"

	return []reported{
		{message: deniedDB},
		{message: "creating KMS Key: operation error KMS: CreateKey, " + v2 + "api error AccessDeniedException: User: " +
			"arn:aws:sts::1:assumed-role/lessor/s is not authorized to perform: kms:CreateKey on resource: * because no " +
			"identity-based policy allows the kms:CreateKey action", hint: "that the message names"},
		{message: "aws_kms_key.k: AccessDeniedException: User: arn:aws:iam::1:user/u is not authorized to perform: kms:TagResource on " +
			"resource: arn:aws:kms:us-west-2:1:key/0" + v1},
		{message: "Error creating VPC: UnauthorizedOperation: You are not authorized to perform this operation.\n\tstatus code: 403, " +
			"request id: 1"},
		{message: "creating EC2 Subnet: operation error EC2: CreateSubnet, https response error StatusCode: 403, RequestID: d7393c54, " +
			"api error UnauthorizedOperation: You are not authorized to perform this operation. Encoded authorization failure message: " +
			"p1EyykaD2fI3csh_sf_WvdHF_s5IYypR-3EcbaGMemY"},
		{message: "listing tags: operation error S3: GetBucketTagging, https response error StatusCode: 403, RequestID: 1, HostID: 2, " +
			"api error AccessDenied: Access Denied"},
		{message: "operation error ECS: CreateCluster, " + v2 + "api error AccessDeniedException: User: x is not authorized to perform: " +
			"ecs:CreateCluster with an explicit deny in a service control policy"},
		{message: "creating RDS DB Instance (x): operation error RDS: CreateDBInstance, " + v2 + "KMSKeyNotAccessibleFault: The specified " +
			"KMS key [arn:aws:kms:eu-west-1:1:key/2] does not exist, is not enabled or you do not have permissions to access it.", hint: key},
		{message: "creating KMS Alias: operation error KMS: CreateAlias, " + v2 +
			"KMSInvalidStateException: arn:aws:kms:eu-west-1:1:key/2 is pending deletion.", hint: key},
		{message: "operation error STS: GetCallerIdentity, https response error StatusCode: 403, RequestID: 1, api error " +
			"InvalidClientTokenId: The security token included in the request is invalid.", hint: credentials},
		{message: "AuthFailure: AWS was not able to validate the provided access credentials" + v1, hint: credentials},
		{message: "No valid credential sources found. Please see the documentation of the provider", hint: credentials},
		{message: "get identity: get credentials: failed to refresh cached credentials, no EC2 IMDS role found, operation error ec2imds: " +
			"GetMetadata, " + tries + "request send failed, Get \"http://169.254.169.254/latest/\": dial tcp: i/o timeout", hint: credentials},
	}
}

func conflict() []reported {
	const exists = "`enqueue orphans <tenant>`"

	return []reported{
		{message: "creating IAM Role (x): operation error IAM: CreateRole, " + v2s3 +
			"EntityAlreadyExists: Role with name x already exists.", hint: "aws:ec2/vpc:Vpc t1-vpc exists"},
		{message: "creating RDS Cluster (x): DBClusterAlreadyExistsFault: DB Cluster already exists" + v1, hint: exists},
		{message: "creating RDS DB Instance (x): operation error RDS: CreateDBInstance, " + v2 +
			"DBInstanceAlreadyExists: DB instance already exists", hint: exists},
		{message: "Error creating S3 bucket: BucketAlreadyOwnedByYou: Your previous request to create the named bucket succeeded and you " +
			"already own it.\n        status code: 409, request id: 5199A9EE359423CE, host id: V35r=", hint: exists},
		{message: "operation error S3: CreateBucket, " + v2s3 + "BucketAlreadyExists:", hint: exists},
		{message: "creating SQS Queue (x): operation error SQS: CreateQueue, " + v2 +
			"QueueNameExists: A queue already exists with the same name and a different value for attribute KmsMasterKeyId", hint: exists},
		{message: "creating SQS Queue (x): operation error SQS: CreateQueue, " + v2 + "QueueAlreadyExists: A queue already exists", hint: exists},
		{message: "creating DynamoDB Table (x): operation error DynamoDB: CreateTable, " + v2 +
			"ResourceInUseException: Table already exists: x", hint: exists},
		{message: "creating CloudWatch Logs Log Group (x): operation error CloudWatch Logs: CreateLogGroup, " + v2 +
			"ResourceAlreadyExistsException: The specified log group already exists", hint: exists},
		{message: "creating KMS Alias (alias/x): operation error KMS: CreateAlias, " + v2 +
			"AlreadyExistsException: An alias with the name arn:aws:kms:eu-west-1:1:alias/x already exists", hint: exists},
		{message: "creating ECS Service (x): operation error ECS: CreateService, " + v2 +
			"InvalidParameterException: Creation of service was not idempotent.", hint: exists},
		{message: "creating ELBv2 Listener Rule: operation error Elastic Load Balancing v2: CreateRule, " + v2 +
			"PriorityInUse: Priority '17' is currently in use", hint: exists},
		{message: "creating Security Group (x): operation error EC2: CreateSecurityGroup, " + v2 +
			"api error InvalidGroup.Duplicate: The security group 'x' already exists for VPC 'vpc-1'", hint: exists},
		{message: "deleting S3 Bucket (x): operation error S3: DeleteBucket, " + v2s3 +
			"api error BucketNotEmpty: The bucket you tried to delete is not empty", hint: "is not empty"},
	}
}

func passing() []reported {
	const expired, inUse, busy, young = "credentials expired", "still uses", "still at work on", "AWS does not know"

	return []reported{
		{message: "operation error STS: GetCallerIdentity, https response error StatusCode: 403, RequestID: 6d1b2715, api error " +
			"ExpiredToken: The security token included in the request is expired", hint: expired},
		{message: "waiting for EKS Cluster (x) create: ExpiredTokenException: The security token included in the request is expired\n\t" +
			"status code: 403, request id: a16bb54f", hint: expired},
		{message: "operation error EC2: DescribeVpcs, " + v2 + "api error RequestExpired: Request has expired.", hint: expired},
		{message: "error deleting EC2 VPC (vpc-0f997bdeff09da8b9): DependencyViolation: The vpc 'vpc-0f997bdeff09da8b9' has dependencies " +
			"and cannot be deleted." + v1, hint: inUse},
		{message: "deleting Security Group (sg-1): operation error EC2: DeleteSecurityGroup, " + v2 +
			"api error DependencyViolation: resource sg-1 has a dependent object", hint: inUse},
		{message: "detaching EC2 Internet Gateway: operation error EC2: DetachInternetGateway, " + v2 + "api error DependencyViolation: " +
			"Network vpc-1 has some mapped public address(es). Please unmap those public address(es) before detaching the gateway.", hint: inUse},
		{message: "deleting IAM Role (x): operation error IAM: DeleteRole, " + v2s3 +
			"DeleteConflict: Cannot delete entity, must detach all policies first.", hint: inUse},
		{message: "deleting ELBv2 Target Group: operation error Elastic Load Balancing v2: DeleteTargetGroup, " + v2 +
			"ResourceInUse: Target group 'arn' is currently in use by a listener or a rule", hint: inUse},
		{message: "deleting ECS Cluster (x): ClusterContainsServicesException: The Cluster cannot be deleted while Services are " +
			"active." + v1, hint: inUse},
		{message: "error creating DynamoDB Table: ResourceInUseException: Attempt to change a resource which is still in use: Table is " +
			"being created: x" + v1, hint: busy},
		{message: "updating RDS DB Instance (x): operation error RDS: ModifyDBInstance, " + v2 +
			"InvalidDBInstanceStateFault: Database instance is not in available state.", hint: busy},
		{message: "rebooting RDS Cluster Instance: InvalidDBInstanceState: Instance cannot currently reboot due to an in-progress " +
			"management operation." + v1, hint: busy},
		{message: "putting S3 Bucket (x) Policy: operation error S3: PutBucketPolicy, " + many + v2s3 + "api error OperationAborted: A " +
			"conflicting conditional operation is currently in progress against this resource. Please try again.", hint: busy},
		{message: "Error creating SQS queue: AWS.SimpleQueueService.QueueDeletedRecently: You must wait 60 seconds after deleting a queue " +
			"before you can create another with the same name." + v1, hint: busy},
		{message: "creating Secrets Manager Secret: operation error Secrets Manager: CreateSecret, " + v2 +
			"InvalidParameterException: The cluster is in the process of being deleted", hint: busy},
		{
			message: "updating ECS Service: operation error ECS: UpdateService, " + v2 + "ServiceNotActiveException: Service was not ACTIVE.",
			hint:    busy,
		},
		{
			message: "Error authorizing security group ingress: InvalidGroup.NotFound: The security group 'sg-e2c03399' does not exist" + v1,
			hint:    young,
		},
		{
			message: "operation error EC2: CreateTags, " + v2 + "api error InvalidSubnetID.NotFound: The subnet ID 'subnet-632d513b' does not exist",
			hint:    young,
		},
		{message: "error updating Security Group (sg-xxx): couldn't find resource (21 retries)", hint: young},
		{message: "InvalidParameterException: Unable to assume the service linked role. Please verify that the ECS service linked role " +
			"exists." + v1, hint: young},
		{message: "InvalidParameterException: Unable to assume role and validate the listeners configured on your load balancer. Please " +
			"verify the role being passed has the proper permissions.\n  status code: 400, request id: 1", hint: young},
		{
			message: "putting KMS Key Policy: operation error KMS: PutKeyPolicy, " + v2 +
				"MalformedPolicyDocumentException: Policy contains a statement with one or more invalid principals. Invalid principal in policy",
			hint: young,
		},
		{
			message: "Error creating DB Instance: InsufficientDBInstanceCapacity: The requested DB instance class is not available" + v1,
			hint:    "no capacity",
		},
		{message: "operation error RDS: CreateDBInstance, https response error StatusCode: 500, RequestID: 1, api error InternalFailure: try"},
		{message: "https response error StatusCode: 503, RequestID: 1, api error ServiceUnavailable: Service is unable to handle request."},
		{message: "aws_db_instance.db: unexpected state 'storage-optimization', wanted target 'available'. last error: %!s(<nil>)"},
		{message: "waiting for SQS Queue (https://sqs.us-east-1.amazonaws.com/0/x) attributes create: timeout while waiting for state to " +
			"become 'equal' (last state: 'notequal', timeout: 2m0s)", hint: "the service's health"},
	}
}

func network() []reported {
	return []reported{
		{message: "error listing tags for ACM Certificate: RequestError: send request failed\ncaused by: Post " +
			"\"https://acm.eu-west-1.amazonaws.com/\": read tcp 10.10.4.69:34550->54.239.33.223:443: read: connection reset by peer"},
		{message: "error calling sts:GetCallerIdentity: RequestError: send request failed\ncaused by: Post https://sts.amazonaws.com/: " +
			"net/http: TLS handshake timeout"},
		{message: "operation error EC2: DescribeVpcs, " + many + "https response error StatusCode: 0, RequestID: , request send failed, " +
			"Post \"https://ec2.us-east-1.amazonaws.com/\": dial tcp: lookup ec2.us-east-1.amazonaws.com: no such host"},
		{message: "max retry attempts exhausted, max 25: dial tcp 10.0.0.1:443: i/o timeout"},
		{message: "read .pulumi/stacks/lessor/acme.json: unexpected EOF"},
		{message: "an unhandled error occurred: program failed: 1 error occurred:\n\t* EOF\n\n", hint: "could not reach AWS"},
	}
}

func crashed() []reported {
	return []reported{
		{message: "error reading from server: EOF"},
		{message: "rpc error: code = Unavailable desc = error reading from server: EOF:\n\n    Stack trace from the plugin:\n\n    panic: " +
			"runtime error: invalid memory address or nil pointer dereference"},
		{message: "invocation of aws:iam/getPolicyDocument:getPolicyDocument returned an error: transport is closing"},
		{message: "Detected that /plugins/resource-aws-v6.83.4/pulumi-resource-aws exited prematurely. \nThis is *always* a bug in the " +
			"provider."},
		{message: "could not read plugin [/plugins/resource-aws-v6.83.4/pulumi-resource-aws] stdout: EOF", hint: "plugin ended by itself"},
	}
}

func invalid() []reported {
	return []reported{
		// The state would say that it passes.
		{message: "waiting for EC2 VPC Peering Connection (pcx-0a1b2c3d) create: unexpected state 'failed', " +
			"wanted target 'active, pending-acceptance'. last error: Failed due to incorrect VPC-ID, Account ID, or overlapping CIDR range"},
		{message: "creating RDS DB Instance (x): operation error RDS: CreateDBInstance, " + v2 +
			"api error InvalidParameterValue: Invalid DB engine version 9.9"},
		{message: "InvalidParameterCombination: The DB instance and EC2 security group are in different VPCs. The DB instance is in " +
			"vpc-a2ec88da and the EC2 security group is in vpc-09361bb68df47b93d" + v1},
		{message: "Error authorizing security group ingress: InvalidParameterValue: VPC DB Security Groups cannot be modified with this " +
			"API version.  Please use an API version between 2012-01-15 and 2012-10-31 to modify this group." + v1},
		{message: "creating RDS DB Subnet Group (x): operation error RDS: CreateDBSubnetGroup, " + v2 + "DBSubnetGroupDoesNotCoverEnoughAZs: " +
			"The DB subnet group doesn't meet Availability Zone (AZ) coverage requirement."},
		{message: "operation error DynamoDB: CreateTable, " + v2 + "api error ValidationException: One or more parameter values were invalid"},
		{message: "operation error IAM: CreateRole, " + v2 + "MalformedPolicyDocument: Syntax errors in policy."},
		{message: "creating EC2 VPC: operation error EC2: CreateVpc, " + v2 + "api error InvalidVpc.Range: The CIDR '10.0.0.0/8' is invalid."},
		{message: "aws:rds/instance:Instance resource 'db' has a problem: Missing required argument. The argument \"instance_class\" is " +
			"required", hint: "send an event"},
	}
}

func unknown() []reported {
	const protected = "is protected"

	return []reported{
		{message: "error deleting DB Instance (x): InvalidParameterCombination: Cannot delete protected DB Instance, please disable deletion " +
			"protection and try again." + v1, hint: protected},
		{message: "deleting ELBv2 Load Balancer: operation error Elastic Load Balancing v2: DeleteLoadBalancer, " + v2 +
			"OperationNotPermitted: Load balancer 'arn' cannot be deleted because deletion protection is enabled", hint: protected},
		{message: "deleting DynamoDB Table: operation error DynamoDB: DeleteTable, " + v2 + "api error ValidationException: Resource cannot " +
			"be deleted as it is currently protected against deletion. Disable deletion protection first.", hint: protected},
		{message: "resource \"urn:pulumi:acme::lessor::aws:ec2/vpc:Vpc::t1-vpc\" cannot be deleted\nbecause it is protected. To unprotect " +
			"the resource, either remove the `protect` flag", hint: protected},
		{message: "unable to replace resource \"urn:pulumi:acme::lessor::aws:rds/instance:Instance::t1-db\"\nas it is currently marked for " +
			"protection. To unprotect the resource", hint: protected},
		{message: "could not load plugin for aws provider 'urn': no resource plugin 'pulumi-resource-aws' found in the workspace at version " +
			"v6.83.4", hint: "LESSOR_PLUGIN_DIR"},
		{message: "something nobody has seen before", hint: "read the message"},
	}
}

// TestKindsOfRealErrors judges what the AWS provider said to people.
func TestKindsOfRealErrors(t *testing.T) {
	t.Parallel()

	groups := []struct {
		name   string
		kind   tenant.Kind
		errors []reported
	}{
		{name: "throttled", kind: tenant.KindThrottled, errors: throttled()},
		{name: "quota", kind: tenant.KindQuota, errors: quota()},
		{name: "denied", kind: tenant.KindDenied, errors: denied()},
		{name: "conflict", kind: tenant.KindConflict, errors: conflict()},
		{name: "transient", kind: tenant.KindTransient, errors: passing()},
		{name: "network", kind: tenant.KindTransient, errors: network()},
		{name: "crashed", kind: tenant.KindTransient, errors: crashed()},
		{name: "invalid", kind: tenant.KindInvalid, errors: invalid()},
		{name: "unknown", kind: tenant.KindUnknown, errors: unknown()},
		{name: "memory", kind: tenant.KindMemory, errors: []reported{
			{message: "fork/exec /plugins/pulumi-resource-aws: cannot allocate memory"},
			{message: "fatal error: runtime: out of memory", hint: "LESSOR_OPERATION_MEMORY"},
		}},
	}

	for _, group := range groups {
		for _, test := range group.errors {
			t.Run(group.name+" "+test.message, func(t *testing.T) {
				t.Parallel()

				// The provider wraps errors, and Pulumi sums them up.
				wrapped := "sdk-v2/provider2.go:515: sdk.helper_schema: " + test.message + ": provider=aws@6.83.4"

				for _, message := range []string{test.message, wrapped, "1 error occurred:\n\t* " + test.message + "\n\n"} {
					failure := engine.Classify([]string{"update failed", message, "1 error occurred:"}, "", "")
					require.Equal(t, group.kind, failure.Kind, message)
					require.Contains(t, failure.Hint, test.hint, message)
					require.NotEmpty(t, failure.Hint)
					require.NotContains(t, failure.Hint, "{")
					require.NotContains(t, failure.Message, "\n")
					require.Equal(t, "aws:ec2/vpc:Vpc t1-vpc", failure.Resource)
				}
			})
		}
	}
}

// TestKindsOfTheCLIsOwnErrors judges what the CLI says before it sends events.
func TestKindsOfTheCLIsOwnErrors(t *testing.T) {
	t.Parallel()

	cases := []struct {
		stderr   string
		kind     tenant.Kind
		contains string
	}{
		{stderr: locked, kind: tenant.KindLocked, contains: "created by ann@desk (pid 7)"},
		{stderr: "error: [409] Conflict: Another update is currently in progress.", kind: tenant.KindLocked, contains: "Another update"},
		{stderr: "error: passphrase must be set with PULUMI_CONFIG_PASSPHRASE or", kind: tenant.KindIntegrity, contains: "passphrase"},
		{stderr: "error: getting secrets manager: incorrect passphrase", kind: tenant.KindIntegrity, contains: "incorrect"},
		{stderr: "error: no stack named 'acme' found", kind: tenant.KindIntegrity, contains: "acme"},
		{stderr: "error: snapshot integrity failure; refusing to use it", kind: tenant.KindIntegrity, contains: "refusing"},
		{
			stderr: "error: The Pulumi CLI encountered a snapshot integrity error. This is a bug!", kind: tenant.KindIntegrity,
			contains: "encountered",
		},
		{
			stderr: "error: could not deserialize deployment: snapshot integrity failure; refusing to use it: child resource " +
				"urn:pulumi:acme::lessor::aws:ec2/vpc:Vpc$aws:ec2/subnet:Subnet::t1-a refers to missing parent x",
			kind: tenant.KindIntegrity, contains: "deserialize",
		},
		{stderr: "error: 'acme' still has resources; removal rejected.", kind: tenant.KindIntegrity, contains: "still has"},
		{
			stderr: "error: the current deployment has 1 resource(s) with pending operations:", kind: tenant.KindInterrupted,
			contains: "pending",
		},
		{stderr: "error: update canceled", kind: tenant.KindInterrupted, contains: "canceled"},
		{stderr: "error: read \".pulumi/meta.yaml\": api error AccessDenied: no", kind: tenant.KindDenied, contains: "AccessDenied"},
		{stderr: "a line that is no error\n", kind: tenant.KindUnknown, contains: "ended with code 255"},
	}

	for _, test := range cases {
		t.Run(test.contains, func(t *testing.T) {
			t.Parallel()

			failure := engine.Classify(nil, test.stderr, "the CLI ended with code 255")
			require.Equal(t, test.kind, failure.Kind, failure.Message)
			require.Contains(t, failure.Message, test.contains)
			require.NotEmpty(t, failure.Hint)
		})
	}
}
