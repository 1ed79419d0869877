package awsplugin

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// settings are what the plugin heeds of the provider's configuration. The rest
// (credentials, skip flags, the role to assume) is accepted: there are no
// credentials in local mode.
type settings struct {
	region      string
	maxRetries  int
	defaultTags map[string]string
	endpoint    string
}

// defaultRetries is what the real plugin does.
const defaultRetries = 25

func newSettings(props resource.PropertyMap, opts Options) (settings, error) {
	s := settings{maxRetries: defaultRetries, endpoint: opts.Endpoint}
	if s.endpoint == "" {
		return s, errNoEndpoint
	}

	if s.region = setting[string](props, "region"); s.region == "" {
		s.region = opts.Region
	}

	if s.region == "" {
		return s, fmt.Errorf("%w: the region is missing, set it on the provider or as AWS_REGION", errNotConfigured)
	}

	if n := setting[float64](props, "maxRetries"); n > 0 {
		s.maxRetries = int(n)
	}

	s.defaultTags = bag(setting[map[string]any](props, "defaultTags")).texts(tags)

	return s, nil
}

// setting reads one setting. The engine sends all but strings as JSON in a
// string.
func setting[T any](props resource.PropertyMap, name string) T {
	given := plain(props[resource.PropertyKey(name)])
	if value, ok := given.(T); ok {
		return value
	}

	var value, zero T

	if text, ok := given.(string); !ok || json.Unmarshal([]byte(text), &value) != nil {
		return zero
	}

	return value
}

// checkSettings finds settings that cannot be right.
func checkSettings(props resource.PropertyMap) []failure {
	var failures []failure

	region, ok := props["region"]
	if ok && bare(region).IsString() && bare(region).StringValue() == "" {
		failures = append(failures, failure{"region", "it must not be empty"})
	}

	if raw, ok := props["maxRetries"]; ok && bare(raw).IsString() {
		if n, err := strconv.Atoi(bare(raw).StringValue()); err != nil || n < 0 {
			failures = append(failures, failure{"maxRetries", "it must be a whole number that is not negative"})
		}
	}

	return failures
}
