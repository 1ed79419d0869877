package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lessor-dev/lessor/pkg/plan"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// tiers is a catalog in which a blueprint is the tier's own with the tenant's
// parameters.
type tiers map[string]tenant.Blueprint

var errUnknownTier = errors.New("unknown tier")

func (c tiers) Resolve(spec tenant.Spec) (tenant.Blueprint, error) {
	b, ok := c[spec.Tier]
	if !ok {
		return tenant.Blueprint{}, errUnknownTier
	}

	b.Parameters = spec.Parameters

	return b, nil
}

func catalog() tiers {
	return tiers{
		"free":     {Program: "pool", MaxAttempts: 5, OnUpdate: tenant.PolicyRevert},
		"standard": {Program: "pool", OnCreate: tenant.PolicyKeep, OnUpdate: tenant.PolicyKeep},
		"silo":     {Program: "silo", Protect: true, FinalSnapshot: true, OnUpdate: tenant.PolicyRevert},
		"fragile":  {Program: "silo", DataLoss: true, OnUpdate: tenant.PolicyKeep},
		"hooked":   {Program: "silo", Protect: true, OnUpdate: tenant.PolicyRevert, Hook: &tenant.Hook{Timeout: time.Hour}},
		"baked":    {Program: "silo", FinalSnapshot: true, OnUpdate: tenant.PolicyRevert, Bake: time.Hour},
	}
}

// now is when every plan is made.
var now = time.Unix(1_800_000_000, 0).UTC() //nolint:gochecknoglobals // a constant

func at(n int64) tenant.Version { return tenant.Version{N: n} }

func created(tier string) tenant.Desired {
	return tenant.Desired{
		Existence: tenant.Field[tenant.Existence]{Value: tenant.Existence{Created: true}, Version: at(1)},
		Tier:      tenant.Field[tenant.TierChoice]{Value: tenant.TierChoice{Name: tier}, Version: at(1)},
		Region:    tenant.Field[string]{Value: "eu-central-1", Version: at(1)},
		Floor:     at(1),
	}
}

func deleted(d tenant.Desired, acceptDataLoss bool) tenant.Desired {
	d.Existence = tenant.Field[tenant.Existence]{Value: tenant.Existence{AcceptDataLoss: acceptDataLoss}, Version: at(9)}

	return d
}

func asking(d tenant.Desired, kinds ...tenant.RequestKind) tenant.Desired {
	d.Requests = map[tenant.RequestKind]tenant.Field[tenant.Request]{}
	for _, kind := range kinds {
		d.Requests[kind] = tenant.Field[tenant.Request]{Value: tenant.Request{EventID: "r"}, Version: at(5)}
	}

	return d
}

func with(d tenant.Desired, parameters map[string]string) tenant.Desired {
	d.Parameters = map[string]tenant.Field[json.RawMessage]{}
	for name, value := range parameters {
		d.Parameters[name] = tenant.Field[json.RawMessage]{Value: json.RawMessage(value), Version: at(2)}
	}

	return d
}

func stack() tenant.Stack {
	return tenant.Stack{Project: "lessor", Name: "acme", Shard: "bucket", Created: true}
}

// settled is the row of a tenant on which the plans for d succeeded, and of
// which next is desired now.
func settled(d, next tenant.Desired) tenant.Record {
	rec := tenant.Record{ID: "acme", Desired: d, DesiredSeq: 1}

	for more := true; more; {
		p, err := plan.For(rec, catalog(), now)
		if err != nil {
			panic(err)
		}

		rec, more = succeed(rec, p), p.End == plan.EndMore
	}

	rec.Desired, rec.DesiredSeq = next, 2

	return rec
}

// succeed is what package reconcile makes of a row when a plan succeeded.
func succeed(rec tenant.Record, p plan.Plan) tenant.Record {
	rec.Change = p.Then
	rec.Applied = &tenant.Applied{Spec: p.Spec, Blueprint: p.Blueprint, Requests: p.Requests, Generation: p.Generation}
	rec.AppliedSeq, rec.Attempts = rec.DesiredSeq, 0
	rec.Progress, rec.Last = nil, &tenant.Outcome{OperationID: "done", Steps: names(p.Steps)}

	if len(p.Steps) > 0 {
		rec.Stack = stack()
	}

	return rec
}

func names(steps []plan.Step) []string {
	list := make([]string, 0, len(steps))
	for _, s := range steps {
		list = append(list, string(s))
	}

	return list
}

func failed(rec tenant.Record, step string, steps ...string) tenant.Record {
	rec.Stack = stack()
	rec.Last = &tenant.Outcome{OperationID: "failed", Steps: steps, Failure: &tenant.Failure{Step: step}}

	return rec
}

func died(rec tenant.Record, step string) tenant.Record {
	if rec.Stack == (tenant.Stack{}) {
		// A dead worker cannot tell of the checkpoint that it made.
		rec.Stack = stack()
		rec.Stack.Created = false
	}

	rec.Progress = &tenant.Progress{OperationID: "died", Step: step}

	return rec
}

// gone is the row of a tenant that was deleted, and of which next is desired.
func gone(next tenant.Desired) tenant.Record {
	rec := settled(created("free"), deleted(created("free"), false))

	p, err := plan.For(rec, catalog(), now)
	if err != nil {
		panic(err)
	}

	rec = succeed(rec, p)
	rec.Stack.Created = false
	rec.Desired, rec.DesiredSeq = next, 3

	return rec
}

func (c tiers) knows(tier string) bool {
	_, ok := c[tier]

	return ok
}

// summary is a plan in one line: what it does, where a tier change is meanwhile,
// and what comes of it.
func summary(p plan.Plan) string {
	var b strings.Builder

	fmt.Fprintf(&b, "%s t%d", strings.Join(names(p.Steps), " "), p.Generation)

	if p.Beside != nil {
		fmt.Fprintf(&b, " +t%d", p.Beside.Generation)
	}

	if p.Leaving != nil {
		fmt.Fprintf(&b, " -t%d", p.Leaving.Generation)
	}

	fmt.Fprintf(&b, "%s > %s%s", stage(p.Change), [...]string{"applied", "more", "ask", "wait", "back"}[p.End], stage(p.Then))

	return strings.TrimSpace(b.String())
}

func stage(c *tenant.Change) string {
	if c == nil {
		return ""
	}

	text := fmt.Sprintf(", %s t%d", c.Stage, c.Other.Generation)
	if c.Stood {
		text += " stood"
	}

	if c.Guarded {
		text += " guarded"
	}

	return text
}
