package awsplugin_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventtypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/internal/localaws/emulator/emulatortest"
)

// emulated gives a host in front of the emulator, and the emulator's own
// configuration.
func emulated(t *testing.T) (*host, aws.Config) {
	t.Helper()

	emulatortest.Binary(t)

	backend, ok := emulatortest.Remote(t)
	if !ok {
		t.Skip("-short runs no other process")
	}

	return configured(t, *backend.Config.BaseEndpoint, cloudsim.Options{}), backend.Config
}

func TestQueues(t *testing.T) {
	t.Parallel()

	h, cfg := emulated(t)
	client := sqs.NewFromConfig(cfg)

	dead := props{"name": "awsplugin-dead"}
	deadLetters := h.create(cloudsim.TypeQueue, dead)
	h.steady(deadLetters, dead)
	require.Equal(t, h.endpoint+"/000000000000/awsplugin-dead", deadLetters.id)

	inputs := props{
		"name": "awsplugin-events", "visibilityTimeoutSeconds": 120, "receiveWaitTimeSeconds": 20, "messageRetentionSeconds": 1209600,
		"redrivePolicy": `{"deadLetterTargetArn":"` + deadLetters.output(h, "arn") + `","maxReceiveCount":2}`,
	}
	events := h.create(cloudsim.TypeQueue, inputs)
	h.steady(events, inputs)

	attributes := func() map[string]string {
		got, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
			QueueUrl: &events.id, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll},
		})
		require.NoError(t, err)

		return got.Attributes
	}

	require.Equal(t, "120", attributes()["VisibilityTimeout"])
	require.Contains(t, attributes()["RedrivePolicy"], "awsplugin-dead")

	inputs["visibilityTimeoutSeconds"] = 60
	events, err := h.update(events, inputs)
	require.NoError(t, err)
	require.Equal(t, "60", attributes()["VisibilityTimeout"])
	h.steady(events, inputs)

	policy := props{"queueUrl": events.id, "policy": `{"Version":"2012-10-17","Statement":[]}`}
	setting := h.create(cloudsim.TypeQueuePolicy, policy)
	h.steady(setting, policy)
	require.Contains(t, attributes()["Policy"], "2012-10-17")

	redrive := props{
		"queueUrl": events.id, "redrivePolicy": `{"deadLetterTargetArn":"` + deadLetters.output(h, "arn") + `","maxReceiveCount":9}`,
	}
	redriven := h.create(cloudsim.TypeRedrivePolicy, redrive)
	h.steady(redriven, redrive)
	require.Contains(t, attributes()["RedrivePolicy"], "9")

	for _, m := range []made{redriven, setting, events, deadLetters} {
		require.NoError(t, h.delete(m))
		require.Empty(t, h.refresh(m).GetId())
	}

	// Its name is free again after a while, for which the plugin waits.
	again := h.create(cloudsim.TypeQueue, dead)
	require.Equal(t, deadLetters.id, again.id)
	require.NoError(t, h.delete(again))

	log, err := h.cloud.Log(t.Context(), 0)
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(log, func(e cloudsim.Entry) bool {
		return e.Code == "AWS.SimpleQueueService.QueueDeletedRecently"
	}))

	queues, err := client.ListQueues(t.Context(), &sqs.ListQueuesInput{QueueNamePrefix: aws.String("awsplugin-")})
	require.NoError(t, err)
	require.Empty(t, queues.QueueUrls)
}

// A plugin that dies between emulator and simulator leaves what no other one may
// stumble over.
func TestLeftOvers(t *testing.T) {
	t.Parallel()

	h, cfg := emulated(t)
	buckets := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	tables := dynamodb.NewFromConfig(cfg)

	_, err := buckets.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("awsplugin-left-over")})
	require.NoError(t, err)
	_, err = tables.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: aws.String("awsplugin-left-over"), BillingMode: dynamotypes.BillingModePayPerRequest,
		KeySchema:            []dynamotypes.KeySchemaElement{{AttributeName: aws.String("old"), KeyType: dynamotypes.KeyTypeHash}},
		AttributeDefinitions: []dynamotypes.AttributeDefinition{{AttributeName: aws.String("old"), AttributeType: dynamotypes.ScalarAttributeTypeS}},
	})
	require.NoError(t, err)

	bucket := h.create(cloudsim.TypeBucket, props{"bucket": "awsplugin-left-over"})
	table := h.create(cloudsim.TypeTable, props{
		"name": "awsplugin-left-over", "hashKey": "pk", "billingMode": "PAY_PER_REQUEST", "attributes": []any{props{"name": "pk", "type": "S"}},
	})

	described, err := tables.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table.id})
	require.NoError(t, err)
	require.Equal(t, "pk", *described.Table.KeySchema[0].AttributeName)

	_, err = h.tryCreate(t.Context(), cloudsim.TypeBucket, props{"bucket": "awsplugin-left-over"})
	failed(t, err, "BucketAlreadyOwnedByYou")

	for _, m := range []made{bucket, table} {
		require.NoError(t, h.delete(m))
		require.Empty(t, h.refresh(m).GetId())
	}
}

