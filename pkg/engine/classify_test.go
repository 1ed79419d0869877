package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Messages in the form that the AWS provider 6.83 and the CLI 3.274 give them.
const (
	vpcLimit = "sdk-v2/provider2.go:515: sdk.helper_schema: creating EC2 VPC: operation error EC2: CreateVpc, https response error " +
		"StatusCode: 400, RequestID: 0f4a1e0e-1, api error VpcLimitExceeded: " +
		"The maximum number of VPCs has been reached.: provider=aws@6.83.4"
	locked = "error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock file " +
		"with `pulumi cancel`.\n" +
		"  s3://b/.pulumi/locks/organization/lessor/acme/5f.json: created by ann@desk (pid 7) at 2026-01-02T03:04:05Z\n"
	deniedDB = "1 error occurred:\n\t* creating RDS DB Instance (acme-t1-db): operation error RDS: CreateDBInstance, " +
		"https response error " +
		"StatusCode: 403, RequestID: 9b, api error AccessDenied: User: arn:aws:sts::1:assumed-role/lessor is not authorized to perform: " +
		"rds:CreateDBInstance\n\n"
	awsPrefix = "operation error EC2: X, https response error StatusCode: 400, RequestID: 1, api error "
)

func TestKindsOfFailures(t *testing.T) {
	t.Parallel()

	cases := []struct {
		message string
		kind    tenant.Kind
	}{
		{message: vpcLimit, kind: tenant.KindQuota},
		{message: deniedDB, kind: tenant.KindDenied},
		{message: awsPrefix + "AddressLimitExceeded: The maximum number of addresses has been reached.", kind: tenant.KindQuota},
		{message: awsPrefix + "InstanceQuotaExceeded: Request for DB instances exceeds your quota", kind: tenant.KindQuota},
		{message: awsPrefix + "LimitExceededException: Cannot exceed quota for KeysPerAccount", kind: tenant.KindQuota},
		{message: awsPrefix + "RequestLimitExceeded: Request limit exceeded.", kind: tenant.KindThrottled},
		{message: awsPrefix + "ThrottlingException: Rate exceeded", kind: tenant.KindThrottled},
		{message: awsPrefix + "TooManyRequestsException: slow down", kind: tenant.KindThrottled},
		{message: "Throttling: Rate exceeded\n\tstatus code: 400, request id: abc-1", kind: tenant.KindThrottled},
		{message: "exceeded maximum number of attempts, failed to get rate limit token, retry quota exceeded", kind: tenant.KindThrottled},
		{message: awsPrefix + "UnauthorizedOperation: You are not authorized to perform this operation.", kind: tenant.KindDenied},
		{message: awsPrefix + "InvalidClientTokenId: The security token included in the request is invalid", kind: tenant.KindDenied},
		{message: "No valid credential sources found. Please see the docs", kind: tenant.KindDenied},
		{message: awsPrefix + "ExpiredToken: The security token included in the request is expired", kind: tenant.KindTransient},
		{message: awsPrefix + "DependencyViolation: The vpc 'vpc-1' has dependencies and cannot be deleted.", kind: tenant.KindTransient},
		{message: awsPrefix + "InvalidDBInstanceState: Instance is currently being modified", kind: tenant.KindTransient},
		{message: awsPrefix + "InsufficientDBInstanceCapacity: no capacity in us-east-1b", kind: tenant.KindTransient},
		{message: awsPrefix + "InternalFailure: try again", kind: tenant.KindTransient},
		{message: awsPrefix + "ServiceUnavailable: Service is unable to handle request.", kind: tenant.KindTransient},
		{message: "dial tcp: lookup ec2.us-east-1.amazonaws.com: no such host", kind: tenant.KindTransient},
		{message: "Post \"https://rds.amazonaws.com/\": read: connection reset by peer", kind: tenant.KindTransient},
		{message: "https response error StatusCode: 503, RequestID: 1", kind: tenant.KindTransient},
		{message: "waiting for RDS DB Instance create: timeout while waiting for state to become 'available'", kind: tenant.KindTransient},
		{message: awsPrefix + "InvalidParameterValue: Invalid DB engine version", kind: tenant.KindInvalid},
		{message: awsPrefix + "InvalidParameterCombination: RDS does not support that", kind: tenant.KindInvalid},
		{message: awsPrefix + "DBSubnetGroupDoesNotCoverEnoughAZs: needs two", kind: tenant.KindInvalid},
		{message: awsPrefix + "ValidationException: bad", kind: tenant.KindInvalid},
		{message: awsPrefix + "MalformedPolicyDocument: bad", kind: tenant.KindInvalid},
		{message: "aws:rds/instance:Instance resource 'db' has a problem: Missing required argument", kind: tenant.KindInvalid},
		{message: awsPrefix + "EntityAlreadyExists: Role with name x already exists.", kind: tenant.KindUnknown},
		{message: awsPrefix + "DBInstanceAlreadyExists: DB instance already exists", kind: tenant.KindUnknown},
		{message: awsPrefix + "InvalidGroup.Duplicate: The security group already exists", kind: tenant.KindUnknown},
		{message: "Cannot delete protected DB Instance, please disable deletion protection and try again.", kind: tenant.KindUnknown},
		{message: "resource \"urn:…\" cannot be deleted\nbecause it is protected. To unprotect the resource", kind: tenant.KindUnknown},
		{message: "could not load plugin for aws provider: no resource plugin 'pulumi-resource-aws' found", kind: tenant.KindInvalid},
		{message: "fork/exec: cannot allocate memory", kind: tenant.KindMemory},
		{message: "something nobody has seen before", kind: tenant.KindUnknown},
	}

	for _, test := range cases {
		t.Run(test.message, func(t *testing.T) {
			t.Parallel()

			failure := engine.Classify([]string{"update failed", test.message}, "", "")
			require.Equal(t, test.kind, failure.Kind, failure.Message)
			require.NotEmpty(t, failure.Hint)
			require.NotContains(t, failure.Message, "\n")
			require.Equal(t, "aws:ec2/vpc:Vpc t1-vpc", failure.Resource)
		})
	}
}

