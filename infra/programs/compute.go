package programs

import (
	"fmt"
	"net/netip"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ecs"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine"
)

// compute is what the services of several tenants run on.
type compute struct {
	cluster   *ecs.Cluster
	balancer  *Balancer
	access    *ec2.SecurityGroup
	execution *Identity
}

func newCompute(
	ctx *pulumi.Context, topology engine.Topology, p SharedParameters, network *Network, inside netip.Prefix, made pulumi.ResourceOption,
) (compute, error) {
	var (
		c   compute
		err error
	)

	if c.cluster, err = newCluster(ctx, topology, made); err != nil {
		return compute{}, fmt.Errorf("declaring the cluster: %w", err)
	}

	c.balancer, err = NewBalancer(ctx, topology, BalancerArgs{Network: network, Clients: inside, CertificateARN: p.CertificateARN}, made)
	if err != nil {
		return compute{}, fmt.Errorf("declaring the load balancer: %w", err)
	}

	if c.access, err = newContainerAccess(ctx, topology, network, inside, c.balancer, made); err != nil {
		return compute{}, fmt.Errorf("declaring the access to containers: %w", err)
	}

	c.execution, err = NewIdentity(ctx, topology, executionArgs(topology, network.VPC.Arn, p.RepositoryARNs), made)
	if err != nil {
		return compute{}, fmt.Errorf("declaring the execution role: %w", err)
	}

	return c, nil
}

// executionArgs are of the role that starts tasks: it pulls images and opens the
// logs of tenants, and nothing else. within is the ARN of something in the
// account and region.
// https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task_execution_IAM_role.html
func executionArgs(topology engine.Topology, within pulumi.StringOutput, repositories []string) IdentityArgs {
	derived := func(of func(at place) string) pulumi.StringInput {
		text, _ := within.ApplyT(func(arn string) string { return of(placeOf(arn)) }).(pulumi.StringOutput)

		return text
	}
	arn := func(format string) pulumi.StringInput {
		return derived(func(at place) string { return fmt.Sprintf(format, at.partition, at.region, at.account) })
	}

	images := make([]pulumi.StringInput, 0, max(1, len(repositories)))
	for _, repository := range repositories {
		images = append(images, pulumi.String(repository))
	}

	if len(images) == 0 {
		images = append(images, arn("arn:%s:ecr:%s:%s:repository/*"))
	}

	return IdentityArgs{
		Service: tasks,
		Account: derived(func(at place) string { return at.account }),
		Source:  arn("arn:%s:ecs:%s:%s:*"),
		Part:    "execution", Description: "What starts the tasks of the tenants of " + topology.Tenant.String(),
		Allow: []Statement{
			// This action knows no resources.
			// https://docs.aws.amazon.com/AmazonECR/latest/userguide/security_iam_id-based-policy-examples.html
			{ID: "SignIn", Actions: []string{"ecr:GetAuthorizationToken"}, Resources: []pulumi.StringInput{pulumi.String("*")}},
			{
				ID:        "Images",
				Actions:   []string{"ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"},
				Resources: images,
			},
			{
				ID: "Logs", Actions: []string{"logs:CreateLogStream", "logs:PutLogEvents"},
				Resources: []pulumi.StringInput{arn("arn:%s:logs:%s:%s:log-group:" + logPrefix + "*:*")},
			},
		},
	}
}
