package programs

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/iam"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// Statement allows actions on resources, and nothing else.
type Statement struct {
	// ID names the statement: letters and digits.
	ID        string
	Actions   []string
	Resources []pulumi.StringInput
}

// IdentityArgs say what an Identity is like.
type IdentityArgs struct {
	// Service is who takes the role, such as ecs-tasks.amazonaws.com.
	Service string
	// Account and Source bound on whose behalf it does: an account, and the
	// ARNs of it that match.
	Account pulumi.StringInput
	Source  pulumi.StringInput
	// Part is what the role is of, in its physical name; Description says so to
	// people.
	Part        string
	Description string
	// Allow is all that the role may do.
	Allow []Statement
}

// Identity is a role of a tenant's own, limited to what it is given.
type Identity struct {
	pulumi.ResourceState

	Role   *iam.Role
	Policy *iam.RolePolicy
}

const policyVersion = "2012-10-17"

// NewIdentity declares an identity.
func NewIdentity(ctx *pulumi.Context, topology engine.Topology, args IdentityArgs, opts ...pulumi.ResourceOption) (*Identity, error) {
	identity := &Identity{}
	if err := ctx.RegisterComponentResource("lessor:programs:Identity", topology.Name("identity"), identity, opts...); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}

	within := pulumi.Parent(identity)
	name := topology.PhysicalName(args.Part, maxRoleName)

	var err error

	identity.Role, err = iam.NewRole(ctx, topology.Name("role"), &iam.RoleArgs{
		Name:             pulumi.String(name),
		Description:      pulumi.String(args.Description),
		AssumeRolePolicy: args.trust(),
		Tags:             named(name),
	}, within)
	if err != nil {
		return nil, fmt.Errorf("role: %w", err)
	}

	identity.Policy, err = iam.NewRolePolicy(ctx, topology.Name("role-policy"), &iam.RolePolicyArgs{
		Name:   pulumi.String("own-resources"),
		Role:   identity.Role.Name,
		Policy: allow(args.Allow),
	}, within)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}

	return identity, nil
}

// trust lets the service take the role, and only for the account: a confused
// deputy must not. https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html
func (args IdentityArgs) trust() pulumi.StringOutput {
	return pulumi.JSONMarshal(pulumi.Map{
		"Version": pulumi.String(policyVersion),
		"Statement": pulumi.Array{pulumi.Map{
			"Effect":    pulumi.String("Allow"),
			"Action":    pulumi.String("sts:AssumeRole"),
			"Principal": pulumi.Map{"Service": pulumi.String(args.Service)},
			"Condition": pulumi.Map{
				"StringEquals": pulumi.Map{"aws:SourceAccount": args.Account},
				"ArnLike":      pulumi.Map{"aws:SourceArn": args.Source},
			},
		}},
	})
}

func allow(statements []Statement) pulumi.StringOutput {
	list := make(pulumi.Array, 0, len(statements))

	for _, statement := range statements {
		resources := make(pulumi.Array, 0, len(statement.Resources))
		for _, arn := range statement.Resources {
			resources = append(resources, arn)
		}

		list = append(list, pulumi.Map{
			"Sid":      pulumi.String(statement.ID),
			"Effect":   pulumi.String("Allow"),
			"Action":   pulumi.ToStringArray(statement.Actions),
			"Resource": resources,
		})
	}

	return pulumi.JSONMarshal(pulumi.Map{"Version": pulumi.String(policyVersion), "Statement": list})
}
