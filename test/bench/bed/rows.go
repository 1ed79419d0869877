package bed

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/lessor-dev/lessor/pkg/registry"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Row is a row as DynamoDB has it.
type Row = map[string]types.AttributeValue

// Row reads the row of a tenant.
func (f *Fleet) Row(ctx context.Context, id tenant.ID) (Row, error) {
	out, err := dynamodb.NewFromConfig(f.bed.AWS()).GetItem(ctx, &dynamodb.GetItemInput{TableName: &f.Table, Key: registry.Key(id)})
	if err != nil {
		return nil, fmt.Errorf("reading the row of %s: %w", id, err)
	}

	return out.Item, nil
}

var errUnwritten = errors.New("the stand-in did not write all rows")

// PutRows writes rows into the table.
func (f *Fleet) PutRows(ctx context.Context, rows iter.Seq[Row]) error {
	// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
	const batchSize = 25

	client := dynamodb.NewFromConfig(f.bed.AWS())
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)

	write := func(batch []types.WriteRequest) func() error {
		return func() error {
			out, err := client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{
				RequestItems: map[string][]types.WriteRequest{f.Table: batch},
			})
			if err != nil {
				return fmt.Errorf("writing rows: %w", err)
			}

			if len(out.UnprocessedItems) > 0 {
				return errUnwritten
			}

			return nil
		}
	}

	var batch []types.WriteRequest

	for row := range rows {
		batch = append(batch, types.WriteRequest{PutRequest: &types.PutRequest{Item: row}})

		if len(batch) == batchSize {
			group.Go(write(batch))

			batch = nil
		}
	}

	if len(batch) > 0 {
		group.Go(write(batch))
	}

	return group.Wait() //nolint:wrapcheck // the group returns what its functions did
}

// Renamed is a row with another text for one in all its strings.
func Renamed(row Row, replace func(string) string) Row {
	renamed := maps.Clone(row)

	for name, value := range renamed {
		if text, ok := value.(*types.AttributeValueMemberS); ok {
			renamed[name] = &types.AttributeValueMemberS{Value: replace(text.Value)}
		}
	}

	return renamed
}

var errNoSize = errors.New("rows of lessor have no such attribute")

// RowSize is what DynamoDB takes a row for: a name has its bytes, a string too,
// and a number a byte for two digits and one more.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
func RowSize(row Row) (int, error) {
	size := 0

	for name, value := range row {
		size += len(name)

		switch value := value.(type) {
		case *types.AttributeValueMemberS:
			size += len(value.Value)
		case *types.AttributeValueMemberN:
			const digits = 2

			size += (len(value.Value)+1)/digits + 1
		case *types.AttributeValueMemberBOOL, *types.AttributeValueMemberNULL:
			size++
		default:
			return 0, fmt.Errorf("%w: %s is %T", errNoSize, name, value)
		}
	}

	return size, nil
}
