package bed

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/internal/localaws"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// plainProject keeps the two sides' stacks apart in one bucket, where nothing
// else is asked for.
const plainProject = "plain"

// runPlain is the sequence of Pulumi's own examples of inline programs: upsert,
// set the configuration, up; or select, destroy, remove.
func runPlain(ctx context.Context, programs engine.Programs, o PlainOrder) error {
	backend := engine.BackendURL(tenant.Stack{Shard: o.Bucket}, "")
	options := []auto.LocalWorkspaceOption{
		auto.SecretsProvider(o.Secrets),
		auto.EnvVars(map[string]string{"PULUMI_BACKEND_URL": backend}),
	}

	if o.Destroy {
		return destroyPlain(ctx, o, options)
	}

	stack, err := auto.UpsertStackInlineSource(ctx, o.Tenant.String(), o.Project, inline(programs, o), options...)
	if err != nil {
		return fmt.Errorf("upserting the stack: %w", err)
	}

	config := auto.ConfigMap{}
	for name, value := range o.Parameters {
		config[name] = auto.ConfigValue{Value: value}
	}

	if err := stack.SetAllConfig(ctx, config); err != nil {
		return fmt.Errorf("setting the configuration: %w", err)
	}

	if _, err := stack.Up(ctx); err != nil {
		return fmt.Errorf("updating the stack: %w", err)
	}

	return nil
}

func destroyPlain(ctx context.Context, o PlainOrder, options []auto.LocalWorkspaceOption) error {
	stack, err := auto.SelectStackInlineSource(ctx, o.Tenant.String(), o.Project, func(*pulumi.Context) error { return nil }, options...)
	if err != nil {
		return fmt.Errorf("selecting the stack: %w", err)
	}

	if _, err := stack.Destroy(ctx); err != nil {
		return fmt.Errorf("destroying the stack: %w", err)
	}

	if err := stack.Workspace().RemoveStack(ctx, o.Tenant.String()); err != nil {
		return fmt.Errorf("removing the stack: %w", err)
	}

	return nil
}

// inline is the program of a tier as everyone writes it first: parameters come
// from the stack's configuration.
func inline(programs engine.Programs, o PlainOrder) pulumi.RunFunc {
	return func(ctx *pulumi.Context) error {
		parameters := tenant.Parameters{}

		for name := range o.Parameters {
			value, _ := ctx.GetConfig(o.Project + ":" + name)

			encoded, err := json.Marshal(value)
			if err != nil {
				return fmt.Errorf("reading the configuration: %w", err)
			}

			parameters[name] = encoded
		}

		outputs, err := programs[o.Program].Deploy(ctx, engine.Topology{
			Generation: 1, Tenant: o.Tenant, Tier: o.Program, Region: localaws.Region, Phase: tenant.PhaseActive,
			Program: o.Program, Parameters: parameters,
		})
		if err != nil {
			return err
		}

		for name, value := range outputs {
			ctx.Export(name, value)
		}

		return nil
	}
}
