package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// place is where resources are made: a region, with the rights of a role or, if
// that is "", with the worker's own.
type place struct{ region, role string }

const providerType = "pulumi:providers:aws"

// placeOf reads a provider's inputs, as the state has them. The reference of a
// resource to its provider is "<urn>::<id>".
func placeOf(reference string, known []checkpoint.Resource) place {
	for _, r := range known {
		if r.Type == providerType && strings.HasPrefix(reference, r.URN+"::") {
			return placeIn(r.Inputs)
		}
	}

	return place{}
}

func placeIn(inputs map[string]any) place {
	var at place

	at.region, _ = inputs["region"].(string)

	// Providers of Terraform's kind keep nested inputs as JSON in a string.
	role := inputs["assumeRole"]
	if text, ok := role.(string); ok && json.Unmarshal([]byte(text), &role) != nil {
		return at
	}

	if fields, ok := role.(map[string]any); ok {
		at.role, _ = fields["roleArn"].(string)
	}

	return at
}

// places are all where the tenant has, or is to have, resources.
func (j *job) places() []place {
	var all []place

	add := func(at place) {
		if at.region != "" && !slices.Contains(all, at) {
			all = append(all, at)
		}
	}

	for _, r := range j.known {
		if r.Type == providerType {
			add(placeIn(r.Inputs))
		}
	}

	for _, t := range slices.Concat(j.order.Operation.Topologies, j.order.Operation.Leaving) {
		add(place{region: t.Region, role: t.RoleARN})
	}

	return all
}

// findUnknown returns what carries the tenant's tag and is not in the state.
func (j *job) findUnknown(ctx context.Context, at place) ([]inventory.Resource, error) {
	if at.region == "" {
		return nil, nil
	}

	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion(at.region))
	if err != nil {
		return nil, fmt.Errorf("loading the AWS configuration: %w", err)
	}

	found, err := inventory.Open(inventory.Assume(cfg, at.role), at.region).
		FindUnknown(ctx, j.order.Operation.Tenant, j.gate.State().Resources)
	if err != nil {
		return nil, &tenant.Failure{
			Kind:    tenant.KindTransient,
			Message: oneLine(err.Error()),
			Hint:    "it is tried again; the worker's role, or the tier's roleArn, needs tag:GetResources",
		}
	}

	return found, nil
}

// orphans looks for what an earlier owner may have made without a word of it in
// the state. It is only due if that owner did not end cleanly.
func (j *job) orphans(ctx context.Context) ([]string, *tenant.Failure) {
	if j.gate == nil || j.order.Operation.LookAfter.IsZero() {
		return nil, nil
	}

	var arns []string

	for _, at := range j.places() {
		found, err := j.findUnknown(ctx, at)
		if err != nil {
			return nil, failureOf(err)
		}

		orphans, _ := inventory.Split(found)
		for _, r := range orphans {
			arns = append(arns, r.ARN)
		}
	}

	return arns, nil
}

// proveGone is the last look before a stack is forgotten. A provider of an owner
// that was taken for dead may still have been at work when this one took over,
// but not longer than its lease.
func (j *job) proveGone(ctx context.Context) *tenant.Failure {
	after := j.order.Operation.LookAfter
	if after.IsZero() || j.gate == nil {
		return nil
	}

	timer := time.NewTimer(time.Until(after))
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return &tenant.Failure{Message: "interrupted before the last look for what is left"}
	case <-timer.C:
	}

	arns, failure := j.orphans(ctx)
	if failure != nil {
		j.unproven = true

		return failure
	}

	if len(arns) == 0 {
		return nil
	}

	j.result.Orphans = arns
	j.unproven = true

	return &tenant.Failure{
		Kind: tenant.KindIntegrity,
		Message: oneLine(fmt.Sprintf("%d resources with the tenant's tag are left that its state does not know: %s",
			len(arns), strings.Join(arns, ", "))),
		Hint: "delete them, or tag them otherwise: `enqueue orphans " + j.order.Operation.Tenant.String() + "` lists them",
	}
}
