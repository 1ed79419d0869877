package platform

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/dynamodb"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// partitionKey is the only key of the table; docs/contract.md has the rows.
const partitionKey = "pk"

// TableArgs say how the table of tenants shall be.
type TableArgs struct {
	Name string
	// Protect lets DynamoDB refuse a deletion.
	Protect bool
}

// Table has a row for each tenant.
type Table struct {
	pulumi.ResourceState

	Tenants *dynamodb.Table
}

// NewTable declares the table. Its key is the one that AWS has for DynamoDB in
// the account: with one of our own, a key that was disabled by mistake would end
// leases and alarms alike.
func NewTable(ctx *pulumi.Context, name string, args TableArgs, opts ...pulumi.ResourceOption) (*Table, error) {
	table := &Table{}
	if err := ctx.RegisterComponentResource("lessor:platform:Table", name, table, opts...); err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}

	var err error

	table.Tenants, err = dynamodb.NewTable(ctx, "tenants", &dynamodb.TableArgs{
		Name:        pulumi.String(args.Name + "-tenants"),
		BillingMode: pulumi.String("PAY_PER_REQUEST"),
		HashKey:     pulumi.String(partitionKey),
		Attributes: dynamodb.TableAttributeArray{
			dynamodb.TableAttributeArgs{Name: pulumi.String(partitionKey), Type: pulumi.String("S")},
		},
		PointInTimeRecovery:       dynamodb.TablePointInTimeRecoveryArgs{Enabled: pulumi.Bool(true)},
		ServerSideEncryption:      dynamodb.TableServerSideEncryptionArgs{Enabled: pulumi.Bool(true)},
		DeletionProtectionEnabled: pulumi.Bool(args.Protect),
	}, pulumi.Parent(table))
	if err != nil {
		return nil, fmt.Errorf("table of tenants: %w", err)
	}

	return table, nil
}
