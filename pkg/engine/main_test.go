package engine_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"go.uber.org/goleak"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// TestMain is also the child process of the operations that the tests run.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "operation" {
		os.Exit(engine.Child(context.Background(), testPrograms(), os.Stdin, os.Stdout))
	}

	if len(os.Args) == 2 && os.Args[1] == "nested" {
		_, err := engine.NewRunner(context.Background(), engine.Config{})

		panic(err)
	}

	if len(os.Args) == 2 && os.Args[1] == "hog" {
		hog()
	}

	if len(os.Args) == 4 && os.Args[1] == "worker" {
		os.Exit(playWorker(os.Args[2], os.Args[3]))
	}

	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	stop := func() {}

	// What a worker's environment may hold, wanted by the CLI or not.
	for name, value := range map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
		"PULUMI_CONFIG_PASSPHRASE": "wrong", "PULUMI_ACCESS_TOKEN": "wrong", "LESSOR_QUEUE_URL": "queue", "SOME_OTHER_SECRET": "x",
	} {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)

			return 1
		}
	}

	if !testing.Short() {
		var err error
		if stop, err = startEmulator(); err != nil {
			fmt.Fprintln(os.Stderr, err)

			return 1
		}
	}

	code := m.Run()

	stop()

	if code == 0 {
		if err := goleak.Find(goleak.IgnoreTopFunction("github.com/golang/glog.(*fileSink).flushDaemon")); err != nil {
			fmt.Fprintln(os.Stderr, err)

			return 1
		}
	}

	return code
}

const secretValue = "hunter2-is-not-for-you"

// testPrograms are the programs that child processes of the tests know.
func testPrograms() engine.Programs {
	return engine.Programs{
		"plain":          deployFunc(deployPlain),
		"empty":          deployFunc(func(*pulumi.Context, engine.Topology) (pulumi.Map, error) { return pulumi.Map{}, nil }),
		"panics":         deployFunc(func(*pulumi.Context, engine.Topology) (pulumi.Map, error) { panic("the sky fell\non us") }),
		"panicsInApply":  deployFunc(deployPanicInApply),
		"hangs":          deployFunc(deployHang),
		"waits":          deployFunc(deployWait),
		"refuses":        deployFunc(deployRefuse),
		"fails":          deployFunc(func(*pulumi.Context, engine.Topology) (pulumi.Map, error) { return nil, errThrottled }),
		"prints":         deployFunc(deployPrint),
		"exportsTooMuch": deployFunc(deployTooMuch),
		"hogs":           deployFunc(deployHog),
		"cloud":          deployFunc(deployCloud),
		"networks":       deployFunc(deployNetworks),
	}
}

var errThrottled = errors.New("reading the zones: operation error EC2: DescribeAvailabilityZones, https response error StatusCode: 400, " +
	"RequestID: 5a2c, api error Throttling: Rate exceeded")

type deployFunc func(*pulumi.Context, engine.Topology) (pulumi.Map, error)

func (deployFunc) Check(tenant.Parameters) error { return nil }

func (f deployFunc) Deploy(ctx *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
	return f(ctx, t)
}

type plainParameters struct {
	Size  int    `json:"size"`
	Color string `json:"color"`
}

type component struct{ pulumi.ResourceState }

// deployPlain makes resources that need no plugin: a stash lives in the engine.
func deployPlain(ctx *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
	p := plainParameters{Size: 2, Color: "blue"}
	if err := engine.Decode(t.Parameters, &p); err != nil {
		return nil, err
	}

	group := &component{}
	if err := ctx.RegisterComponentResource("test:index:Group", t.Name("group"), group); err != nil {
		return nil, err
	}

	for i := range p.Size {
		_, err := pulumi.NewStash(ctx, t.Name(fmt.Sprintf("part%d", i)), &pulumi.StashArgs{
			Input: pulumi.Map{"color": pulumi.String(p.Color), "password": pulumi.ToSecret(pulumi.String(secretValue))},
		}, pulumi.Parent(group), pulumi.Protect(t.Protect))
		if err != nil {
			return nil, err
		}
	}

	return pulumi.Map{
		"color":      pulumi.String(p.Color),
		"generation": pulumi.Int(t.Generation),
		"snapshot":   pulumi.String(t.FinalSnapshot),
		"password":   pulumi.ToSecret(pulumi.String(secretValue)),
		"nested": pulumi.Map{
			"list": pulumi.Array{pulumi.String("open"), pulumi.ToSecret(pulumi.String(secretValue))},
		},
	}, nil
}

func deployPanicInApply(*pulumi.Context, engine.Topology) (pulumi.Map, error) {
	return pulumi.Map{"never": pulumi.String("x").ToStringOutput().ApplyT(func(string) string {
		panic("apply fell over\nwith details")
	})}, nil
}

// deployHang ignores that its context ends.
func deployHang(ctx *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
	if _, err := deployPlain(ctx, t); err != nil {
		return nil, err
	}

	select {}
}

func deployRefuse(_ *pulumi.Context, t engine.Topology) (pulumi.Map, error) {
	return nil, engine.Decode(t.Parameters, &struct {
		InstanceClass string `json:"instanceClass"`
	}{})
}

func deployPrint(*pulumi.Context, engine.Topology) (pulumi.Map, error) {
	fmt.Print("no line feed at the end") //nolint:forbidigo // This is what is tested.

	return pulumi.Map{"printed": pulumi.Bool(true)}, nil
}

func deployTooMuch(*pulumi.Context, engine.Topology) (pulumi.Map, error) {
	return pulumi.Map{"much": pulumi.String(string(make([]byte, 2<<20)))}, nil
}
