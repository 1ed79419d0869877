package awsplugin_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/awsplugin"
	"github.com/lessor-dev/lessor/pkg/inventory"
)

// The inventory has every type of the plugin in its table: of what is not there
// it would be unsure, since there is something unknown of every service.
func TestInventoryKnowsEveryType(t *testing.T) {
	t.Parallel()

	inputs := props{"name": "acme", "identifier": "acme", "bucket": "acme", "queueUrl": "acme", "tags": props{"Name": "acme"}}

	var everything []inventory.Resource
	for _, service := range []string{"ec2", "rds", "kms", "sqs", "sns", "s3", "dynamodb"} {
		everything = append(everything, inventory.Resource{ARN: "arn:aws:" + service + ":us-east-1:000000000000:x/x"})
	}

	for _, token := range awsplugin.Tokens() {
		_, verdict := inventory.Identify(inventory.Known{Type: token, Inputs: inputs}, everything)
		require.NotEqual(t, inventory.Unsure, verdict, token)
	}

	_, verdict := inventory.Identify(inventory.Known{Type: "aws:s3/unheard:Of", Inputs: inputs}, everything)
	require.Equal(t, inventory.Unsure, verdict)
}
