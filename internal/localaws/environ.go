package localaws

import (
	"maps"
	"os"
	"slices"
	"strings"
)

// Region is the region of everything that local mode itself makes.
const Region = "us-east-1"

// emulatorEndpoint is what the emulator puts before the paths of its queues,
// wherever it listens.
const emulatorEndpoint = "http://localhost:4566"

// awsVariables lead every client of this machine to the endpoint. They also
// shut out what would lead it elsewhere: profiles, files, sessions, roles, and
// the endpoints of single services, which beat AWS_ENDPOINT_URL.
func awsVariables(endpoint string) map[string]string {
	variables := map[string]string{
		"AWS_REGION":                  Region,
		"AWS_DEFAULT_REGION":          Region,
		"AWS_ENDPOINT_URL":            endpoint,
		"AWS_ACCESS_KEY_ID":           "local",
		"AWS_SECRET_ACCESS_KEY":       "local",
		"AWS_EC2_METADATA_DISABLED":   "true",
		"AWS_CONFIG_FILE":             os.DevNull,
		"AWS_SHARED_CREDENTIALS_FILE": os.DevNull,

		"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "false",
	}

	for _, name := range []string{
		"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_SESSION_TOKEN", "AWS_ROLE_ARN", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
		"AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_KMS",
		"AWS_ENDPOINT_URL_SNS", "AWS_ENDPOINT_URL_EVENTBRIDGE", "AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL_SECRETS_MANAGER",
		"AWS_ENDPOINT_URL_RESOURCE_GROUPS_TAGGING_API",
		"AWS_USE_FIPS_ENDPOINT", "AWS_USE_DUALSTACK_ENDPOINT",
	} {
		variables[name] = ""
	}

	return variables
}

// workerVariables are the worker's own.
func workerVariables(l layout, endpoint string, platform map[string]string) map[string]string {
	variables := map[string]string{
		"LESSOR_PULUMI":        l.pulumi,
		"LESSOR_PLUGIN_DIR":    l.plugins,
		"LESSOR_WORK_DIR":      l.work,
		"LESSOR_CATALOG":       l.catalog,
		"LESSOR_ADMIN_ADDRESS": "127.0.0.1:0",
	}

	for name, value := range platform {
		if path, found := strings.CutPrefix(value, emulatorEndpoint); found {
			value = endpoint + path
		}

		variables[name] = value
	}

	return variables
}

// list turns variables into the form of os.Environ, in order.
func list(variables ...map[string]string) []string {
	all := map[string]string{}
	for _, some := range variables {
		maps.Copy(all, some)
	}

	environ := make([]string, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		environ = append(environ, name+"="+all[name])
	}

	return environ
}
