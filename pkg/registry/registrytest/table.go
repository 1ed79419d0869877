// Package registrytest holds a fake of the DynamoDB table of tenants, for the
// tests of whoever uses it. It is stricter than any emulator: an expression must
// be of the form that AWS and the emulators read alike, every value must be
// used, an item may have 400 KB, and a read that is not consistent sees the item
// as it was one write before.
package registrytest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

const (
	maxItemBytes    = 400 << 10
	defaultPageSize = 100
	keyName         = "pk"
)

type item = map[string]types.AttributeValue

// Table is an in-memory table with the key "pk". It implements what registry
// and lease need of the DynamoDB client. Make one with New.
type Table struct {
	name     string
	pageSize int

	mu       sync.Mutex
	items    map[string]item
	previous map[string]item
	before   func(operation string) error
	after    func(operation string) error
	calls    map[string]int
}

// New returns an empty table.
func New(name string) *Table {
	return &Table{
		name: name, pageSize: defaultPageSize,
		items: map[string]item{}, previous: map[string]item{}, calls: map[string]int{},
	}
}

// PageSize sets how many items a scan returns at once.
func (t *Table) PageSize(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.pageSize = n
}

// Intercept has before called ahead of every operation, by its name: an error
// is its answer, and nothing happens. after is called when the operation is
// done: an error is an answer that was lost on its way. Either may be nil.
func (t *Table) Intercept(before, after func(operation string) error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	t.before, t.after = before, after
}

// Calls returns how often an operation was called.
func (t *Table) Calls(operation string) int {
	t.mu.Lock()
	defer t.mu.Unlock()

	return t.calls[operation]
}

// Put replaces an item, as a hand that knows no rules would.
func (t *Table) Put(values map[string]types.AttributeValue) {
	t.mu.Lock()
	defer t.mu.Unlock()

	key, ok := keyOf(values)
	if !ok {
		panic("registrytest: the item has no key")
	}

	t.items[key] = maps.Clone(values)
}

// Item returns a copy of an item, nil if there is none.
func (t *Table) Item(key string) map[string]types.AttributeValue {
	t.mu.Lock()
	defer t.mu.Unlock()

	return maps.Clone(t.items[key])
}

// call runs one operation between the hooks. Hooks run unlocked, so that they
// may use the table.
func call[T any](ctx context.Context, t *Table, operation string, table *string, do func() (T, error)) (T, error) {
	var none T

	t.mu.Lock()
	t.calls[operation]++
	before, after := t.before, t.after
	t.mu.Unlock()

	if before != nil {
		if err := before(operation); err != nil {
			return none, err
		}
	}

	if err := ctx.Err(); err != nil {
		return none, &smithy.CanceledError{Err: err}
	}

	if aws.ToString(table) != t.name {
		return none, &types.ResourceNotFoundException{Message: aws.String("Requested resource not found")}
	}

	t.mu.Lock()
	out, err := do()
	t.mu.Unlock()

	if after != nil {
		if lost := after(operation); lost != nil {
			return none, lost
		}
	}

	return out, err
}

// GetItem reads an item.
func (t *Table) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return call(ctx, t, "GetItem", in.TableName, func() (*dynamodb.GetItemOutput, error) {
		key, ok := keyOf(in.Key)
		if !ok || len(in.Key) != 1 {
			return nil, validation("The provided key element does not match the schema")
		}

		if !aws.ToBool(in.ConsistentRead) {
			return &dynamodb.GetItemOutput{Item: maps.Clone(t.previous[key])}, nil
		}

		return &dynamodb.GetItemOutput{Item: maps.Clone(t.items[key])}, nil
	})
}

// UpdateItem changes an item if the condition holds, and makes it if there is
// none.
func (t *Table) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return call(ctx, t, "UpdateItem", in.TableName, func() (*dynamodb.UpdateItemOutput, error) { return t.update(in) })
}

func refusal(in *dynamodb.UpdateItemInput, old item) error {
	err := &types.ConditionalCheckFailedException{Message: aws.String("The conditional request failed")}
	if in.ReturnValuesOnConditionCheckFailure == types.ReturnValuesOnConditionCheckFailureAllOld {
		err.Item = maps.Clone(old)
	}

	return err
}

