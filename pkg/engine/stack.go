package engine

import (
	"net/url"
	"os"
	"strings"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// StackName is the name of a tenant's stack. Pulumi allows every tenant id, and
// so people find a tenant's state under the name they know.
func StackName(id tenant.ID) string { return id.String() }

// BackendURL is where the plain Pulumi CLI finds a stack's state. region is the
// bucket's, "" for the one of the environment.
func BackendURL(stack tenant.Stack, region string) string {
	return backendURL(stack, region, os.Getenv)
}

func backendURL(stack tenant.Stack, region string, getenv func(string) string) string {
	if region == "" {
		region = firstOf(getenv, "AWS_REGION", "AWS_DEFAULT_REGION")
	}

	query := url.Values{}

	if region != "" {
		query.Set("region", region)
	}

	// An endpoint that is not Amazon's seldom has a DNS name for each bucket,
	// and may not know the newer checksums.
	if endpoint := firstOf(getenv, "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"); endpoint != "" {
		query.Set("endpoint", endpoint)
		query.Set("use_path_style", "true")
		query.Set("response_checksum_validation", "when_required")

		if strings.HasPrefix(endpoint, "http://") {
			query.Set("disable_https", "true")
		}
	}

	u := url.URL{Scheme: "s3", Host: stack.Shard, RawQuery: query.Encode()}

	return u.String()
}

func firstOf(getenv func(string) string, names ...string) string {
	for _, name := range names {
		if value := getenv(name); value != "" {
			return value
		}
	}

	return ""
}
