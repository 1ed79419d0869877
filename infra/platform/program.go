package platform

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
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

	owner, err := whose(ctx, pulumi.Provider(provider))
	if err != nil {
		return nil, err
	}

	// A destroy deletes what is not protected before it finds what is, so a
	// guard on what holds data alone would leave it without versions, keys'
	// names and anybody who may use it. Components pass the guard on.
	return deploy(ctx, cfg, owner, pulumi.Composite(pulumi.Provider(provider), pulumi.Protect(cfg.Protect)))
}

func deploy(ctx *pulumi.Context, cfg Config, owner account, made pulumi.ResourceOption) (pulumi.Map, error) {
	keys, err := NewKeys(ctx, "keys", KeysArgs{
		Name: cfg.Name, Root: owner.root(), Services: cfg.services(), Account: owner.id, Protect: cfg.Protect,
	}, made)
	if err != nil {
		return nil, err
	}

	queues, err := NewQueues(ctx, "queues", QueuesArgs{
		Name: cfg.Name, VisibilityTimeout: cfg.VisibilityTimeout, MaxReceiveCount: cfg.MaxReceiveCount, Key: keys.Data,
		Sources: cfg.EventSources, Services: cfg.services(),
	}, made)
	if err != nil {
		return nil, err
	}

	_, err = NewAlarms(ctx, "alarms", AlarmsArgs{
		Name: cfg.Name, Queues: queues, OldestMessage: cfg.OldestMessage, Actions: cfg.AlarmActions,
	}, made)
	if err != nil {
		return nil, err
	}

	table, err := NewTable(ctx, "table", TableArgs{Name: cfg.Name, Protect: cfg.Protect}, made)
	if err != nil {
		return nil, err
	}

	buckets, err := newBuckets(ctx, cfg, owner, keys, made)
	if err != nil {
		return nil, err
	}

	var results *ResultsTarget

	if cfg.Results != ResultsNone {
		results, err = NewResults(ctx, "results", ResultsArgs{Name: cfg.Name, Kind: cfg.Results, Key: keys.Data}, made)
		if err != nil {
			return nil, err
		}
	}

	access, err := NewAccess(ctx, "access", AccessArgs{
		Name: cfg.Name, Keys: keys, Queues: queues, Table: table, Buckets: buckets, Results: results,
		TierRoles: cfg.TierRoles, HookQueues: cfg.HookQueues, Cluster: cfg.Cluster, Worker: cfg.Worker, Scaler: cfg.Scaler,
	}, made)
	if err != nil {
		return nil, err
	}

	return parts{cfg, keys, queues, table, buckets, results, access}.outputs(), nil
}

func newBuckets(ctx *pulumi.Context, cfg Config, owner account, keys *Keys, opts ...pulumi.ResourceOption) ([]*Bucket, error) {
	prefix := cfg.StateBucketPrefix
	if prefix == "" {
		prefix = fmt.Sprintf("%s-state-%s", cfg.Name, owner.id)
	}

	buckets := make([]*Bucket, 0, cfg.StateBuckets)

	for i := range cfg.StateBuckets {
		bucket, err := NewBucket(ctx, fmt.Sprintf("state-%d", i), BucketArgs{
			Bucket: fmt.Sprintf("%s-%d", prefix, i), Key: keys.Data, RetentionDays: cfg.RetentionDays, Protect: cfg.Protect,
		}, opts...)
		if err != nil {
			return nil, err
		}

		buckets = append(buckets, bucket)
	}

	return buckets, nil
}
