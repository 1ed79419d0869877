package programs

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/kms"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/inventory"
)

// KeyArgs say what a Key is like.
type KeyArgs struct {
	// DeletionDays is how long a deleted key can be brought back, 7 to 30.
	DeletionDays int
}

// Key is a tenant's own KMS key with its alias.
type Key struct {
	pulumi.ResourceState

	Key   *kms.Key
	Alias *kms.Alias
}

// NewKey declares a key. It outlives the topology where a final snapshot does,
// since nobody could read the snapshot otherwise.
func NewKey(ctx *pulumi.Context, topology engine.Topology, args KeyArgs, opts ...pulumi.ResourceOption) (*Key, error) {
	component := &Key{}
	if err := ctx.RegisterComponentResource("lessor:programs:Key", topology.Name("encryption"), component, opts...); err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}

	within := pulumi.Parent(component)
	name := topology.PhysicalName("key", maxAliasName-len(aliasPrefix))
	tags := named(name)

	// A key that stays is no orphan, and nothing but this tells.
	if topology.FinalSnapshot != "" {
		tags[inventory.TagKeptFor] = pulumi.String(topology.FinalSnapshot)
	}

	key, err := kms.NewKey(ctx, topology.Name("key"), &kms.KeyArgs{
		Description:          pulumi.String("Data of tenant " + topology.Tenant.String() + " at rest"),
		EnableKeyRotation:    pulumi.Bool(true),
		DeletionWindowInDays: pulumi.Int(args.DeletionDays),
		Tags:                 tags,
	}, within, pulumi.Protect(topology.Protect), pulumi.RetainOnDelete(topology.FinalSnapshot != ""))
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}

	alias, err := kms.NewAlias(ctx, topology.Name("key-alias"), &kms.AliasArgs{
		Name:        pulumi.String(aliasPrefix + name),
		TargetKeyId: key.KeyId,
	}, within)
	if err != nil {
		return nil, fmt.Errorf("alias: %w", err)
	}

	component.Key, component.Alias = key, alias

	return component, nil
}
