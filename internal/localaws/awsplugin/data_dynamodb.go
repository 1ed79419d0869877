package awsplugin

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func tableData() *dataPlane {
	return &dataPlane{
		create: createTable,
		// What else of a table can change has no effect in the emulator.
		update: setTTL,
		remove: func(ctx context.Context, c *clients, p part) error {
			_, err := c.dynamodb.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &p.id})

			return err //nolint:wrapcheck // explained by the caller
		},
	}
}

func createTable(ctx context.Context, c *clients, p part) (id string, outputs map[string]any, err error) {
	input := &dynamodb.CreateTableInput{
		TableName:   aws.String(p.inputs.text("name")),
		BillingMode: dynamotypes.BillingMode(p.inputs.text("billingMode")),
		KeySchema:   keySchema(p.inputs),
	}

	if input.BillingMode == dynamotypes.BillingModeProvisioned {
		input.ProvisionedThroughput = throughput(p.inputs)
	}

	for _, attribute := range p.inputs.bags("attributes") {
		input.AttributeDefinitions = append(input.AttributeDefinitions, dynamotypes.AttributeDefinition{
			AttributeName: aws.String(attribute.text("name")), AttributeType: dynamotypes.ScalarAttributeType(attribute.text("type")),
		})
	}

	for _, index := range p.inputs.bags("globalSecondaryIndexes") {
		input.GlobalSecondaryIndexes = append(input.GlobalSecondaryIndexes, globalIndex(index))
	}

	if p.inputs.flag("streamEnabled") {
		input.StreamSpecification = &dynamotypes.StreamSpecification{
			StreamEnabled: aws.Bool(true), StreamViewType: dynamotypes.StreamViewType(p.inputs.text("streamViewType")),
		}
	}

	made, err := c.dynamodb.CreateTable(ctx, input)
	if leftOver[*dynamotypes.ResourceInUseException](err) {
		if _, err := c.dynamodb.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: input.TableName}); err != nil {
			return "", nil, fmt.Errorf("removing a left-over: %w", err)
		}

		made, err = c.dynamodb.CreateTable(ctx, input)
	}

	if err != nil {
		return "", nil, err //nolint:wrapcheck // explained by the caller
	}

	outputs = map[string]any{"arn": aws.ToString(made.TableDescription.TableArn)}
	if stream := aws.ToString(made.TableDescription.LatestStreamArn); stream != "" {
		outputs["streamArn"] = stream
	}

	return "", outputs, setTTL(ctx, c, part{id: p.inputs.text("name"), inputs: p.inputs})
}

func keySchema(keys bag) []dynamotypes.KeySchemaElement {
	schema := []dynamotypes.KeySchemaElement{{AttributeName: aws.String(keys.text("hashKey")), KeyType: dynamotypes.KeyTypeHash}}
	if sort := keys.text("rangeKey"); sort != "" {
		schema = append(schema, dynamotypes.KeySchemaElement{AttributeName: &sort, KeyType: dynamotypes.KeyTypeRange})
	}

	return schema
}

func throughput(of bag) *dynamotypes.ProvisionedThroughput {
	read, _ := of.number("readCapacity")
	write, _ := of.number("writeCapacity")

	return &dynamotypes.ProvisionedThroughput{
		ReadCapacityUnits: aws.Int64(int64(max(read, 1))), WriteCapacityUnits: aws.Int64(int64(max(write, 1))),
	}
}

func globalIndex(index bag) dynamotypes.GlobalSecondaryIndex {
	return dynamotypes.GlobalSecondaryIndex{
		IndexName:  aws.String(index.text("name")),
		KeySchema:  keySchema(index),
		Projection: &dynamotypes.Projection{ProjectionType: dynamotypes.ProjectionType(index.text("projectionType"))},
	}
}

func setTTL(ctx context.Context, c *clients, p part) error {
	ttl := p.inputs.bag("ttl")
	if ttl == nil {
		return nil
	}

	_, err := c.dynamodb.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName: &p.id,
		TimeToLiveSpecification: &dynamotypes.TimeToLiveSpecification{
			AttributeName: aws.String(ttl.text("attributeName")), Enabled: aws.Bool(ttl.flag("enabled")),
		},
	})
	if err != nil {
		return fmt.Errorf("time to live: %w", err)
	}

	return nil
}
