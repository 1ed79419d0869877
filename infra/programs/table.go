package programs

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/dynamodb"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// TableArgs say what a Table is like.
type TableArgs struct {
	HashKey string
	// RangeKey sorts items of one hash key; "" has one item for each.
	RangeKey string
	// PointInTimeRecovery keeps what is needed to restore any second of the
	// last 35 days.
	PointInTimeRecovery bool
}

// Table is a DynamoDB table of a tenant's own, paid for by the request and
// encrypted with the account's key for DynamoDB.
type Table struct {
	pulumi.ResourceState

	Table *dynamodb.Table
}

// NewTable declares a table. A deletion that keeps a final snapshot has one taken
// by DynamoDB itself, which keeps a table that could be restored to a point in
// time for 35 days after its deletion. It has no name that could be chosen.
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/PointInTimeRecovery_Howitworks.html
func NewTable(ctx *pulumi.Context, topology engine.Topology, args TableArgs, opts ...pulumi.ResourceOption) (*Table, error) {
	component := &Table{}
	if err := ctx.RegisterComponentResource("lessor:programs:Table", topology.Name("data"), component, opts...); err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}

	name := topology.PhysicalName("data", maxTableName)
	table := &dynamodb.TableArgs{
		Name:        pulumi.String(name),
		BillingMode: pulumi.String("PAY_PER_REQUEST"),
		HashKey:     pulumi.String(args.HashKey),
		Attributes:  dynamodb.TableAttributeArray{textAttribute(args.HashKey)},
		PointInTimeRecovery: dynamodb.TablePointInTimeRecoveryArgs{
			Enabled: pulumi.Bool(args.PointInTimeRecovery || topology.FinalSnapshot != ""),
		},
		ServerSideEncryption:      dynamodb.TableServerSideEncryptionArgs{Enabled: pulumi.Bool(true)},
		DeletionProtectionEnabled: pulumi.Bool(topology.Protect),
		Tags:                      named(name),
	}

	if args.RangeKey != "" {
		table.RangeKey = pulumi.String(args.RangeKey)
		table.Attributes = dynamodb.TableAttributeArray{textAttribute(args.HashKey), textAttribute(args.RangeKey)}
	}

	var err error

	component.Table, err = dynamodb.NewTable(ctx, topology.Name("table"), table,
		pulumi.Parent(component), pulumi.Protect(topology.Protect))
	if err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}

	return component, nil
}

func textAttribute(name string) dynamodb.TableAttributeArgs {
	return dynamodb.TableAttributeArgs{Name: pulumi.String(name), Type: pulumi.String("S")}
}

// Access lets items be read and written, and the table itself be left alone.
func (t *Table) Access() Statement {
	return Statement{
		ID: "Items",
		Actions: []string{
			"dynamodb:BatchGetItem", "dynamodb:BatchWriteItem", "dynamodb:ConditionCheckItem", "dynamodb:DeleteItem",
			"dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:Scan", "dynamodb:UpdateItem",
		},
		Resources: []pulumi.StringInput{t.Table.Arn},
	}
}
