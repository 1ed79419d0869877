package platform

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Outputs of the stack.
const (
	OutputQueueURL           = "queueUrl"
	OutputDeadLetterQueueURL = "deadLetterQueueUrl"
	OutputTableName          = "tableName"
	OutputStateBuckets       = "stateBuckets"
	OutputSecretsProvider    = "secretsProvider"
	OutputResultsTopicARN    = "resultsTopicArn"
	// OutputEnvironment is a map from the worker's and enqueue's variables to
	// the values that they have in this stack.
	OutputEnvironment = "environment"
)

const (
	tagManagedBy = "managed-by"
	managedBy    = "lessor"
)

// Program declares the platform and exports its outputs. A Config that does not
// pass Validate is its error.
func Program(cfg Config) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		outputs, err := Deploy(ctx, cfg)
		if err != nil {
			return err
		}

		for name, value := range outputs {
			ctx.Export(name, value)
		}

		return nil
	}
}

// Deploy declares the platform and returns its outputs, for programs that
// declare more besides.
func Deploy(ctx *pulumi.Context, cfg Config) (pulumi.Map, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}

	cfg = cfg.withDefaults()

	provider, err := newProvider(ctx, cfg)
	if err != nil {
		return nil, err
	}

	made := pulumi.Provider(provider)

	queues, err := newQueues(ctx, cfg, made)
	if err != nil {
		return nil, err
	}

	table, err := newTable(ctx, cfg, made)
	if err != nil {
		return nil, err
	}

	buckets, err := newStateBuckets(ctx, cfg, made)
	if err != nil {
		return nil, err
	}

	key, err := newStateKey(ctx, cfg, made)
	if err != nil {
		return nil, err
	}

	outputs := pulumi.Map{
		OutputQueueURL:           queues.events.Url,
		OutputDeadLetterQueueURL: queues.deadLetters.Url,
		OutputTableName:          table.Name,
		OutputStateBuckets:       buckets,
		OutputSecretsProvider:    secretsProviderURL(key),
	}
	environment := pulumi.Map{
		"LESSOR_QUEUE_URL":             outputs[OutputQueueURL],
		"LESSOR_DEAD_LETTER_QUEUE_URL": outputs[OutputDeadLetterQueueURL],
		"LESSOR_TABLE":                 outputs[OutputTableName],
		"LESSOR_STATE_BUCKETS":         joined(buckets),
		"LESSOR_SECRETS_PROVIDER":      outputs[OutputSecretsProvider],
	}
	outputs[OutputEnvironment] = environment

	if cfg.ResultsTopic {
		topic, err := newResultsTopic(ctx, cfg, made)
		if err != nil {
			return nil, err
		}

		outputs[OutputResultsTopicARN] = topic.Arn
		environment["LESSOR_RESULT_TARGET"] = topic.Arn
	}

	return outputs, nil
}

// newProvider makes the AWS provider that every resource names. An explicit one
// has its region and default tags in state, so that the shell of whoever
// runs a later update does not decide them.
func newProvider(ctx *pulumi.Context, cfg Config) (*aws.Provider, error) {
	tags := pulumi.StringMap{tagManagedBy: pulumi.String(managedBy)}
	for name, value := range cfg.Tags {
		tags[name] = pulumi.String(value)
	}

	args := &aws.ProviderArgs{DefaultTags: aws.ProviderDefaultTagsArgs{Tags: tags}}
	if cfg.Region != "" {
		args.Region = pulumi.String(cfg.Region)
	}

	provider, err := aws.NewProvider(ctx, "aws", args)
	if err != nil {
		return nil, fmt.Errorf("declaring the provider: %w", err)
	}

	return provider, nil
}

func joined(names pulumi.StringArray) pulumi.Output {
	return names.ToStringArrayOutput().ApplyT(func(all []string) string { return strings.Join(all, ",") })
}
