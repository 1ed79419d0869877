package platform

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	keyDeletionDays      = 30
	keyDeletionDaysLoose = 7
)

// KeysArgs say what keys are for.
type KeysArgs struct {
	// Name begins the aliases.
	Name string
	// Root is the ARN of the account, whose IAM policies decide who may use
	// the keys.
	Root string
	// Services of AWS, such as sns.amazonaws.com, that send to the queue for
	// somebody of Account.
	Services []string
	Account  string
	// Protect makes the time long in which a deletion can be taken back.
	Protect bool
}

// Keys are two, because not everybody who may read a state bucket may read the
// secrets in it.
type Keys struct {
	pulumi.ResourceState

	// State encrypts the secrets inside of state.
	State *kms.Key
	// Data encrypts queues, state buckets and the results topic.
	Data *kms.Key
}

// NewKeys declares the fleet's keys with their aliases.
func NewKeys(ctx *pulumi.Context, name string, args KeysArgs, opts ...pulumi.ResourceOption) (*Keys, error) {
	keys := &Keys{}
	if err := ctx.RegisterComponentResource("lessor:platform:Keys", name, keys, opts...); err != nil {
		return nil, fmt.Errorf("keys: %w", err)
	}

	var err error

	keys.State, err = args.key(ctx, "state", "Secrets in the Pulumi state of "+args.Name+"'s tenants", nil, pulumi.Parent(keys))
	if err != nil {
		return nil, err
	}

	keys.Data, err = args.key(ctx, "data", "Queues, state buckets and results of "+args.Name, args.Services, pulumi.Parent(keys))
	if err != nil {
		return nil, err
	}

	return keys, nil
}

func (args KeysArgs) key(
	ctx *pulumi.Context, name, description string, services []string, opts ...pulumi.ResourceOption,
) (*kms.Key, error) {
	window := keyDeletionDaysLoose
	if args.Protect {
		window = keyDeletionDays
	}

	key, err := kms.NewKey(ctx, name, &kms.KeyArgs{
		Description:          pulumi.String(description),
		EnableKeyRotation:    pulumi.Bool(true),
		DeletionWindowInDays: pulumi.Int(window),
		Policy:               args.policy(services),
	}, opts...)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", name, err)
	}

	_, err = kms.NewAlias(ctx, name, &kms.AliasArgs{
		Name:        pulumi.String("alias/" + args.Name + "-" + name),
		TargetKeyId: key.KeyId,
	}, opts...)
	if err != nil {
		return nil, fmt.Errorf("alias of key %s: %w", name, err)
	}

	return key, nil
}

// policy leaves a key to IAM, which is what KMS does by itself, and lets services
// of AWS use it that send to the encrypted queue.
// https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html#compatibility-with-aws-services
func (args KeysArgs) policy(services []string) pulumi.StringOutput {
	statements := []Statement{{
		ID: "LeaveItToIAM", Principal: pulumi.StringMap{"AWS": pulumi.String(args.Root)},
		Actions: []string{"kms:*"}, Resources: pulumi.StringArray{pulumi.String(everybody)},
	}}

	if len(services) > 0 {
		statements = append(statements, Statement{
			ID: "EventSources", Principal: pulumi.Map{"Service": pulumi.ToStringArray(services)},
			Actions: []string{"kms:GenerateDataKey", "kms:Decrypt"}, Resources: pulumi.StringArray{pulumi.String(everybody)},
			Condition: pulumi.Map{"StringEquals": pulumi.StringMap{"aws:SourceAccount": pulumi.String(args.Account)}},
		})
	}

	return document(statements...)
}

// secretsProviderURL names the key by its id, which stays right when the alias
// moves to another key. It has no endpoint, since the URL is stored in every
// tenant's state.
func secretsProviderURL(key *kms.Key) pulumi.StringOutput {
	return pulumi.Sprintf("awskms:///%s%s", key.KeyId, key.Arn.ApplyT(regionQuery))
}

func regionQuery(arn string) string {
	if region := regionOf(arn); region != "" {
		return "?region=" + region
	}

	return ""
}
