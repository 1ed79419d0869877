package registrytest

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lessor-dev/lessor/internal/localaws/emulator/emulatortest"
)

// API is a table's client, fake or real.
type API interface {
	GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	Scan(ctx context.Context, in *dynamodb.ScanInput, opts ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Open makes an empty table of a backend and returns its client and name.
type Open func(t *testing.T) (API, string)

// Run runs a suite on the fake, and on the emulator or the endpoint that is
// given, side by side.
func Run(t *testing.T, suite func(t *testing.T, open Open)) {
	t.Helper()

	t.Run("fake", func(t *testing.T) {
		t.Parallel()
		suite(t, func(*testing.T) (API, string) {
			const name = "tenants"

			return New(name), name
		})
	})

	if backend, ok := emulatortest.Remote(t); ok {
		t.Run(backend.Name, func(t *testing.T) {
			t.Parallel()

			client := dynamodb.NewFromConfig(backend.Config)

			suite(t, func(t *testing.T) (API, string) {
				t.Helper()

				name := createTable(t, client)
				if backend.Name == "emulator" {
					return client, name
				}

				return &serial{api: client}, name
			})
		})
	}
}

// serial makes one call at a time for a table. Moto server answers in many threads and takes
// no lock between the condition of an update and its write (version 5.2.5), so
// that of two conditional writes at once both may succeed. Calls of a crowd are
// still interleaved, each of them whole. The turn that a call waits for does not
// count against its time limit.
type serial struct {
	mu  sync.Mutex
	api API
}

// GetItem makes the call when no other is made.
func (s *serial) GetItem(
	ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.GetItemOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.api.GetItem(context.WithoutCancel(ctx), in, opts...)
}

// UpdateItem makes the call when no other is made.
func (s *serial) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.api.UpdateItem(context.WithoutCancel(ctx), in, opts...)
}

// Scan makes the call when no other is made.
func (s *serial) Scan(ctx context.Context, in *dynamodb.ScanInput, opts ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.api.Scan(context.WithoutCancel(ctx), in, opts...)
}

var tables atomic.Int64 //nolint:gochecknoglobals // names are unique to the process

func createTable(t *testing.T, client *dynamodb.Client) string {
	t.Helper()

	name := "lessor-" + strconv.FormatInt(time.Now().UnixNano(), 36) + "-" + strconv.FormatInt(tables.Add(1), 10)

	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            aws.String(name),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String(keyName), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String(keyName), KeyType: types.KeyTypeHash}},
	})
	if err != nil {
		t.Fatal(err)
	}

	return name
}
