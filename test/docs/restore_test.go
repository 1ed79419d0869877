package docs_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/emulator/emulatortest"
	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/lease"
	"github.com/lessor-dev/lessor/pkg/registry"
)

// values are those of an expression in the form of AWS's command line, as far as
// the document needs them.
func values(t *testing.T, text string) map[string]types.AttributeValue {
	t.Helper()

	var given map[string]struct {
		S string `json:"S"`
		N string `json:"N"`
	}

	require.NoError(t, json.Unmarshal([]byte(text), &given))

	made := map[string]types.AttributeValue{}

	for name, value := range given {
		if value.N != "" {
			made[name] = &types.AttributeValueMemberN{Value: value.N}
		} else {
			made[name] = &types.AttributeValueMemberS{Value: value.S}
		}
	}

	return made
}

// raise does what docs/operations.md says to raise every fence.
func raise(t *testing.T, db *dynamodb.Client, table string) (rows int) {
	t.Helper()

	_, script, found := strings.Cut(read(t, "docs/operations.md"), "<!-- test:raise-fences -->\n```sh\n")
	require.True(t, found)

	script, _, _ = strings.Cut(script, "```")
	quoted := regexp.MustCompile(`--([a-z-]+) '([^']*)'`).FindAllStringSubmatch(script, -1)
	require.Len(t, quoted, 5)

	filter, update := map[string]string{}, map[string]string{}

	for i, option := range quoted {
		if i < 3 {
			filter[option[1]] = option[2]
		} else {
			update[option[1]] = option[2]
		}
	}

	all, err := db.Scan(t.Context(), &dynamodb.ScanInput{
		TableName: &table, FilterExpression: aws.String(filter["filter-expression"]), ProjectionExpression: aws.String("pk"),
		ExpressionAttributeValues: values(t, filter["expression-attribute-values"]),
	})
	require.NoError(t, err)

	for _, row := range all.Items {
		_, err := db.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
			TableName: &table, Key: row, UpdateExpression: aws.String(update["update-expression"]),
			ExpressionAttributeValues: values(t, update["expression-attribute-values"]),
		})
		require.NoError(t, err)
	}

	return len(all.Items)
}

// TestRaisedFences plays the end of a restore: whoever was at work is shut out,
// and the next one is far above all stamps and takes nobody for a clean
// predecessor.
func TestRaisedFences(t *testing.T) {
	t.Parallel()

	backend, ok := emulatortest.Remote(t)
	if !ok {
		t.Skip("it needs the emulator")
	}

	table := "docs-restored"
	db := dynamodb.NewFromConfig(backend.Config)
	_, err := db.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	require.NoError(t, err)

	rows := registry.New(db, registry.Config{Table: table}, time.Now)
	leases := lease.New(db, table, lease.Config{Duration: time.Minute, Margin: 10 * time.Second})

	require.NoError(t, rows.Pause(t.Context(), "a restore"))

	decoded, err := event.NewDecoder(event.OrderTime, time.Now).Decode([]byte(read(t, "pkg/event/testdata/valid/created.json")))
	require.NoError(t, err)

	rec, _, err := rows.Accept(t.Context(), decoded)
	require.NoError(t, err)

	clean, err := leases.Acquire(t.Context(), rec, "m-1")
	require.NoError(t, err)
	require.NoError(t, rows.Release(t.Context(), rec.ID, clean.Token(), true))

	rec, err = rows.Get(t.Context(), rec.ID)
	require.NoError(t, err)

	old, err := leases.Acquire(t.Context(), rec, "m-2")
	require.NoError(t, err)
	require.True(t, old.CleanPredecessor())

	require.Equal(t, 1, raise(t, db, table), "the fleet's own items are no tenants")

	require.Error(t, rows.Release(t.Context(), rec.ID, old.Token(), true), "who was at work has nothing any more")

	rec, err = rows.Get(t.Context(), rec.ID)
	require.NoError(t, err)
	require.Empty(t, rec.Lease.Owner)
	require.EqualValues(t, 1_000_002, rec.Fence)

	next, err := leases.Acquire(t.Context(), rec, "m-3")
	require.NoError(t, err)
	require.False(t, next.CleanPredecessor(), "so that it begins with a fencing write")
}
