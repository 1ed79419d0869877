package platform_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/platform"
)

func TestProgramNamesBucketsAfterTheAccount(t *testing.T) {
	t.Parallel()

	r := deploy(t, platform.Config{Name: "acme"})
	require.Equal(t, "acme-state-123456789012-1", r.one(t, bucketType, "state-1")["bucket"])
}

func TestBucketsAreEncryptedUnderTheKey(t *testing.T) {
	t.Parallel()

	encryption := deploy(t, platform.Config{}).one(t,
		"aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2", "state-0")
	require.Equal(t, []any{map[string]any{
		"bucketKeyEnabled":                   true,
		"applyServerSideEncryptionByDefault": map[string]any{"sseAlgorithm": "aws:kms", "kmsMasterKeyId": arnOf("data")},
	}}, encryption["rules"])
}

func TestKeysHaveNames(t *testing.T) {
	t.Parallel()

	r := deploy(t, platform.Config{Name: "acme"})

	for _, key := range []string{"state", "data"} {
		alias := r.one(t, "aws:kms/alias:Alias", key)
		require.Equal(t, "alias/acme-"+key, alias["name"])
		require.Equal(t, "key-of-"+key, alias["targetKeyId"])
		require.Equal(t, true, r.one(t, keyType, key)["enableKeyRotation"])
	}
}

// What is no longer needed is archived, and gone in the end.
func TestLifecycleOfState(t *testing.T) {
	t.Parallel()

	lifecycle := deploy(t, platform.Config{RetentionDays: 45}).one(t,
		"aws:s3/bucketLifecycleConfigurationV2:BucketLifecycleConfigurationV2", "state-1")
	days := func(n float64) map[string]any { return map[string]any{"noncurrentDays": n} }

	require.Equal(t, []any{
		map[string]any{
			"id": "old-versions", "status": "Enabled", "filter": map[string]any{}, "noncurrentVersionExpiration": days(45),
			"expiration":                     map[string]any{"expiredObjectDeleteMarker": true},
			"abortIncompleteMultipartUpload": map[string]any{"daysAfterInitiation": 7.0},
		},
		map[string]any{
			"id": "archive", "status": "Enabled", "filter": map[string]any{"objectSizeGreaterThan": 131072.0},
			"noncurrentVersionTransitions": []any{map[string]any{"noncurrentDays": 30.0, "storageClass": "GLACIER_IR"}},
		},
		map[string]any{
			"id": "history", "status": "Enabled", "filter": map[string]any{"prefix": ".pulumi/history/"},
			"expiration": map[string]any{"days": 45.0}, "noncurrentVersionExpiration": days(1),
		},
		map[string]any{
			"id": "locks", "status": "Enabled", "filter": map[string]any{"prefix": ".pulumi/locks/"}, "noncurrentVersionExpiration": days(1),
		},
	}, lifecycle["rules"])
}

func TestAlarmsWatchTheQueues(t *testing.T) {
	t.Parallel()

	cfg := full()
	cfg.OldestMessage = 5 * time.Hour
	r := deploy(t, cfg)
	actions := []any{cfg.AlarmActions[0]}

	for name, want := range map[string]map[string]any{
		"dead-letters": {
			"metricName": "ApproximateNumberOfMessagesVisible", "dimensions": map[string]any{"QueueName": "lessor-dead-letters"}, "threshold": 0.0,
		},
		"oldest-message": {
			"metricName": "ApproximateAgeOfOldestMessage", "dimensions": map[string]any{"QueueName": "lessor-events"}, "threshold": 18000.0,
		},
	} {
		alarm := r.one(t, alarmType, name)
		require.Equal(t, "lessor-"+name, alarm["name"])
		require.Equal(t, "GreaterThanThreshold", alarm["comparisonOperator"])
		require.Equal(t, "Maximum", alarm["statistic"])
		require.Equal(t, "AWS/SQS", alarm["namespace"])
		require.Equal(t, "notBreaching", alarm["treatMissingData"])
		require.Equal(t, actions, alarm["alarmActions"])
		require.Equal(t, actions, alarm["okActions"])

		for property, value := range want {
			require.Equal(t, value, alarm[property], "%s of %s", property, name)
		}
	}
}

func TestResultsGoToATopicOrABus(t *testing.T) {
	t.Parallel()

	topic := deploy(t, platform.Config{Results: platform.ResultsTopic})
	require.Equal(t, arnOf("data"), topic.one(t, topicType, "results")["kmsMasterKeyId"])
	require.Empty(t, topic.declared[busType])

	bus := deploy(t, platform.Config{Results: platform.ResultsBus})
	require.Equal(t, "lessor-results", bus.one(t, busType, "results")["name"])
	require.Empty(t, bus.declared[topicType])
	require.Equal(t, arnOf("results"), bus.outputs[platform.OutputResultTarget])
}

func TestChartValues(t *testing.T) {
	t.Parallel()

	cfg := full()
	require.Equal(t, map[string]any{
		"aws":   map[string]any{"region": "eu-west-1", "identity": "irsa", "roleArn": roleOf("worker")},
		"queue": map[string]any{"url": urlOf("events"), "deadLetterUrl": urlOf("dead-letters"), "visibilityTimeout": "2m0s"},
		"state": map[string]any{
			"buckets": []string{"acme-state-0", "acme-state-1"}, "secretsProvider": "awskms:///key-of-state?region=eu-west-1",
		},
		"registry":       map[string]any{"table": "lessor-tenants"},
		"results":        map[string]any{"target": arnOf("results")},
		"serviceAccount": map[string]any{"create": true, "name": "lessor"},
	}, deploy(t, cfg).outputs[platform.OutputChartValues])

	cfg.Cluster.OIDCProviderARN = ""
	pods, ok := deploy(t, cfg).outputs[platform.OutputChartValues].(map[string]any)
	require.True(t, ok)
	require.Equal(t, map[string]any{"region": "eu-west-1", "identity": "podIdentity", "roleArn": roleOf("worker")}, pods["aws"])

	none, ok := deploy(t, platform.Config{}).outputs[platform.OutputChartValues].(map[string]any)
	require.True(t, ok)
	require.Equal(t, map[string]any{"region": "eu-west-1", "identity": "none"}, none["aws"])
	require.NotContains(t, none, "results")
}

// TestChartTakesItsValues gives the outputs to the chart's own schema, on top of
// its defaults, as helm does.
func TestChartTakesItsValues(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile("../../charts/lessor/values.schema.json")
	require.NoError(t, err)

	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)

	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("values.schema.json", document))

	schema, err := compiler.Compile("values.schema.json")
	require.NoError(t, err)

	defaults, err := os.ReadFile("../../charts/lessor/values.yaml")
	require.NoError(t, err)

	pods := full()
	pods.Cluster.OIDCProviderARN = ""

	for name, cfg := range map[string]platform.Config{"everything": full(), "pods": pods, "nothing": {}} {
		var values map[string]any
		require.NoError(t, yaml.Unmarshal(defaults, &values))

		ours, ok := deploy(t, cfg).outputs[platform.OutputChartValues].(map[string]any)
		require.True(t, ok)

		for section, some := range ours {
			into, ok := values[section].(map[string]any)
			require.True(t, ok, "the chart has no %s", section)

			given, ok := some.(map[string]any)
			require.True(t, ok)

			for key := range given {
				require.Contains(t, into, key, "the chart has no %s.%s", section, key)
			}

			maps.Copy(into, given)
		}

		encoded, err := json.Marshal(values)
		require.NoError(t, err)

		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(encoded))
		require.NoError(t, err)
		require.NoError(t, schema.Validate(instance), name)
	}
}
