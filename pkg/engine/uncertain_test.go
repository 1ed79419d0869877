package engine_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// A creation that AWS refused did not happen. One that nobody answered may have.
func TestUncertain(t *testing.T) {
	t.Parallel()

	const refused = "creating EC2 VPC: operation error EC2: CreateVpc, https response error StatusCode: 403, RequestID: 1, " +
		"api error UnauthorizedOperation: You are not authorized to perform this operation."

	for name, tt := range map[string]struct {
		messages []string
		want     bool
	}{
		"nothing":           {nil, false},
		"refused":           {[]string{refused, "update failed"}, false},
		"a quota":           {[]string{"api error VpcLimitExceeded: The maximum number of VPCs has been reached."}, false},
		"taken":             {[]string{"creating SQS Queue (acme): QueueAlreadyExists: A queue already exists with the same name"}, false},
		"throttled":         {[]string{"api error RequestLimitExceeded: Request limit exceeded."}, false},
		"the plugin died":   {[]string{"error reading from server: EOF"}, true},
		"the connection":    {[]string{"request send failed, Post \"https://ec2.eu-central-1.amazonaws.com/\": read: connection reset by peer"}, true},
		"one of two":        {[]string{refused, "error reading from server: EOF"}, true},
		"nobody knows what": {[]string{"something else"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			require.Equal(t, tt.want, engine.Uncertain(tt.messages))
		})
	}
}
