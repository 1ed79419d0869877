package platform

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/cloudwatch"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/sns"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// ResultsArgs say what result events go to.
type ResultsArgs struct {
	Name string
	// Kind is ResultsTopic or ResultsBus.
	Kind Results
	// Key encrypts the topic. The events of a bus, which keeps none, are
	// encrypted by EventBridge.
	Key *kms.Key
}

// ResultsTarget is what result events go to.
type ResultsTarget struct {
	pulumi.ResourceState

	ARN pulumi.StringOutput
	// action is what a worker does with it.
	action string
}

// NewResults declares the target of results.
func NewResults(ctx *pulumi.Context, name string, args ResultsArgs, opts ...pulumi.ResourceOption) (*ResultsTarget, error) {
	target := &ResultsTarget{}
	if err := ctx.RegisterComponentResource("lessor:platform:Results", name, target, opts...); err != nil {
		return nil, fmt.Errorf("results: %w", err)
	}

	physical, within := pulumi.String(args.Name+"-results"), pulumi.Parent(target)

	if args.Kind == ResultsBus {
		bus, err := cloudwatch.NewEventBus(ctx, name, &cloudwatch.EventBusArgs{Name: physical}, within)
		if err != nil {
			return nil, fmt.Errorf("results bus: %w", err)
		}

		target.ARN, target.action = bus.Arn, "events:PutEvents"

		return target, nil
	}

	topic, err := sns.NewTopic(ctx, name, &sns.TopicArgs{Name: physical, KmsMasterKeyId: args.Key.Arn}, within)
	if err != nil {
		return nil, fmt.Errorf("results topic: %w", err)
	}

	target.ARN, target.action = topic.Arn, "sns:Publish"

	return target, nil
}
