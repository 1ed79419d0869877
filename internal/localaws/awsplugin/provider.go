package awsplugin

import (
	"context"
	"sync"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/protobuf/types/known/emptypb"
)

// ExitScripted is the exit code of a plugin whose death was scripted.
const ExitScripted = 86

// Provider serves the engine. One process serves one configuration.
type Provider struct {
	pulumirpc.UnimplementedResourceProviderServer

	types registry
	opts  Options

	cancelled context.Context //nolint:containedctx // the life of the process, which Cancel ends
	cancel    context.CancelCauseFunc

	mu sync.RWMutex
	// backend is nil until Configure.
	backend *backend
}

// Options are what the process brings along.
type Options struct {
	// Endpoint is where local mode listens: the emulator and, below
	// cloudsim.PathPrefix, the simulator.
	Endpoint string
	// Region is used where the provider names none.
	Region string
	// Exit ends the process when the simulator's script says so.
	Exit func(code int)
}

// New returns a provider that is not configured yet.
func New(opts Options) *Provider {
	ctx, cancel := context.WithCancelCause(context.Background())

	return &Provider{types: newRegistry(), opts: opts, cancelled: ctx, cancel: cancel}
}

// GetPluginInfo tells the version.
func (*Provider) GetPluginInfo(context.Context, *emptypb.Empty) (*pulumirpc.PluginInfo, error) {
	return &pulumirpc.PluginInfo{Version: Version}, nil
}

// Cancel makes running operations end soon.
func (p *Provider) Cancel(context.Context, *emptypb.Empty) (*emptypb.Empty, error) {
	p.cancel(errCancelled)

	return &emptypb.Empty{}, nil
}

// Close ends what runs and lets go of connections.
func (p *Provider) Close() {
	p.cancel(errCancelled)

	if b := p.configured(); b != nil {
		b.cloud.Close()
		b.clients.idle()
	}
}

// Attach accepts the engine of a debugger.
func (*Provider) Attach(context.Context, *pulumirpc.PluginAttach) (*emptypb.Empty, error) {
	return &emptypb.Empty{}, nil
}

// GetSchema returns an empty schema: programs bring their own types.
func (*Provider) GetSchema(context.Context, *pulumirpc.GetSchemaRequest) (*pulumirpc.GetSchemaResponse, error) {
	return &pulumirpc.GetSchemaResponse{Schema: `{"name":"` + Name + `","version":"` + Version + `"}`}, nil
}

// CheckConfig judges the provider's configuration.
func (*Provider) CheckConfig(_ context.Context, req *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	news, err := unmarshal("the configuration", req.GetNews())
	if err != nil {
		return nil, err
	}

	return &pulumirpc.CheckResponse{Inputs: req.GetNews(), Failures: rpcFailures(checkSettings(news))}, nil
}

// DiffConfig replaces the provider, and so all its resources, only where the
// region changes.
func (*Provider) DiffConfig(_ context.Context, req *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	olds, err := unmarshal("the old configuration", req.GetOldInputs())
	if err != nil {
		return nil, err
	}

	news, err := unmarshal("the configuration", req.GetNews())
	if err != nil {
		return nil, err
	}

	inputs := map[string]property{}

	for _, props := range []resource.PropertyMap{olds, news} {
		for key := range props {
			inputs[string(key)] = property{replace: key == "region"}
		}
	}

	return (&resourceType{inputs: inputs}).diff(olds, news), nil
}

// Configure takes the configuration and finds the emulator.
func (p *Provider) Configure(_ context.Context, req *pulumirpc.ConfigureRequest) (*pulumirpc.ConfigureResponse, error) {
	props, err := unmarshal("the configuration", req.GetArgs())
	if err != nil {
		return nil, err
	}

	s, err := newSettings(props, p.opts)
	if err != nil {
		return nil, err
	}

	p.mu.Lock()
	p.backend = newBackend(s)
	p.mu.Unlock()

	return &pulumirpc.ConfigureResponse{AcceptSecrets: true, AcceptResources: true, SupportsPreview: true, AcceptOutputs: false}, nil
}

// Check judges and completes the inputs of a resource.
func (p *Provider) Check(_ context.Context, req *pulumirpc.CheckRequest) (*pulumirpc.CheckResponse, error) {
	urn := resource.URN(req.GetUrn())

	t, err := p.types.find(string(urn.Type()))
	if err != nil {
		return nil, err
	}

	olds, err := unmarshal("the old inputs", req.GetOlds())
	if err != nil {
		return nil, err
	}

	news, err := unmarshal("the inputs", req.GetNews())
	if err != nil {
		return nil, err
	}

	var defaultTags map[string]string
	if b := p.configured(); b != nil {
		defaultTags = b.settings.defaultTags
	}

	inputs, failures, err := t.check(urn, req.GetRandomSeed(), olds, news, defaultTags)
	if err != nil {
		return nil, err
	}

	checked, err := marshal("the checked inputs", inputs)
	if err != nil {
		return nil, err
	}

	return &pulumirpc.CheckResponse{Inputs: checked, Failures: rpcFailures(failures)}, nil
}

// Diff compares the inputs of a resource.
func (p *Provider) Diff(_ context.Context, req *pulumirpc.DiffRequest) (*pulumirpc.DiffResponse, error) {
	t, err := p.types.find(string(resource.URN(req.GetUrn()).Type()))
	if err != nil {
		return nil, err
	}

	olds, err := unmarshal("the old inputs", req.GetOldInputs())
	if err != nil {
		return nil, err
	}

	news, err := unmarshal("the inputs", req.GetNews())
	if err != nil {
		return nil, err
	}

	return t.diff(olds, news), nil
}

func (p *Provider) configured() *backend {
	p.mu.RLock()
	defer p.mu.RUnlock()

	return p.backend
}

func rpcFailures(failures []failure) []*pulumirpc.CheckFailure {
	list := make([]*pulumirpc.CheckFailure, 0, len(failures))
	for _, f := range failures {
		list = append(list, &pulumirpc.CheckFailure{Property: f.property, Reason: f.reason})
	}

	return list
}
