package enqueuecli

import (
	"context"
	"errors"
	"net"
	"strings"

	"github.com/aws/smithy-go"
)

const (
	hintNoAnswer = "no answer from AWS: check the network, AWS_REGION (or --aws-region) and AWS_ENDPOINT_URL"
	hintDenied   = "these credentials may not do that: check AWS_PROFILE (or --profile) and the policy of the role"
	hintLogin    = "log in again, or choose credentials with AWS_PROFILE (or --profile)"
	hintMissing  = "check LESSOR_TABLE (--table), LESSOR_QUEUE_URL (--queue-url) and AWS_REGION (--aws-region): " +
		"the name may be of another account or region"
)

// hintFor says what to do about a failure of an AWS call, or "".
func hintFor(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return hintForCode(api.ErrorCode())
	}

	if errors.Is(err, context.DeadlineExceeded) {
		return hintNoAnswer
	}

	if _, ok := errors.AsType[*net.OpError](err); ok {
		return hintNoAnswer
	}

	if strings.Contains(err.Error(), "credentials") {
		return hintLogin
	}

	return ""
}

func hintForCode(code string) string {
	switch {
	case strings.Contains(code, "AccessDenied"), code == "UnauthorizedOperation", code == "AuthorizationError":
		return hintDenied
	case strings.Contains(code, "ExpiredToken"), code == "UnrecognizedClientException", code == "InvalidClientTokenId",
		code == "InvalidSignatureException":
		return hintLogin
	case code == "ResourceNotFoundException", strings.Contains(code, "NonExistentQueue"), strings.Contains(code, "QueueDoesNotExist"):
		return hintMissing
	case strings.Contains(code, "Throttl"), code == "ProvisionedThroughputExceededException", code == "RequestLimitExceeded":
		return "AWS throttles this account: try again in a moment"
	}

	return ""
}
