package platform_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/infra/platform"
)

const (
	queueType  = "aws:sqs/queue:Queue"
	tableType  = "aws:dynamodb/table:Table"
	bucketType = "aws:s3/bucketV2:BucketV2"
	keyType    = "aws:kms/key:Key"
	topicType  = "aws:sns/topic:Topic"
	busType    = "aws:cloudwatch/eventBus:EventBus"
	alarmType  = "aws:cloudwatch/metricAlarm:MetricAlarm"
	owner      = "123456789012"
)

func roleOf(name string) string { return "arn:aws:iam::" + owner + ":role/" + name }

func urlOf(name string) string { return "https://sqs.eu-west-1.amazonaws.com/" + owner + "/" + name }

func arnOf(name string) string { return "arn:aws:x:eu-west-1:" + owner + ":" + name }

// recorder stands in for the engine and keeps what was declared.
type recorder struct {
	mu       sync.Mutex
	declared map[string]map[string]resource.PropertyMap
	provider []string
	// open are the types that a destroy would delete.
	open    map[string]bool
	outputs map[string]any
}

func (r *recorder) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	// Components have no provider: what is in them inherits it.
	if strings.HasPrefix(args.TypeToken, "aws:") {
		r.provider = append(r.provider, args.Provider)
	}

	if r.declared[args.TypeToken] == nil {
		r.declared[args.TypeToken] = map[string]resource.PropertyMap{}
	}

	r.declared[args.TypeToken][args.Name] = args.Inputs

	if !args.RegisterRPC.GetProtect() && args.TypeToken != "pulumi:providers:aws" {
		r.open[args.TypeToken] = true
	}

	state := maps.Clone(args.Inputs)
	state["arn"] = resource.NewStringProperty(arnOf(args.Name))

	if args.TypeToken == roleType {
		state["arn"] = resource.NewStringProperty(roleOf(args.Name))
	}

	state["url"] = resource.NewStringProperty(urlOf(args.Name))
	state["keyId"] = resource.NewStringProperty("key-of-" + args.Name)

	return args.Name + "-id", state, nil
}

func (r *recorder) Call(args pulumi.MockCallArgs) (resource.PropertyMap, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.provider = append(r.provider, args.Provider)

	return resource.NewPropertyMapFromMap(map[string]any{
		"accountId": owner, "arn": "arn:aws:sts::" + owner + ":assumed-role/admin/x",
	}), nil
}

func (r *recorder) one(t *testing.T, token, name string) map[string]any {
	t.Helper()
	require.Contains(t, r.declared[token], name)

	return r.declared[token][name].Mappable()
}

func deploy(t *testing.T, cfg platform.Config) *recorder {
	t.Helper()

	r := &recorder{declared: map[string]map[string]resource.PropertyMap{}, open: map[string]bool{}}
	run := func(ctx *pulumi.Context) error {
		outputs, err := platform.Deploy(ctx, cfg)
		if err != nil {
			return err
		}

		outputs.ToMapOutput().ApplyT(func(values map[string]any) error {
			r.mu.Lock()
			defer r.mu.Unlock()

			r.outputs = values

			return nil
		})

		return nil
	}

	require.NoError(t, pulumi.RunErr(run, pulumi.WithMocks("lessor-platform", "test", r)))

	return r
}

func TestProgramDeclaresQueuesWithRedrive(t *testing.T) {
	t.Parallel()

	r := deploy(t, platform.Config{StateBucketPrefix: "acme-state", VisibilityTimeout: 90 * time.Second})

	events := r.one(t, queueType, "events")
	require.Equal(t, "lessor-events", events["name"])
	require.InDelta(t, 90, events["visibilityTimeoutSeconds"], 0)
	require.InDelta(t, 20, events["receiveWaitTimeSeconds"], 0)
	require.Equal(t, arnOf("data"), events["kmsMasterKeyId"])

	var redrive struct {
		Target string `json:"deadLetterTargetArn"`
		Max    int    `json:"maxReceiveCount"`
	}

	policy, ok := events["redrivePolicy"].(string)
	require.True(t, ok)
	require.NoError(t, json.Unmarshal([]byte(policy), &redrive))
	require.Equal(t, arnOf("dead-letters"), redrive.Target)
	require.Equal(t, 100, redrive.Max)

	dead := r.one(t, queueType, "dead-letters")
	require.InDelta(t, (14 * 24 * time.Hour).Seconds(), dead["messageRetentionSeconds"], 0)
	require.Equal(t, arnOf("data"), dead["kmsMasterKeyId"])
	require.InDelta(t, 256<<10, dead["maxMessageSize"], 0, "what pulumi-aws v6 takes at most")
	require.InDelta(t, (256-16)<<10, events["maxMessageSize"], 0, "what comes in fits into the dead-letter queue with a reason")
	require.NotContains(t, dead, "redrivePolicy")
}

