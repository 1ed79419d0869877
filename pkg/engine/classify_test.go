package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
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
)

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
		{
			name:    "a refused value",
			message: "expected length of master_password to be in the range (8 - 128), got hunter2",
			want:    "expected length of master_password to be in the range (8 - 128), got [secret]",
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

// Of the errors of one operation the one is told that the others follow from,
// in whatever order they came.
func TestTheRootCauseIsTold(t *testing.T) {
	t.Parallel()

	// From the lightest to the heaviest.
	order := []struct {
		name    string
		message string
	}{
		{name: "no known cause", message: "something nobody has seen before"},
		{name: "cancelled", message: "operation error EC2: CreateVpc, canceled, context canceled"},
		{name: "passing", message: "DependencyViolation: The vpc 'vpc-1' has dependencies and cannot be deleted."},
		{name: "throttled", message: "ThrottlingException: Rate exceeded"},
		{name: "in the way", message: "EntityAlreadyExists: Role with name x already exists."},
		{name: "quota", message: vpcLimit},
		{name: "denied", message: deniedDB},
		{name: "expired", message: "ExpiredToken: The security token included in the request is expired\n\tstatus code: 403"},
		{name: "invalid", message: "expected engine_version to be one of [\"15\" \"16\"], got 9"},
		{name: "memory", message: "fork/exec: cannot allocate memory"},
		{name: "the stack", message: "snapshot integrity failure; refusing to use it"},
	}

	for i, heavy := range order {
		want := engine.Classify([]string{heavy.message}, "", "")

		for _, light := range order[:i] {
			t.Run(heavy.name+" and "+light.name, func(t *testing.T) {
				t.Parallel()

				require.Equal(t, want, engine.Classify([]string{"update failed", light.message, heavy.message}, "", ""))
				require.Equal(t, want, engine.Classify([]string{heavy.message, light.message, "1 error occurred:"}, "", ""))
			})
		}
	}
}

// Errors that weigh the same: the first, but one of a resource before others.
func TestTheFirstErrorIsTold(t *testing.T) {
	t.Parallel()

	timeout := "dial tcp 10.0.0.1:443: i/o timeout"
	refused := "dial tcp 10.0.0.1:443: connection refused"

	require.Contains(t, engine.Classify([]string{timeout, refused}, "", "").Message, "timeout")
	require.Contains(t, engine.Classify([]string{refused, timeout}, "", "").Message, "refused")

	failure := engine.Classify(nil, "error: "+timeout+"\nerror: deleting urn:pulumi:acme::lessor::aws:ec2/vpc:Vpc::t1-vpc: "+refused, "")
	require.Contains(t, failure.Message, "refused")
	require.Equal(t, "aws:ec2/vpc:Vpc t1-vpc", failure.Resource)

	require.Equal(t, "first odd", engine.Classify([]string{"first odd", "second odd"}, "", "").Message)
}

// Where only summaries are left, nobody knows more than how the CLI ended.
func TestSummariesAreNoCauses(t *testing.T) {
	t.Parallel()

	for _, summary := range []string{
		"update failed", "destroy failed", "1 error occurred:", "resource urn:pulumi:a::b::c::d failed",
		"program exited with non-zero exit code: 1", "<{%reset%}>refresh failed<{%reset%}>\n",
	} {
		require.Equal(t, "the end", engine.Classify([]string{summary}, "", "the end").Message, summary)
	}
}
