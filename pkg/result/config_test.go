package result_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/result"
)

func TestConfigValidate(t *testing.T) {
	t.Parallel()

	good := []string{
		"",
		"arn:aws:sns:eu-west-1:123456789012:results",
		"arn:aws-cn:sns:cn-north-1:123456789012:results",
		"arn:aws:events:eu-west-1:123456789012:event-bus/default",
		"arn:aws:sqs:eu-west-1:123456789012:results",
		"https://sqs.eu-west-1.amazonaws.com/123456789012/results",
		"http://127.0.0.1:4566/000000000000/results",
	}
	for _, target := range good {
		require.NoError(t, result.Config{Target: target}.Validate(), target)
	}

	bad := map[string]string{
		"results":              "names nothing",
		"arn:aws:s3:::results": "names nothing",
		"arn:aws:lambda:eu-west-1:123456789012:function:results":    "names nothing",
		"arn:aws:sns:eu-west-1:123456789012":                        "names nothing",
		"arn:aws:sns:eu-west-1:123456789012:":                       "names nothing",
		"arn:aws:sns::123456789012:results":                         "names nothing",
		"arn:aws:sns:eu-west-1::results":                            "names nothing",
		"arn:aws:sns:eu-west-1:123456789012:results:5be9-4a1b":      "names nothing",
		"arn:aws:sns:eu-west-1:123456789012:results.fifo":           "is FIFO, which is not supported",
		"arn:aws:events:eu-west-1:123456789012:rule/results":        "names nothing",
		"arn:aws:events:eu-west-1:123456789012:event-bus/":          "names nothing",
		"arn:aws:sqs:eu-west-1:123456789012:results.fifo":           "is FIFO, which is not supported",
		"https://sqs.eu-west-1.amazonaws.com/123456789012/r.fifo":   "is FIFO, which is not supported",
		"https://sqs.eu-west-1.amazonaws.com/":                      "names nothing",
		"https://sqs.eu-west-1.amazonaws.com":                       "names nothing",
		"https://sqs.eu-west-1.amazonaws.com/1/results?Action=Send": "names nothing",
		"ftp://example.com/1/results":                               "names nothing",
		"https://":                                                  "names nothing",
		strings.Repeat("x", 5000):                                   "names nothing",
	}
	for target, want := range bad {
		err := result.Config{Target: target}.Validate()
		require.ErrorIs(t, err, result.ErrTarget, target)
		require.ErrorContains(t, err, "LESSOR_RESULT_TARGET")
		require.ErrorContains(t, err, want)
		require.Less(t, len(err.Error()), 500)
	}
}

func TestConfigErrorsHideAPassword(t *testing.T) {
	t.Parallel()

	err := result.Config{Target: "https://user:hunter2@example.com/1/results"}.Validate()
	require.ErrorIs(t, err, result.ErrTarget)
	require.NotContains(t, err.Error(), "hunter2")
}