func TestTable(t *testing.T) {
	t.Parallel()

	h, cfg := emulated(t)
	client := dynamodb.NewFromConfig(cfg)
	inputs := props{
		"name": "awsplugin-table", "hashKey": "pk", "billingMode": "PAY_PER_REQUEST", "deletionProtectionEnabled": true,
		"attributes":          []any{props{"name": "pk", "type": "S"}},
		"ttl":                 props{"attributeName": "gone", "enabled": true},
		"pointInTimeRecovery": props{"enabled": true}, "serverSideEncryption": props{"enabled": true},
	}
	table := h.create(cloudsim.TypeTable, inputs)
	h.steady(table, inputs)

	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: &table.id, Item: map[string]dynamotypes.AttributeValue{"pk": &dynamotypes.AttributeValueMemberS{Value: "x"}},
	})
	require.NoError(t, err)

	ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &table.id})
	require.NoError(t, err)
	require.Equal(t, "gone", aws.ToString(ttl.TimeToLiveDescription.AttributeName))

	failed(t, h.delete(table), "deleting DynamoDB Table (awsplugin-table): operation error DynamoDB: DeleteTable, "+
		"https response error StatusCode: 400, RequestID: ")

	inputs["deletionProtectionEnabled"] = false
	table, err = h.update(table, inputs)
	require.NoError(t, err)
	require.NoError(t, h.delete(table))
	require.NoError(t, h.delete(table), "what is gone stays gone")
}

func TestBucket(t *testing.T) {
	t.Parallel()

	h, cfg := emulated(t)
	client := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	inputs := props{"bucket": "awsplugin-state"}
	bucket := h.create(cloudsim.TypeBucket, inputs)
	h.steady(bucket, inputs)

	settings := map[string]props{
		cloudsim.TypeVersioning: {"bucket": bucket.id, "versioningConfiguration": props{"status": "Enabled"}},
		cloudsim.TypePublicAccess: {
			"bucket": bucket.id, "blockPublicAcls": true, "blockPublicPolicy": true, "ignorePublicAcls": true,
			"restrictPublicBuckets": true,
		},
		cloudsim.TypeEncryption: {
			"bucket": bucket.id, "rules": []any{props{
				"applyServerSideEncryptionByDefault": props{"sseAlgorithm": "aws:kms", "kmsMasterKeyId": "k"}, "bucketKeyEnabled": true,
			}},
		},
		cloudsim.TypeLifecycle: {"bucket": bucket.id, "rules": []any{props{
			"id": "old", "status": "Enabled", "filter": props{}, "noncurrentVersionExpiration": props{"noncurrentDays": 30},
			"abortIncompleteMultipartUpload": props{"daysAfterInitiation": 7}, "expiration": props{"expiredObjectDeleteMarker": true},
		}, props{
			"id": "archive", "status": "Enabled", "filter": props{"objectSizeGreaterThan": 131072},
			"noncurrentVersionTransitions": []any{props{"noncurrentDays": 7, "storageClass": "GLACIER_IR"}},
		}}},
		cloudsim.TypeBucketPolicy: {
			"bucket": bucket.id,
			"policy": `{"Statement":[{"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":"arn:aws:s3:::awsplugin-state"}]}`,
		},
	}

	all := make([]made, 0, len(settings)+1)

	for typ, setting := range settings {
		m := h.create(typ, setting)
		h.steady(m, setting)

		all = append(all, m)
	}

	versioning, err := client.GetBucketVersioning(t.Context(), &s3.GetBucketVersioningInput{Bucket: &bucket.id})
	require.NoError(t, err)
	require.EqualValues(t, "Enabled", versioning.Status)

	lifecycle, err := client.GetBucketLifecycleConfiguration(t.Context(), &s3.GetBucketLifecycleConfigurationInput{Bucket: &bucket.id})
	require.NoError(t, err)
	require.Len(t, lifecycle.Rules, 2)

	policy, err := client.GetBucketPolicy(t.Context(), &s3.GetBucketPolicyInput{Bucket: &bucket.id})
	require.NoError(t, err)
	require.Contains(t, *policy.Policy, "Deny")

	for range 2 {
		_, err = client.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket.id, Key: aws.String("a"), Body: strings.NewReader("x")})
		require.NoError(t, err)
	}

	failed(t, h.delete(bucket), "BucketNotEmpty: The bucket you tried to delete is not empty")

	inputs["forceDestroy"] = true
	bucket, err = h.update(bucket, inputs)
	require.NoError(t, err)

	for _, m := range append(all, bucket) {
		require.NoError(t, h.delete(m), m.typ)
	}

	_, err = client.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: &bucket.id})
	require.Error(t, err)
}

