package main

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/platform"
)

type nothing struct{}

func (nothing) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	return args.Name, args.Inputs, nil
}

func (nothing) Call(pulumi.MockCallArgs) (resource.PropertyMap, error) {
	return resource.PropertyMap{}, nil
}

func read(t *testing.T, values map[string]string) (cfg platform.Config, err error) {
	t.Helper()

	set := func(info *pulumi.RunInfo) { info.Config = values }

	require.NoError(t, pulumi.RunErr(func(ctx *pulumi.Context) error {
		cfg, err = configuration(ctx)

		return nil
	}, pulumi.WithMocks("lessor-platform", "test", nothing{}), set))

	return cfg, err
}

func TestConfiguration(t *testing.T) {
	t.Parallel()

	cfg, err := read(t, map[string]string{
		"aws:region":                           "eu-west-1",
		"lessor-platform:name":                 "acme",
		"lessor-platform:stateBucketPrefix":    "acme-state",
		"lessor-platform:stateBuckets":         "4",
		"lessor-platform:retentionDays":        "60",
		"lessor-platform:maxReceiveCount":      "50",
		"lessor-platform:visibilityTimeout":    "90s",
		"lessor-platform:oldestMessage":        "6h",
		"lessor-platform:results":              "bus",
		"lessor-platform:oidcProviderArn":      "oidc",
		"lessor-platform:clusterArn":           "cluster",
		"lessor-platform:podIdentity":          "true",
		"lessor-platform:workerNamespace":      "fleet",
		"lessor-platform:workerServiceAccount": "worker",
		"lessor-platform:scalerNamespace":      "scale",
		"lessor-platform:scalerServiceAccount": "scaler",
		"lessor-platform:tierRoles":            `["a","b"]`,
		"lessor-platform:hookQueues":           `["q"]`,
		"lessor-platform:alarmActions":         `["t"]`,
		"lessor-platform:eventSources":         `["s"]`,
		"lessor-platform:tags":                 `{"team":"platform"}`,
		"lessor-platform:protect":              "true",
	})
	require.NoError(t, err)
	require.Equal(t, platform.Config{
		Name: "acme", Region: "eu-west-1", StateBucketPrefix: "acme-state", StateBuckets: 4, RetentionDays: 60, MaxReceiveCount: 50,
		VisibilityTimeout: 90 * time.Second, OldestMessage: 6 * time.Hour, Results: platform.ResultsBus,
		Cluster:   platform.Cluster{OIDCProviderARN: "oidc", ARN: "cluster", PodIdentity: true},
		Worker:    platform.ServiceAccount{Namespace: "fleet", Name: "worker"},
		Scaler:    platform.ServiceAccount{Namespace: "scale", Name: "scaler"},
		TierRoles: []string{"a", "b"}, HookQueues: []string{"q"}, AlarmActions: []string{"t"}, EventSources: []string{"s"},
		Tags: map[string]string{"team": "platform"}, Protect: true,
	}, cfg)
}

func TestConfigurationNamesWhatIsWrong(t *testing.T) {
	t.Parallel()

	_, err := read(t, map[string]string{
		"lessor-platform:stateBuckets":      "many",
		"lessor-platform:tierRoles":         "arn",
		"lessor-platform:visibilityTimeout": "2",
	})
	for _, name := range []string{"stateBuckets", "tierRoles", "visibilityTimeout"} {
		require.ErrorContains(t, err, "reading the configuration: "+name)
	}
}

// TestPulumiFile reads what Pulumi.yaml has as defaults.
func TestPulumiFile(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("../../Pulumi.yaml")
	require.NoError(t, err)

	values := map[string]string{}
	for _, found := range regexp.MustCompile(`(?m)^ {2}(\w+):\n {4}type: \w+\n {4}default: (\S+)$`).FindAllStringSubmatch(string(text), -1) {
		values["lessor-platform:"+found[1]] = found[2]
	}

	require.Len(t, values, 13)

	cfg, err := read(t, values)
	require.NoError(t, err)
	require.NoError(t, cfg.Validate())
	require.Equal(t, platform.Config{
		Name: "lessor", StateBuckets: 2, RetentionDays: 90, MaxReceiveCount: 100, VisibilityTimeout: 2 * time.Minute,
		OldestMessage: 4 * time.Hour, Results: platform.ResultsNone,
		Worker: platform.ServiceAccount{Namespace: "lessor", Name: "lessor"},
		Scaler: platform.ServiceAccount{Namespace: "keda", Name: "keda-operator"}, Protect: true,
	}, cfg)
}