func TestKindsOfTheCLIsOwnErrors(t *testing.T) {
	t.Parallel()

	cases := []struct {
		stderr   string
		kind     tenant.Kind
		contains string
	}{
		{stderr: locked, kind: tenant.KindLocked, contains: "created by ann@desk (pid 7)"},
		{stderr: "error: passphrase must be set with PULUMI_CONFIG_PASSPHRASE or", kind: tenant.KindIntegrity, contains: "passphrase"},
		{stderr: "error: no stack named 'acme' found", kind: tenant.KindIntegrity, contains: "acme"},
		{stderr: "error: snapshot integrity failure; refusing to use it", kind: tenant.KindIntegrity, contains: "integrity"},
		{stderr: "error: 'acme' still has resources; removal rejected.", kind: tenant.KindIntegrity, contains: "still has"},
		{stderr: "error: refusing to proceed: the stack has 1 pending operation", kind: tenant.KindInterrupted, contains: "pending"},
		{stderr: "error: update canceled", kind: tenant.KindInterrupted, contains: "canceled"},
		{
			stderr:   "error: read \".pulumi/meta.yaml\": api error AccessDenied: no",
			kind:     tenant.KindDenied,
			contains: "AccessDenied",
		},
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

func TestMessagesAreFitToRead(t *testing.T) {
	t.Parallel()

	cases := []struct{ name, message, want string }{
		{
			name: "the provider's wrapping is taken off", message: vpcLimit,
			want: "creating EC2 VPC: operation error EC2: CreateVpc, https response error StatusCode: 400, " +
				"api error VpcLimitExceeded: The maximum number of VPCs has been reached.",
		},
		{name: "colours", message: "<{%reset%}>\x1b[31mred\x1b[0m<{%reset%}>\n", want: "red"},
		{name: "an access key", message: "key AKIAIOSFODNN7EXAMPLE is unknown", want: "key [secret] is unknown"},
		{name: "a URL with a password", message: "dial postgres://me:pa55@host/db", want: "dial postgres://[secret]@host/db"},
		{
			name: "an assignment", message: `bad masterPassword="hunter2", db_password: x1 token=abc`,
			want: `bad masterPassword=[secret], db_password: [secret] token=[secret]`,
		},
		{name: "prose stays", message: "ExpiredToken: The token expired", want: "ExpiredToken: The token expired"},
	}

	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, engine.Classify([]string{test.message}, "", "").Message)
		})
	}

	long := engine.Classify([]string{strings.Repeat("ä", 2000)}, "", "").Message
	require.Less(t, len(long), 700)
	require.True(t, strings.HasSuffix(long, "ä…"))
}

func TestTheErrorWithAKnownCauseCounts(t *testing.T) {
	t.Parallel()

	failure := engine.Classify([]string{"something odd", vpcLimit, deniedDB}, locked, "")
	require.Equal(t, tenant.KindQuota, failure.Kind)
}
