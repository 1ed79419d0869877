package awsplugin

import (
	"context"
	"fmt"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/util/rpcutil/rpcerror"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/structpb"
)

// Create makes a resource and waits until it is available.
func (p *Provider) Create(ctx context.Context, req *pulumirpc.CreateRequest) (*pulumirpc.CreateResponse, error) {
	t, inputs, err := p.request(req.GetUrn(), req.GetProperties())
	if err != nil {
		return nil, err
	}

	if req.GetPreview() {
		state, err := marshal("the planned state", t.planned(inputs, nil))

		return &pulumirpc.CreateResponse{Properties: state}, err
	}

	b, ctx, stop, err := p.begin(ctx, t, req.GetTimeout())
	if err != nil {
		return nil, err
	}
	defer stop()

	made, err := b.create(ctx, t, inputs)
	p.dieIfScripted(err)

	name := plain(inputs[resource.PropertyKey(t.name.property)])
	if err != nil && made.ID == "" {
		return nil, t.explain("creating", text(name), t.calls.create, err)
	}

	state, failed := marshal("the state", t.state(made, inputs))
	if failed != nil {
		return nil, failed
	}

	if err != nil {
		return nil, unfinished(made.ID, state, req.GetProperties(), t.explain("waiting for", made.ID, t.calls.read, err))
	}

	return &pulumirpc.CreateResponse{Id: made.ID, Properties: state}, nil
}

// Read refreshes or imports a resource, by any of the ids that the page of its
// type in the Pulumi registry gives for imports. One that is gone has no id.
func (p *Provider) Read(ctx context.Context, req *pulumirpc.ReadRequest) (*pulumirpc.ReadResponse, error) {
	t, olds, err := p.request(req.GetUrn(), req.GetInputs())
	if err != nil {
		return nil, err
	}

	b, ctx, stop, err := p.begin(ctx, t, req.GetTimeout())
	if err != nil {
		return nil, err
	}
	defer stop()

	id := req.GetId()
	if t.idOf != nil {
		id = t.idOf(b.clients, id)
	}

	found, exists, err := b.read(ctx, t, id)
	p.dieIfScripted(err)

	if err != nil {
		return nil, t.explain("reading", req.GetId(), t.calls.read, err)
	}

	if !exists {
		return &pulumirpc.ReadResponse{}, nil
	}

	inputs := t.observed(found, olds)

	state, err := marshal("the state", t.state(found, inputs))
	if err != nil {
		return nil, err
	}

	rpcInputs, err := marshal("the inputs", inputs)
	if err != nil {
		return nil, err
	}

	return &pulumirpc.ReadResponse{Id: found.ID, Properties: state, Inputs: rpcInputs}, nil
}

// Update changes a resource in place.
func (p *Provider) Update(ctx context.Context, req *pulumirpc.UpdateRequest) (*pulumirpc.UpdateResponse, error) {
	t, inputs, err := p.request(req.GetUrn(), req.GetNews())
	if err != nil {
		return nil, err
	}

	if req.GetPreview() {
		olds, err := unmarshal("the old state", req.GetOlds())
		if err != nil {
			return nil, err
		}

		state, err := marshal("the planned state", t.planned(inputs, olds))

		return &pulumirpc.UpdateResponse{Properties: state}, err
	}

	b, ctx, stop, err := p.begin(ctx, t, req.GetTimeout())
	if err != nil {
		return nil, err
	}
	defer stop()

	changed, err := b.update(ctx, t, req.GetId(), inputs)
	p.dieIfScripted(err)

	if err != nil {
		return nil, t.explain("updating", req.GetId(), t.calls.update, err)
	}

	state, err := marshal("the state", t.state(changed, inputs))

	return &pulumirpc.UpdateResponse{Properties: state}, err
}

// Delete removes a resource and waits until it is gone.
func (p *Provider) Delete(ctx context.Context, req *pulumirpc.DeleteRequest) (*emptypb.Empty, error) {
	t, olds, err := p.request(req.GetUrn(), req.GetProperties())
	if err != nil {
		return nil, err
	}

	b, ctx, stop, err := p.begin(ctx, t, req.GetTimeout())
	if err != nil {
		return nil, err
	}
	defer stop()

	err = b.remove(ctx, t, req.GetId(), olds)
	p.dieIfScripted(err)

	if err != nil {
		return nil, t.explain("deleting", req.GetId(), t.calls.remove, err)
	}

	return &emptypb.Empty{}, nil
}

func (p *Provider) request(urn string, props *structpb.Struct) (*resourceType, resource.PropertyMap, error) {
	t, err := p.types.find(string(resource.URN(urn).Type()))
	if err != nil {
		return nil, nil, err
	}

	values, err := unmarshal("the properties", props)

	return t, values, err
}

// begin bounds an operation by the engine's patience and by Cancel.
func (p *Provider) begin(ctx context.Context, t *resourceType, seconds float64) (*backend, context.Context, func(), error) {
	b := p.configured()
	if b == nil {
		return nil, nil, nil, errNotConfigured
	}

	timeout := t.timeout
	if seconds > 0 {
		timeout = time.Duration(seconds * float64(time.Second))
	}

	ctx, cancel := context.WithTimeout(ctx, timeout)
	ctx, cancelCause := context.WithCancelCause(ctx)
	release := context.AfterFunc(p.cancelled, func() { cancelCause(errCancelled) })

	return b, ctx, func() {
		release()
		cancelCause(nil)
		cancel()
	}, nil
}

func (p *Provider) dieIfScripted(err error) {
	if scripted(err) {
		p.opts.Exit(ExitScripted)
	}
}

// unfinished reports a resource that exists but did not become available, so
// that the engine keeps it in the state.
func unfinished(id string, state, inputs *structpb.Struct, err error) error {
	//nolint:wrapcheck // the engine reads the details of this very error
	return rpcerror.WithDetails(rpcerror.New(codes.Unknown, err.Error()), &pulumirpc.ErrorResourceInitFailed{
		Id: id, Properties: state, Inputs: inputs, Reasons: []string{err.Error()},
	})
}

func text(v any) string {
	if v == nil {
		return ""
	}

	return fmt.Sprint(v)
}
