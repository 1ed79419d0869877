package platform

import (
	"fmt"
	"strings"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// Parts of an ARN, which is arn:partition:service:region:account:resource.
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference-arns.html
const (
	arnPartition = 1
	arnService   = 2
	arnRegion    = 3
	arnParts     = 6
)

// account is where the platform is made.
type account struct {
	id        string
	partition string
}

// whose asks AWS whose credentials these are.
func whose(ctx *pulumi.Context, opts ...pulumi.InvokeOption) (account, error) {
	caller, err := aws.GetCallerIdentity(ctx, nil, opts...)
	if err != nil {
		return account{}, fmt.Errorf("asking for the account: %w", err)
	}

	parts := strings.Split(caller.Arn, ":")
	if len(parts) < arnParts {
		return account{}, fmt.Errorf("asking for the account: %q is no ARN", caller.Arn)
	}

	return account{id: caller.AccountId, partition: parts[arnPartition]}, nil
}

// root stands for everybody in the account whom IAM allows something.
func (a account) root() string { return fmt.Sprintf("arn:%s:iam::%s:root", a.partition, a.id) }

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