func TestProgramDeclaresTable(t *testing.T) {
	t.Parallel()

	table := deploy(t, platform.Config{StateBucketPrefix: "acme-state"}).one(t, tableType, "tenants")
	require.Equal(t, "lessor-tenants", table["name"])
	require.Equal(t, "PAY_PER_REQUEST", table["billingMode"])
	require.Equal(t, "pk", table["hashKey"])
	require.Equal(t, []any{map[string]any{"name": "pk", "type": "S"}}, table["attributes"])
	require.Equal(t, map[string]any{"enabled": true}, table["pointInTimeRecovery"])
	require.Equal(t, map[string]any{"enabled": true}, table["serverSideEncryption"])
}

func TestProgramDeclaresClosedVersionedBuckets(t *testing.T) {
	t.Parallel()

	r := deploy(t, platform.Config{StateBucketPrefix: "acme-state", StateBuckets: 3})
	names := []string{"state-0", "state-1", "state-2"}

	for _, token := range []string{
		bucketType,
		"aws:s3/bucketVersioningV2:BucketVersioningV2",
		"aws:s3/bucketServerSideEncryptionConfigurationV2:BucketServerSideEncryptionConfigurationV2",
		"aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock",
		"aws:s3/bucketLifecycleConfigurationV2:BucketLifecycleConfigurationV2",
		"aws:s3/bucketPolicy:BucketPolicy",
	} {
		require.Equal(t, names, slices.Sorted(maps.Keys(r.declared[token])), token)
	}

	require.Equal(t, "acme-state-2", r.one(t, bucketType, "state-2")["bucket"])

	versioning := r.one(t, "aws:s3/bucketVersioningV2:BucketVersioningV2", "state-2")
	require.Equal(t, "acme-state-2", versioning["bucket"])
	require.Equal(t, map[string]any{"status": "Enabled"}, versioning["versioningConfiguration"])

	block := r.one(t, "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", "state-0")
	for _, setting := range []string{"blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets"} {
		require.Equal(t, true, block[setting], setting)
	}
}

func TestProgramExportsTheWorkersVariables(t *testing.T) {
	t.Parallel()

	r := deploy(t, platform.Config{StateBucketPrefix: "acme-state", Results: platform.ResultsTopic})

	require.Equal(t, urlOf("events"), r.outputs[platform.OutputQueueURL])
	require.Equal(t, urlOf("dead-letters"), r.outputs[platform.OutputDeadLetterQueueURL])
	require.Equal(t, "lessor-tenants", r.outputs[platform.OutputTableName])
	require.Equal(t, []string{"acme-state-0", "acme-state-1"}, r.outputs[platform.OutputStateBuckets])
	require.Equal(t, "awskms:///key-of-state?region=eu-west-1", r.outputs[platform.OutputSecretsProvider])
	require.Equal(t, "arn:aws:x:eu-west-1:123456789012:results", r.outputs[platform.OutputResultTarget])
	require.Equal(t, map[string]any{
		"LESSOR_QUEUE_URL":             urlOf("events"),
		"LESSOR_DEAD_LETTER_QUEUE_URL": urlOf("dead-letters"),
		"LESSOR_TABLE":                 "lessor-tenants",
		"LESSOR_STATE_BUCKETS":         "acme-state-0,acme-state-1",
		"LESSOR_SECRETS_PROVIDER":      "awskms:///key-of-state?region=eu-west-1",
		"LESSOR_RESULT_TARGET":         "arn:aws:x:eu-west-1:123456789012:results",
	}, r.outputs[platform.OutputEnvironment])
}

