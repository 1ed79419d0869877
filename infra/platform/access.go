package platform

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// stateKeys are the keys of a state bucket that belong to Pulumi.
	stateKeys  = "%s/.pulumi/*"
	actionSend = "sqs:SendMessage"
)

// AccessArgs say what there is to be allowed, and to whom.
type AccessArgs struct {
	Name    string
	Keys    *Keys
	Queues  *Queues
	Table   *Table
	Buckets []*Bucket
	// Results is nil if results go nowhere.
	Results *ResultsTarget
	// TierRoles are ARNs of roles, HookQueues those of queues.
	TierRoles  []string
	HookQueues []string
	Cluster    Cluster
	Worker     ServiceAccount
	Scaler     ServiceAccount
}

// Access is who may do what.
type Access struct {
	pulumi.ResourceState

	// Worker is the workers' role and Scaler the one of KEDA. Both are nil if the
	// cluster is not known.
	Worker *iam.Role
	Scaler *iam.Role
	// Producers is a policy for all who send events.
	Producers *iam.Policy
}

// NewAccess declares roles and policies.
func NewAccess(ctx *pulumi.Context, name string, args AccessArgs, opts ...pulumi.ResourceOption) (*Access, error) {
	access := &Access{}
	if err := ctx.RegisterComponentResource("lessor:platform:Access", name, access, opts...); err != nil {
		return nil, fmt.Errorf("access: %w", err)
	}

	within := pulumi.Parent(access)

	var err error

	access.Producers, err = iam.NewPolicy(ctx, "producers", &iam.PolicyArgs{
		Name:        pulumi.String(args.Name + "-producers"),
		Description: pulumi.String("Send tenant events to " + args.Name),
		Policy:      document(args.producer()...),
	}, within)
	if err != nil {
		return nil, fmt.Errorf("policy of producers: %w", err)
	}

	if !args.Cluster.trusted() {
		return access, nil
	}

	access.Worker, err = args.role(ctx, "worker", "Workers of "+args.Name, args.Worker, args.worker(), within)
	if err != nil {
		return nil, err
	}

	access.Scaler, err = args.role(ctx, "scaler", "KEDA, which counts the messages of "+args.Name, args.Scaler, args.scaler(), within)
	if err != nil {
		return nil, err
	}

	return access, nil
}

func (args AccessArgs) role(
	ctx *pulumi.Context, part, description string, who ServiceAccount, may []Statement, opts ...pulumi.ResourceOption,
) (*iam.Role, error) {
	role, err := iam.NewRole(ctx, part, &iam.RoleArgs{
		Name:             pulumi.String(args.Name + "-" + part),
		Description:      pulumi.String(description),
		AssumeRolePolicy: args.Cluster.trust(who),
	}, opts...)
	if err != nil {
		return nil, fmt.Errorf("role %s: %w", part, err)
	}

	_, err = iam.NewRolePolicy(ctx, part, &iam.RolePolicyArgs{
		Name: pulumi.String("fleet"), Role: role.Name, Policy: document(may...),
	}, opts...)
	if err != nil {
		return nil, fmt.Errorf("policy of role %s: %w", part, err)
	}

	return role, nil
}

// worker is the table of docs/safety.md, "What a worker must be allowed". What the
// programs make is no part of it: that is for the roles of tiers.
func (args AccessArgs) worker() []Statement {
	statements := []Statement{
		{
			ID: "Events",
			Actions: []string{
				"sqs:ReceiveMessage", actionSend, "sqs:DeleteMessage", "sqs:ChangeMessageVisibility", "sqs:GetQueueAttributes",
			},
			Resources: pulumi.StringArray{args.Queues.Events.Arn},
		},
		{
			ID: "DeadLetters", Actions: []string{actionSend, "sqs:GetQueueAttributes"},
			Resources: pulumi.StringArray{args.Queues.DeadLetters.Arn},
		},
		{
			ID: "Hooks", Actions: []string{actionSend}, Resources: pulumi.ToStringArray(args.HookQueues),
		},
		{
			ID: "Tenants", Actions: []string{"dynamodb:GetItem", "dynamodb:UpdateItem", "dynamodb:Scan"},
			Resources: pulumi.StringArray{args.Table.Tenants.Arn},
		},
		{
			ID: "Shards", Actions: []string{"s3:ListBucket", "s3:ListBucketVersions"}, Resources: args.shards("%s"),
		},
		{
			ID: "State",
			Actions: []string{
				"s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:GetObjectVersion", "s3:DeleteObjectVersion",
			},
			Resources: args.shards(stateKeys),
		},
		{
			ID: "Secrets", Actions: []string{"kms:Encrypt", "kms:Decrypt"}, Resources: pulumi.StringArray{args.Keys.State.Arn},
		},
		{
			ID: "Data", Actions: []string{"kms:GenerateDataKey", "kms:Decrypt"}, Resources: pulumi.StringArray{args.Keys.Data.Arn},
		},
		{
			ID: "Inventory", Actions: []string{"tag:GetResources", "kms:DescribeKey"},
			Resources: pulumi.StringArray{pulumi.String(everybody)},
		},
		// A session of Pod Identity has tags that go on to the next role.
		// https://docs.aws.amazon.com/eks/latest/userguide/pod-id-abac.html
		{
			ID: "Tiers", Actions: []string{"sts:AssumeRole", "sts:TagSession"}, Resources: pulumi.ToStringArray(args.TierRoles),
		},
	}

	if args.Results != nil {
		statements = append(statements, Statement{
			ID: "Results", Actions: []string{args.Results.action}, Resources: pulumi.StringArray{args.Results.ARN},
		})
	}

	return statements
}

func (args AccessArgs) shards(pattern string) pulumi.StringArray {
	arns := make(pulumi.StringArray, 0, len(args.Buckets))
	for _, bucket := range args.Buckets {
		arns = append(arns, pulumi.Sprintf(pattern, bucket.ARN))
	}

	return arns
}

// producer sends, which for an encrypted queue needs the key too.
// https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-key-management.html
func (args AccessArgs) producer() []Statement {
	return []Statement{
		{ID: "Send", Actions: []string{actionSend}, Resources: pulumi.StringArray{args.Queues.Events.Arn}},
		{
			ID: "Encrypt", Actions: []string{"kms:GenerateDataKey", "kms:Decrypt"},
			Resources: pulumi.StringArray{args.Keys.Data.Arn},
		},
	}
}

// scaler counts messages: https://keda.sh/docs/latest/scalers/aws-sqs/
func (args AccessArgs) scaler() []Statement {
	return []Statement{
		{ID: "Count", Actions: []string{"sqs:GetQueueAttributes"}, Resources: pulumi.StringArray{args.Queues.Events.Arn}},
	}
}
