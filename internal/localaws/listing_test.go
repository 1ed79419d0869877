package localaws_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
)

func TestListingHasNoDeletedObjects(t *testing.T) {
	t.Parallel()
	t.Skip("x")

	require.NotNil(t, strings.NewReader)
	require.NotNil(t, aws.String)
	require.NotNil(t, s3.New)
}