func TestKeyEncrypts(t *testing.T) {
	t.Parallel()

	h, cfg := emulated(t)
	client := kms.NewFromConfig(cfg)
	inputs := props{"description": "state", "enableKeyRotation": true, "deletionWindowInDays": 7}
	key := h.create(cloudsim.TypeKey, inputs)
	h.steady(key, inputs)
	require.Equal(t, key.id, key.output(h, "keyId"))
	require.Equal(t, "arn:aws:kms:us-east-1:000000000000:key/"+key.id, key.output(h, "arn"))

	named := props{"name": "alias/awsplugin", "targetKeyId": key.id}
	alias := h.create(cloudsim.TypeAlias, named)
	h.steady(alias, named)

	for _, id := range []string{key.id, "alias/awsplugin", key.output(h, "arn")} {
		sealed, err := client.Encrypt(t.Context(), &kms.EncryptInput{KeyId: &id, Plaintext: []byte("x")})
		require.NoError(t, err, id)

		opened, err := client.Decrypt(t.Context(), &kms.DecryptInput{CiphertextBlob: sealed.CiphertextBlob})
		require.NoError(t, err)
		require.Equal(t, "x", string(opened.Plaintext))
	}

	other := h.create(cloudsim.TypeKey, props{})
	alias, err := h.update(alias, props{"name": "alias/awsplugin", "targetKeyId": other.id})
	require.NoError(t, err)

	for _, m := range []made{alias, key, other} {
		require.NoError(t, h.delete(m))
		require.Empty(t, h.refresh(m).GetId())
	}

	waiting, err := h.cloud.Get(t.Context(), cloudsim.TypeKey, region, key.id)
	require.NoError(t, err)
	require.Equal(t, cloudsim.StatePendingDeletion, waiting.State)
}

func TestTopic(t *testing.T) {
	t.Parallel()

	h, cfg := emulated(t)
	inputs := props{"name": "awsplugin-results", "kmsMasterKeyId": "alias/aws/sns"}
	topic := h.create(cloudsim.TypeTopic, inputs)
	h.steady(topic, inputs)

	client := sns.NewFromConfig(cfg)
	_, err := client.Publish(t.Context(), &sns.PublishInput{TopicArn: aws.String(topic.output(h, "arn")), Message: aws.String("x")})
	require.NoError(t, err)
	require.NoError(t, h.delete(topic))
}

func TestBus(t *testing.T) {
	t.Parallel()

	h, cfg := emulated(t)
	inputs := props{"name": "awsplugin-results"}
	client := eventbridge.NewFromConfig(cfg)

	_, err := client.CreateEventBus(t.Context(), &eventbridge.CreateEventBusInput{Name: aws.String("awsplugin-results")})
	require.NoError(t, err, "a left-over")

	bus := h.create(cloudsim.TypeBus, inputs)
	h.steady(bus, inputs)
	require.Equal(t, "arn:aws:events:us-east-1:000000000000:event-bus/awsplugin-results", bus.output(h, "arn"))

	sent, err := client.PutEvents(t.Context(), &eventbridge.PutEventsInput{Entries: []eventtypes.PutEventsRequestEntry{{
		EventBusName: aws.String(bus.output(h, "arn")), Source: aws.String("lessor"), DetailType: aws.String("x"), Detail: aws.String("{}"),
	}}})
	require.NoError(t, err)
	require.Zero(t, sent.FailedEntryCount)
	require.NoError(t, h.delete(bus))

	left, err := client.ListEventBuses(t.Context(), &eventbridge.ListEventBusesInput{NamePrefix: aws.String("awsplugin-")})
	require.NoError(t, err)
	require.Empty(t, left.EventBuses)
}

func TestAlarmAndPolicy(t *testing.T) {
	t.Parallel()

	h := configured(t, "", cloudsim.Options{})

	for typ, inputs := range map[string]props{
		cloudsim.TypeAlarm: {
			"name": "acme", "comparisonOperator": "GreaterThanThreshold", "evaluationPeriods": 1, "period": 60, "threshold": 0,
			"dimensions": props{"QueueName": "acme"}, "alarmActions": []any{"arn:aws:sns:us-east-1:000000000000:pager"},
		},
		cloudsim.TypePolicy: {"name": "acme", "policy": trust},
	} {
		m := h.create(typ, inputs)
		h.steady(m, inputs)
		require.NotEmpty(t, m.output(h, "arn"))
		require.NoError(t, h.delete(m))
		require.Empty(t, h.refresh(m).GetId())
	}
}

func TestClaimIsGivenBackIfTheEmulatorRefuses(t *testing.T) {
	t.Parallel()

	// There is no emulator behind this endpoint, so every call to it fails.
	h := configured(t, "", cloudsim.Options{})

	_, err := h.tryCreate(t.Context(), cloudsim.TypeQueue, props{"name": "awsplugin-claimed"})
	failed(t, err, "creating SQS Queue (awsplugin-claimed): operation error SQS: CreateQueue")

	left, err := h.cloud.List(t.Context(), cloudsim.Filter{})
	require.NoError(t, err)
	require.Empty(t, left)
}
