package programs_test

import (
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// recorder plays the engine and keeps what a program declares.
type recorder struct {
	mu        sync.Mutex
	resources map[string]pulumi.MockResourceArgs
	// calls are the functions that were called, with their arguments.
	calls map[string]bool
	// exists are those calls that find something.
	exists map[string]bool
}

func (r *recorder) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.resources[args.Name] = args

	state := args.Inputs.Copy()
	state["arn"] = resource.NewStringProperty("arn:" + args.Name)

	if args.TypeToken == "aws:ec2/vpc:Vpc" {
		state["arn"] = resource.NewStringProperty("arn:aws:ec2:eu-west-1:123456789012:vpc/" + args.Name)
		state["mainRouteTableId"] = resource.NewStringProperty("main-of-" + args.Name)
	}

	state["keyId"] = resource.NewStringProperty("key-of-" + args.Name)
	state["endpoint"] = resource.NewStringProperty(args.Name + ".example:5432")
	state["url"] = resource.NewStringProperty("https://sqs.example/" + args.Name)
	state["dnsName"] = resource.NewStringProperty(args.Name + ".elb.example")
	state["masterUserSecrets"] = resource.NewPropertyValue([]any{map[string]any{"secretArn": "arn:secret"}})

	return args.Name + "-id", state, nil
}

// Call finds nothing but what exists.
func (r *recorder) Call(args pulumi.MockCallArgs) (resource.PropertyMap, error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	names := args.Args.StableKeys()
	texts := make([]string, 0, 1+len(names))

	texts = append(texts, args.Token)
	for _, name := range names {
		texts = append(texts, string(name)+"="+args.Args[name].StringValue())
	}

	call := strings.Join(texts, " ")
	r.calls[call] = true

	if !r.exists[call] {
		return nil, errNotFound
	}

	return resource.PropertyMap{"arn": resource.NewStringProperty("arn:" + call)}, nil
}

var errNotFound = errors.New("couldn't find resource")

// outcome is what a program declared and returned.
type outcome struct {
	t         *testing.T
	resources map[string]pulumi.MockResourceArgs
	outputs   map[string]any
	calls     map[string]bool
}

func deploy(t *testing.T, program engine.Program, topology engine.Topology, exists ...string) (outcome, error) {
	t.Helper()

	r := &recorder{resources: map[string]pulumi.MockResourceArgs{}, calls: map[string]bool{}, exists: map[string]bool{}}
	for _, call := range exists {
		r.exists[call] = true
	}

	out := outcome{t: t, resources: r.resources, outputs: map[string]any{}, calls: r.calls}

	values := make(chan any, 1)

	err := pulumi.RunErr(func(ctx *pulumi.Context) error {
		outputs, err := program.Deploy(ctx, topology)
		if err != nil {
			return err
		}

		outputs.ToMapOutput().ApplyT(func(resolved map[string]any) error {
			values <- resolved

			return nil
		})

		return nil
	}, pulumi.WithMocks("lessor", "acme", r))
	if err == nil {
		raw, failed := json.Marshal(<-values)
		require.NoError(t, failed)
		require.NoError(t, json.Unmarshal(raw, &out.outputs))
	}

	return out, err
}

// must deploys without an error.
func must(t *testing.T, program engine.Program, topology engine.Topology) outcome {
	t.Helper()

	out, err := deploy(t, program, topology)
	require.NoError(t, err)

	return out
}

// inputs of the resource with the name.
func (o outcome) inputs(name string) map[string]any {
	o.t.Helper()
	require.Contains(o.t, o.resources, name)

	return o.resources[name].Inputs.Mappable()
}

func topology(changes ...func(*engine.Topology)) engine.Topology {
	top := engine.Topology{
		Generation: 1, Tenant: "acme", Tier: "enterprise", Region: "eu-west-1", Phase: tenant.PhaseActive,
		Parameters: tenant.Parameters{},
	}
	for _, change := range changes {
		change(&top)
	}

	return top
}

func with(name, value string) func(*engine.Topology) {
	return func(top *engine.Topology) { top.Parameters[name] = []byte(value) }
}