func TestProgramProtectsOnlyWhenAsked(t *testing.T) {
	t.Parallel()

	for name, protect := range map[string]bool{"protected": true, "loose": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			r := deploy(t, platform.Config{StateBucketPrefix: "acme-state", Protect: protect})
			require.Equal(t, protect, r.one(t, tableType, "tenants")["deletionProtectionEnabled"])
			require.Equal(t, !protect, r.one(t, bucketType, "state-0")["forceDestroy"])
			require.Equal(t, true, r.one(t, keyType, "state")["enableKeyRotation"])
			require.InDelta(t, map[bool]int{true: 30, false: 7}[protect], r.one(t, keyType, "data")["deletionWindowInDays"], 0)
			require.Equal(t, !protect, len(r.open) > 0, "a destroy deletes %v before it finds what is protected", r.open)
			require.Empty(t, r.declared[topicType], "no topic without being asked for it")
			require.Empty(t, r.declared[busType])
			require.Empty(t, r.declared["aws:iam/role:Role"], "no role without a cluster")
		})
	}
}

func TestProgramUsesOnlyItsOwnProvider(t *testing.T) {
	t.Parallel()

	r := deploy(t, platform.Config{StateBucketPrefix: "acme-state", Region: "eu-west-1", Tags: map[string]string{"team": "platform"}})
	for _, provider := range r.provider {
		require.Contains(t, provider, "pulumi:providers:aws::aws::", "every resource names the explicit provider")
	}

	provider := r.one(t, "pulumi:providers:aws", "aws")
	require.Equal(t, "eu-west-1", provider["region"])
	require.JSONEq(t, `{"tags":{"managed-by":"lessor","team":"platform"}}`, asJSON(t, provider["defaultTags"]))
}

// asJSON returns a provider's nested input, which travels as JSON in a string.
func asJSON(t *testing.T, value any) string {
	t.Helper()

	text, ok := value.(string)
	if ok {
		return text
	}

	encoded, err := json.Marshal(value)
	require.NoError(t, err)

	return string(encoded)
}

func TestValidateReportsEveryProblem(t *testing.T) {
	t.Parallel()

	require.NoError(t, platform.Config{}.Validate())
	require.NoError(t, full().Validate())

	bad := platform.Config{
		Name:              "Has Space",
		StateBucketPrefix: "UPPER",
		StateBuckets:      33,
		RetentionDays:     30,
		MaxReceiveCount:   1001,
		VisibilityTimeout: 13 * time.Hour,
		OldestMessage:     14 * 24 * time.Hour,
		Results:           "queue",
		Cluster:           platform.Cluster{OIDCProviderARN: "https://oidc.example", ARN: "prod"},
		Worker:            platform.ServiceAccount{Namespace: "a_b", Name: "A"},
		Scaler:            platform.ServiceAccount{Namespace: "a_b", Name: "A"},
		AlarmActions:      []string{"pager"},
		EventSources:      []string{"arn:aws:sqs:eu-west-1:123456789012:q"},
		TierRoles:         []string{"arn:aws:iam::123456789012:user/x"},
		HookQueues:        []string{"https://sqs.example/q"},
	}.Validate()
	require.ErrorIs(t, bad, platform.ErrConfig)

	for _, field := range []string{
		"name", "stateBucketPrefix", "stateBuckets", "retentionDays", "maxReceiveCount", "visibilityTimeout", "oldestMessage", "results",
		"oidcProviderArn", "clusterArn", "workerNamespace", "workerServiceAccount", "scalerNamespace", "scalerServiceAccount",
		"alarmActions", "eventSources", "tierRoles", "hookQueues",
	} {
		require.ErrorContains(t, bad, platform.ErrConfig.Error()+": "+field)
	}
}

func TestProgramRefusesABadConfig(t *testing.T) {
	t.Parallel()

	r := &recorder{declared: map[string]map[string]resource.PropertyMap{}, open: map[string]bool{}}
	err := pulumi.RunErr(platform.Program(platform.Config{StateBucketPrefix: "UPPER"}), pulumi.WithMocks("lessor-platform", "test", r))
	require.ErrorContains(t, err, "stateBucketPrefix")
	require.Empty(t, r.declared)
}
