package e2e_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// makeQueues makes a queue and its dead-letter queue.
func makeQueues(t *testing.T, cfg aws.Config, name string) (events, dead string) {
	t.Helper()

	client := sqs.NewFromConfig(cfg)

	deadQueue, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(name + "-dlq")})
	require.NoError(t, err)

	attributes, err := client.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: deadQueue.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn},
	})
	require.NoError(t, err)

	queue, err := client.CreateQueue(t.Context(), &sqs.CreateQueueInput{
		QueueName: aws.String(name),
		Attributes: map[string]string{
			"RedrivePolicy": fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"100"}`, attributes.Attributes["QueueArn"]),
		},
	})
	require.NoError(t, err)

	return *queue.QueueUrl, *deadQueue.QueueUrl
}

// rawRow is a tenant's item as DynamoDB has it.
func rawRow(t *testing.T, f *fleet, id tenant.ID) string {
	t.Helper()

	item, err := dynamodb.NewFromConfig(f.aws).GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(f.table),
		Key:       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "tenant#" + string(id)}},
	})
	require.NoError(t, err)

	var text strings.Builder
	for name, value := range item.Item {
		fmt.Fprintf(&text, "%s=%v\n", name, attributeText(value))
	}

	return text.String()
}

func attributeText(value types.AttributeValue) string {
	switch v := value.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	default:
		return fmt.Sprintf("%+v", v)
	}
}

// get reads a page of a worker.
func get(t *testing.T, url string) string {
	t.Helper()

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	require.NoError(t, err)

	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)

	body, err := io.ReadAll(res.Body)
	require.NoError(t, errors.Join(err, res.Body.Close()))

	return string(body)
}

func makeTable(t *testing.T, cfg aws.Config, name string) string {
	t.Helper()

	_, err := dynamodb.NewFromConfig(cfg).CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String(name),
		BillingMode:          types.BillingModePayPerRequest,
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
	})
	require.NoError(t, err)

	return name
}
