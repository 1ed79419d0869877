package e2e_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/ec2"
	"github.com/pulumi/pulumi-aws/sdk/v6/go/aws/sqs"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/infra/programs"
	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// secretValue is what must appear nowhere.
const secretValue = "correct-horse-battery-staple"

// runningMark is a file in the operation's temporary directory by which the slow
// program tells that it runs: the CLI is in the middle of its update then.
const runningMark = "running"

// testProgram is a program that misbehaves in the way that its function does.
type testProgram func(ctx *pulumi.Context, t engine.Topology) (pulumi.Map, error)

func (testProgram) Check(tenant.Parameters) error { return nil }

func (p testProgram) Deploy(ctx *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
	return p(ctx, t)
}

func testPrograms() engine.Programs {
	return engine.Programs{
		"secretive": testProgram(func(*pulumi.Context, engine.Topology) (pulumi.Map, error) {
			return pulumi.Map{
				"password": pulumi.ToSecret(pulumi.String(secretValue)),
				"login":    pulumi.Sprintf("admin:%s", pulumi.ToSecret(pulumi.String(secretValue))),
				"endpoint": pulumi.String("https://example.com"),
			}, nil
		}),
		"bulky": testProgram(func(*pulumi.Context, engine.Topology) (pulumi.Map, error) {
			const tooMuch = 65 << 10

			return pulumi.Map{"blob": pulumi.String(strings.Repeat("x", tooMuch))}, nil
		}),
		"slow": testProgram(func(_ *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
			const pause = 6 * time.Second

			//nolint:gosec // the directory is the operation's own
			if err := os.WriteFile(filepath.Join(os.TempDir(), runningMark), nil, 0o600); err != nil {
				return nil, fmt.Errorf("telling the test: %w", err)
			}

			time.Sleep(pause)

			return pulumi.Map{"generation": pulumi.Int(t.Generation)}, nil
		}),
		"wired": testProgram(deployWired),
		"failing": testProgram(func(*pulumi.Context, engine.Topology) (pulumi.Map, error) {
			return nil, errors.New("RequestError: send request failed: dial tcp: connection refused")
		}),
	}
}

// deployWired makes a resource whose id AWS makes up, and one that is known by
// its name.
func deployWired(ctx *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
	const maxName = 60

	provider, err := programs.Provider(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("declaring the provider: %w", err)
	}

	network, err := ec2.NewVpc(ctx, t.Name("net"), &ec2.VpcArgs{
		CidrBlock: pulumi.String("10.0.0.0/16"),
		Tags:      pulumi.StringMap{"Name": pulumi.String(t.PhysicalName("net", maxName)), "phase": pulumi.String(t.Phase)},
	}, pulumi.Provider(provider))
	if err != nil {
		return nil, fmt.Errorf("declaring the network: %w", err)
	}

	queue, err := sqs.NewQueue(ctx, t.Name("queue"), &sqs.QueueArgs{
		Name: pulumi.String(t.PhysicalName("queue", maxName)),
	}, pulumi.Provider(provider), pulumi.DependsOn([]pulumi.Resource{network}))
	if err != nil {
		return nil, fmt.Errorf("declaring the queue: %w", err)
	}

	return pulumi.Map{"network": network.ID(), "queue": queue.Url}, nil
}
