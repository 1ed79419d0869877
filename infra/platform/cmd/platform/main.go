// Command platform is the Pulumi program of infra/platform; run it with
// `pulumi up` in that folder.
package main

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"

	"github.com/lessor-dev/lessor/infra/platform"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		cfg, err := configuration(ctx)
		if err != nil {
			return err
		}

		return platform.Program(cfg)(ctx)
	})
}

func configuration(ctx *pulumi.Context) (platform.Config, error) {
	values := config.New(ctx, "")
	cfg := platform.Config{
		Name:              values.Require("name"),
		Region:            config.New(ctx, "aws").Get("region"),
		StateBucketPrefix: values.Get("stateBucketPrefix"),
		StateBuckets:      values.RequireInt("stateBuckets"),
		MaxReceiveCount:   values.RequireInt("maxReceiveCount"),
		Protect:           values.RequireBool("protect"),
		ResultsTopic:      values.RequireBool("resultsTopic"),
	}

	if cfg.StateBucketPrefix != "" {
		return cfg, nil
	}

	// Bucket names are unique over all accounts.
	caller, err := aws.GetCallerIdentity(ctx, nil)
	if err != nil {
		return cfg, fmt.Errorf("reading the account's id: %w", err)
	}

	cfg.StateBucketPrefix = fmt.Sprintf("%s-state-%s", cfg.Name, caller.AccountId)

	return cfg, nil
}
