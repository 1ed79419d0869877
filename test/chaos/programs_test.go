package chaos_test

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/s3"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/sqs"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The tiers of the fleet under chaos.
const (
	tierFree   = "free"
	tierPlain  = "plain"
	tierSmall  = "small"
	tierLarge  = "large"
	tierDoomed = "doomed"
	tierSilo   = "enterprise"
	// tierNowhere is in no catalog.
	tierNowhere = "platinum"
)

// chaosCatalog has room for many failed attempts where none is meant to be the
// last, and for two where every attempt must fail.
const chaosCatalog = `version: 1
tiers:
  free: {program: pool, parameters: {sharedEndpoint: pool.example.com}, maxAttempts: 100}
  plain: {program: plain, maxAttempts: 100}
  small: {program: network, parameters: {subnets: 1}, maxAttempts: 100}
  large: {program: network, parameters: {subnets: 2}, maxAttempts: 100}
  doomed: {program: network, parameters: {subnets: 1}, maxAttempts: 2}
  enterprise: {program: silo, protect: true, finalSnapshot: true, maxAttempts: 100}
`

// subnetsOf is how many subnets a tier has.
func subnetsOf(tier string) int {
	return map[string]int{tierSmall: 1, tierDoomed: 1, tierLarge: 2, tierSilo: 2}[tier]
}

// tagNote is the tag by which the simulator shows a tenant's parameter.
const tagNote = "note"

const (
	parameterNote     = "note"
	parameterEndpoint = "sharedEndpoint"
	outputNote        = "note"
	outputServing     = programs.OutputServing
)

// noteParameters are the parameters of the programs of this package.
type noteParameters struct {
	Note    string `json:"note"`
	Subnets int    `json:"subnets"`
}

func chaosPrograms() engine.Programs {
	none := func() noteParameters { return noteParameters{} }

	return engine.Programs{
		"plain":   programs.New(none, nil, deployPlain),
		"network": programs.New(none, nil, deployNetwork),
	}
}

func noteOutputs(topology engine.Topology, p noteParameters) pulumi.Map {
	return pulumi.Map{
		outputNote:    pulumi.String(p.Note),
		outputServing: pulumi.Bool(topology.Phase != tenant.PhaseSuspended),
	}
}

func deployPlain(_ *pulumi.Context, topology engine.Topology, p noteParameters) (pulumi.Map, error) {
	return noteOutputs(topology, p), nil
}

// deployNetwork makes what AWS numbers, and so can be made twice by a worker
// that does not know that it was made, and what has a name, and so cannot be
// made again by one that does not know that it is there.
func deployNetwork(ctx *pulumi.Context, topology engine.Topology, p noteParameters) (pulumi.Map, error) {
	provider, err := programs.Provider(ctx, topology)
	if err != nil {
		return nil, err
	}

	with := pulumi.Provider(provider)
	// What AWS numbers is found again by its Name.
	tags := func(part string) pulumi.StringMap {
		return pulumi.StringMap{tagNote: pulumi.String(p.Note), "Name": pulumi.String(topology.PhysicalName(part, 256))}
	}

	vpc, err := ec2.NewVpc(ctx, topology.Name("vpc"), &ec2.VpcArgs{CidrBlock: pulumi.String("10.0.0.0/16"), Tags: tags("vpc")}, with)
	if err != nil {
		return nil, fmt.Errorf("vpc: %w", err)
	}

	for i := range p.Subnets {
		part := fmt.Sprintf("subnet-%d", i)

		if _, err := ec2.NewSubnet(ctx, topology.Name(part), &ec2.SubnetArgs{
			VpcId: vpc.ID(), CidrBlock: pulumi.Sprintf("10.0.%d.0/24", i), Tags: tags(part),
		}, with); err != nil {
			return nil, fmt.Errorf("subnet: %w", err)
		}
	}

	if _, err := s3.NewBucketV2(ctx, topology.Name("data"), &s3.BucketV2Args{
		Bucket: pulumi.String(topology.PhysicalName("data", 63)), Tags: tags("data"),
	}, with); err != nil {
		return nil, fmt.Errorf("bucket: %w", err)
	}

	if _, err := sqs.NewQueue(ctx, topology.Name("jobs"), &sqs.QueueArgs{
		Name: pulumi.String(topology.PhysicalName("jobs", 80)), Tags: tags("jobs"),
	}, with); err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}

	outputs := noteOutputs(topology, p)
	outputs["vpcId"] = vpc.ID()

	return outputs, nil
}