// Scan returns one page of items, in the order of their keys.
func (t *Table) Scan(ctx context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return call(ctx, t, "Scan", in.TableName, func() (*dynamodb.ScanOutput, error) {
		start, _ := keyOf(in.ExclusiveStartKey)
		out := &dynamodb.ScanOutput{}

		names, err := projection(in.ProjectionExpression)
		if err != nil {
			return nil, validation(err.Error())
		}

		for _, key := range slices.Sorted(maps.Keys(t.items)) {
			if key <= start {
				continue
			}

			if len(out.Items) == t.pageSize {
				break
			}

			row := maps.Clone(t.items[key])
			if names != nil {
				maps.DeleteFunc(row, func(name string, _ types.AttributeValue) bool { return !slices.Contains(names, name) })
			}

			out.Items = append(out.Items, row)
			out.LastEvaluatedKey = item{keyName: t.items[key][keyName]}
		}

		// As on AWS a full page is followed by another, which may be empty.
		if len(out.Items) < t.pageSize {
			out.LastEvaluatedKey = nil
		}

		return out, nil
	})
}

// projection reads the names of a projection expression, nil if there is none.
func projection(expression *string) ([]string, error) {
	if expression == nil {
		return nil, nil
	}

	tokens, err := Lex(*expression)
	if err != nil {
		return nil, err
	}

	p := &parser{tokens: tokens, used: map[string]bool{}}

	var names []string

	for more := true; more; more = p.accept(",") {
		if name := p.name(); slices.Contains(names, name) {
			p.failf("%s is projected twice", name)
		} else {
			names = append(names, name)
		}
	}

	p.finish(*expression)

	return names, p.err
}

func (t *Table) update(in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	key, ok := keyOf(in.Key)
	if !ok || len(in.Key) != 1 {
		return nil, validation("The provided key element does not match the schema")
	}

	names := slices.Collect(maps.Keys(in.ExpressionAttributeValues))

	c, err := compile(aws.ToString(in.UpdateExpression), aws.ToString(in.ConditionExpression), names)
	if err != nil {
		return nil, validation(err.Error())
	}

	old := t.items[key]
	find := func(name string) (any, bool) {
		if value, ok := in.ExpressionAttributeValues[name]; ok {
			return value, true
		}

		value, ok := old[name]

		return value, ok
	}

	if c.condition != nil && !c.condition(find) {
		return nil, refusal(in, old)
	}

	updated := maps.Clone(old)
	if updated == nil {
		updated = maps.Clone(in.Key)
	}

	for name, placeholder := range c.set {
		updated[name] = in.ExpressionAttributeValues[placeholder]
	}

	for _, name := range c.remove {
		delete(updated, name)
	}

	if size(updated) > maxItemBytes {
		return nil, validation("Item size to update has exceeded the maximum allowed size")
	}

	t.previous[key], t.items[key] = old, updated

	out := &dynamodb.UpdateItemOutput{}
	if in.ReturnValues == types.ReturnValueAllNew {
		out.Attributes = maps.Clone(updated)
	}

	return out, nil
}

func keyOf(values item) (string, bool) {
	s, ok := values[keyName].(*types.AttributeValueMemberS)
	if !ok || s.Value == "" {
		return "", false
	}

	return s.Value, true
}

func size(values item) int {
	const numberBytes = 21

	total := 0

	for name, value := range values {
		total += len(name)

		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			total += len(v.Value)
		case *types.AttributeValueMemberN:
			total += numberBytes
		default:
			total++
		}
	}

	return total
}

// compare knows text and whole numbers; other types are never equal, as on the
// emulator.
func compare(a any, operator string, b any) bool {
	switch x := a.(type) {
	case *types.AttributeValueMemberS:
		if y, ok := b.(*types.AttributeValueMemberS); ok {
			return holds(cmp.Compare(x.Value, y.Value), operator)
		}
	case *types.AttributeValueMemberN:
		if y, ok := b.(*types.AttributeValueMemberN); ok {
			return holds(cmp.Compare(whole(x.Value), whole(y.Value)), operator)
		}
	}

	return false
}

func whole(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic("registrytest: " + err.Error())
	}

	return n
}

func holds(order int, operator string) bool {
	switch operator {
	case "=":
		return order == 0
	case "<>":
		return order != 0
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	default:
		return false
	}
}

func validation(text string) error {
	return &smithy.GenericAPIError{Code: "ValidationException", Message: text, Fault: smithy.FaultClient}
}
