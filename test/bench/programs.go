package main

import (
	"fmt"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/dynamodb"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/sqs"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The programs that are measured: one that needs no provider, and one with two
// resources of AWS.
const (
	bare = "bare"
	pair = "pair"
)

// benchCatalog has a tier for each of the programs, and a pool with its tenants.
const benchCatalog = `version: 1
tiers:
  bare: {program: bare}
  pair: {program: pair}
  slow: {program: slow}
  free: {program: pool, pool: pool-lodge, poolParameters: [sharedEndpoint]}
  pool-lodge: {program: shared}
`

// Parameters of both programs. The first is in no resource, so that a change of
// it is an operation that changes nothing; the second is in one.
const (
	parameterNote  = "note"
	parameterColor = "color"
)

type parameters struct {
	Note  string `json:"note"`
	Color string `json:"color"`
}

// allPrograms are those of a worker of this program.
func allPrograms() engine.Programs {
	all := programs.All()
	all[bare] = program(deployBare)
	all[pair] = program(deployPair)
	all[meet] = meeting{}
	all[slow] = slowProgram{}

	return all
}

type program func(ctx *pulumi.Context, t engine.Topology, p parameters) (pulumi.Map, error)

func (program) Check(given tenant.Parameters) error { return engine.Decode(given, &parameters{}) }

func (p program) Deploy(ctx *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
	var given parameters
	if err := engine.Decode(t.Parameters, &given); err != nil {
		return nil, err
	}

	return p(ctx, t, given)
}

// deployBare makes two resources that live in the engine.
func deployBare(ctx *pulumi.Context, t engine.Topology, p parameters) (pulumi.Map, error) {
	for name, input := range map[string]string{"fixed": "same", "colored": p.Color} {
		if _, err := pulumi.NewStash(ctx, t.Name(name), &pulumi.StashArgs{Input: pulumi.String(input)}); err != nil {
			return nil, fmt.Errorf("declaring a stash: %w", err)
		}
	}

	return pulumi.Map{"color": pulumi.String(p.Color)}, nil
}

// deployPair makes a queue and a table.
func deployPair(ctx *pulumi.Context, t engine.Topology, p parameters) (pulumi.Map, error) {
	const maxName = 60

	provider, err := programs.Provider(ctx, t)
	if err != nil {
		return nil, err
	}

	queue, err := sqs.NewQueue(ctx, t.Name("queue"), &sqs.QueueArgs{
		Name: pulumi.String(t.PhysicalName("queue", maxName)),
		Tags: pulumi.StringMap{"color": pulumi.String(p.Color)},
	}, pulumi.Provider(provider))
	if err != nil {
		return nil, fmt.Errorf("declaring the queue: %w", err)
	}

	table, err := dynamodb.NewTable(ctx, t.Name("table"), &dynamodb.TableArgs{
		Name:        pulumi.String(t.PhysicalName("table", maxName)),
		BillingMode: pulumi.String("PAY_PER_REQUEST"),
		HashKey:     pulumi.String("id"),
		Attributes: dynamodb.TableAttributeArray{
			&dynamodb.TableAttributeArgs{Name: pulumi.String("id"), Type: pulumi.String("S")},
		},
	}, pulumi.Provider(provider))
	if err != nil {
		return nil, fmt.Errorf("declaring the table: %w", err)
	}

	return pulumi.Map{"queue": queue.Url, "table": table.Name}, nil
}
