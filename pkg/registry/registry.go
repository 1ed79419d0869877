package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// API is what is needed of DynamoDB.
type API interface {
	GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	Scan(ctx context.Context, in *dynamodb.ScanInput, opts ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
}

// Config names the table.
type Config struct {
	// Table has the string "pk" as its only key attribute.
	Table string `env:"LESSOR_TABLE, default=lessor-tenants"`
}

// Validate reports a table that cannot be.
func (c Config) Validate() error {
	if strings.TrimSpace(c.Table) == "" {
		return errNoTable
	}

	return nil
}

var errNoTable = errors.New("LESSOR_TABLE is empty: it must be the name of the DynamoDB table of tenants")

var (
	// ErrLeaseLost says that the lease of the token is somebody else's.
	ErrLeaseLost = errors.New("the lease of this token is over")
	// ErrMoved says that desired changed since it was seen.
	ErrMoved = errors.New("desired changed meanwhile")
	// ErrNotFound says that the tenant has no row.
	ErrNotFound = errors.New("nothing is known of the tenant")
	// ErrTooLarge says that an event would make the desired state too large.
	ErrTooLarge = errors.New("the tenant's desired state would be too large")
)

// Token proves the lease under which a write is made.
type Token struct {
	Owner string
	Fence int64
}

// Registry is the table of tenants. It is safe for concurrent use.
type Registry struct {
	api   API
	table string
	now   func() time.Time
}

// New makes a Registry. now is the wall clock, time.Now if nil.
func New(api API, cfg Config, now func() time.Time) *Registry {
	if now == nil {
		now = time.Now
	}

	return &Registry{api: api, table: cfg.Table, now: now}
}

// Get reads a row, strongly consistent. A tenant without a row is a Record that
// does not exist and has no more than the id.
func (r *Registry) Get(ctx context.Context, id tenant.ID) (tenant.Record, error) {
	item, err := r.get(ctx, tenantKey(id))
	if err != nil {
		return tenant.Record{}, err
	}

	return decodeRow(id, item)
}

// nowValue is the name of the value that most expressions have.
const nowValue = ":now"

// update is an update expression with its condition and values.
type update struct {
	expression string
	condition  string
	values     item
}

// refused reports that the condition of a write did not hold.
func refused(err error) bool {
	var failed *types.ConditionalCheckFailedException

	return errors.As(err, &failed)
}

// Explain adds to an error of DynamoDB what a person has to look at: the table,
// the variable that names it, and the permission that the call needs.
func Explain(err error, table, doing, action string) error {
	var (
		missing *types.ResourceNotFoundException
		api     smithy.APIError
	)

	switch {
	case errors.As(err, &missing):
		return fmt.Errorf("%s table %q: it does not exist in this account and region; set LESSOR_TABLE: %w", doing, table, err)
	case errors.As(err, &api) && strings.HasPrefix(api.ErrorCode(), "AccessDenied"):
		return fmt.Errorf("%s table %q (LESSOR_TABLE): access denied; the role needs %s: %w", doing, table, action, err)
	default:
		return fmt.Errorf("%s table %q: %w", doing, table, err)
	}
}

// List calls yield for every tenant, in no order, until it returns false. Rows
// that cannot be read hide no others: they are named in the error at the end.
func (r *Registry) List(ctx context.Context, yield func(tenant.Record) bool) error {
	return r.scan(ctx, &dynamodb.ScanInput{TableName: aws.String(r.table), ConsistentRead: aws.Bool(true)}, yield)
}

func (r *Registry) scan(ctx context.Context, in *dynamodb.ScanInput, yield func(tenant.Record) bool) error {
	var unreadable []error

	for {
		out, err := r.api.Scan(ctx, in)
		if err != nil {
			return Explain(err, r.table, "scanning", "dynamodb:Scan")
		}

		for _, row := range out.Items {
			id, ok := tenantOf(row)
			if !ok {
				continue
			}

			rec, err := decodeRow(id, row)
			if err != nil {
				unreadable = append(unreadable, err)

				continue
			}

			if !yield(rec) {
				return nil
			}
		}

		if len(out.LastEvaluatedKey) == 0 {
			return errors.Join(unreadable...)
		}

		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

func (r *Registry) get(ctx context.Context, key string) (item, error) {
	out, err := r.api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName:      aws.String(r.table),
		Key:            keyOf(key),
		ConsistentRead: aws.Bool(true),
	})
	if err != nil {
		return nil, Explain(err, r.table, "reading from", "dynamodb:GetItem")
	}

	return out.Item, nil
}

// write makes one conditional update and returns the row after it.
func (r *Registry) write(ctx context.Context, key string, u update) (item, error) {
	in := &dynamodb.UpdateItemInput{
		TableName:                 aws.String(r.table),
		Key:                       keyOf(key),
		UpdateExpression:          aws.String(u.expression),
		ExpressionAttributeValues: u.values,
		ReturnValues:              types.ReturnValueAllNew,
	}
	if u.condition != "" {
		in.ConditionExpression = aws.String(u.condition)
	}

	out, err := r.api.UpdateItem(ctx, in)
	if err != nil {
		return nil, Explain(err, r.table, "writing to", "dynamodb:UpdateItem")
	}

	return out.Attributes, nil
}
