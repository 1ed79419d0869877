package e2e_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/localaws/cloudsim"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The tiers of the tests of whole lives. What is replaced bakes until a test ends
// that.
const (
	tierPool   = "pooled"
	tierBridge = "bridged"
	tierSilo   = "siloed"
)

const lifecycleCatalog = `version: 1
tiers:
  pooled:
    program: pool
    tierChange: {bake: 1h}
    parameters: {sharedEndpoint: pool.example.com}
  bridged:
    program: bridge
    protect: true
    finalSnapshot: true
    maxAttempts: 1
    tierChange: {bake: 1h}
    parameters: %[1]s
  siloed:
    program: silo
    protect: true
    finalSnapshot: true
    maxAttempts: 1
    tierChange: {bake: 1h}
`

// newLifecycle is a fleet with these tiers and more, given as YAML in which %[1]s
// are the parameters of the bridge.
func newLifecycle(t *testing.T, more string) *fleet {
	t.Helper()

	path := filepath.Join(t.TempDir(), "lifecycle.yaml")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, lifecycleCatalog+more, commons(t)), 0o600))

	return newFleet(t, 1, "LESSOR_CATALOG="+path)
}

// commons makes what the tenants of the bridge share, and returns the parameters
// that name it, as JSON.
func commons(t *testing.T) string {
	t.Helper()

	const region = "us-east-1"

	name := strings.ToLower(rand.Text())
	add := func(typ string, inputs map[string]any) string {
		r, err := local.Cloud().Create(t.Context(), cloudsim.Creation{Type: typ, Region: region, Inputs: inputs})
		require.NoError(t, err)

		return r.ID
	}

	vpc := add(cloudsim.TypeVPC, map[string]any{"cidrBlock": "10.0.0.0/16"})
	subnets := []any{
		add(cloudsim.TypeSubnet, map[string]any{"vpcId": vpc, "cidrBlock": "10.0.0.0/20", "availabilityZone": region + "a"}),
		add(cloudsim.TypeSubnet, map[string]any{"vpcId": vpc, "cidrBlock": "10.0.16.0/20", "availabilityZone": region + "b"}),
	}
	access := add(cloudsim.TypeSecurityGroup, map[string]any{"vpcId": vpc, "name": name})
	balancer := add(cloudsim.TypeLoadBalancer, map[string]any{"name": name, "subnets": subnets, "securityGroups": []any{access}})

	parameters, err := json.Marshal(map[string]any{
		"clusterArn": add(cloudsim.TypeCluster, map[string]any{"name": name}),
		"listenerArn": add(cloudsim.TypeListener, map[string]any{
			"loadBalancerArn": balancer, "port": 443, "protocol": "HTTPS", "certificateArn": "arn:aws:acm:x",
			"defaultActions": []any{map[string]any{"type": "fixed-response"}},
		}),
		"vpcId": vpc, "subnetIds": subnets, "securityGroupIds": []any{access},
		"executionRoleArn": "arn:aws:iam::000000000000:role/execution", "domain": "tenants.example.com", "image": "images.example.com/app:1",
	})
	require.NoError(t, err)

	return string(parameters)
}

// promised is what a tier makes, of what carries tags.
func promised(tier string) map[string]int {
	return map[string]map[string]int{
		tierPool: {},
		tierBridge: {
			cloudsim.TypeTable: 1, cloudsim.TypeQueue: 2, cloudsim.TypeLogGroup: 1, cloudsim.TypeRole: 1,
			cloudsim.TypeTaskDefinition: 1, cloudsim.TypeTargetGroup: 1, cloudsim.TypeListenerRule: 1, cloudsim.TypeService: 1,
		},
		tierSilo: {
			cloudsim.TypeVPC: 1, cloudsim.TypeSubnet: 2, cloudsim.TypeSecurityGroup: 2, cloudsim.TypeKey: 1,
			cloudsim.TypeSubnetGroup: 1, cloudsim.TypeInstance: 1, cloudsim.TypeLogGroup: 1, cloudsim.TypeCluster: 1,
			cloudsim.TypeLoadBalancer: 1, cloudsim.TypeListener: 1,
		},
	}[tier]
}

// left is what stays of a tier on purpose: a final snapshot, and the key without
// which nobody could read it. Of a table DynamoDB itself keeps a backup.
func left(tier string) map[string]int {
	if tier == tierSilo {
		return map[string]int{cloudsim.TypeSnapshot: 1, cloudsim.TypeKey: 1}
	}

	return map[string]int{}
}

// resources are the tenant's in the cloud.
func (f *fleet) resources(id tenant.ID) []cloudsim.Resource {
	f.t.Helper()

	list, err := local.Cloud().OfTenant(f.t.Context(), id.String())
	require.NoError(f.t, err)

	return list
}

// made counts the tenant's resources by tier and type.
func (f *fleet) made(id tenant.ID) map[string]map[string]int {
	f.t.Helper()

	counts := map[string]map[string]int{}

	for _, r := range f.resources(id) {
		tier := r.Tags["tier"]
		if counts[tier] == nil {
			counts[tier] = map[string]int{}
		}

		counts[tier][r.Type]++
	}

	return counts
}

// has checks that the tenant has what the tiers promise, and of those before only
// what is to be kept.
func (f *fleet) has(id tenant.ID, former []string, tiers ...string) {
	f.t.Helper()

	want := map[string]map[string]int{}
	add := func(tier string, counts map[string]int) {
		if len(counts) == 0 {
			return
		}

		if want[tier] == nil {
			want[tier] = map[string]int{}
		}

		for typ, n := range counts {
			want[tier][typ] += n
		}
	}

	for _, tier := range tiers {
		add(tier, promised(tier))
	}

	for _, tier := range former {
		add(tier, left(tier))
	}

	require.Equal(f.t, want, f.made(id), "%s in %v, after %v", id, tiers, former)
}

// ids are those of the tenant's resources in a tier, by type.
func (f *fleet) ids(id tenant.ID, tier string) map[string][]string {
	f.t.Helper()

	ids := map[string][]string{}

	for _, r := range f.resources(id) {
		if r.Tags["tier"] == tier {
			ids[r.Type] = append(ids[r.Type], r.ID)
		}
	}

	return ids
}

// say sends an event that happens now.
func (f *fleet) say(kind tenant.EventType, id tenant.ID, change func(*tenant.Event)) {
	f.t.Helper()
	f.send(f.event(kind, id, time.Now(), change))
}

func (f *fleet) move(id tenant.ID, tier string) {
	f.t.Helper()
	f.say(tenant.EventTierChanged, id, func(e *tenant.Event) { e.Tier = tier })
}

// row waits until the tenant's row, with nobody at work on it, is as it should be.
func (f *fleet) row(id tenant.ID, what string, ok func(rec tenant.Record) bool) tenant.Record {
	f.t.Helper()

	const patience = 90 * time.Second

	var rec tenant.Record

	f.await(fmt.Sprintf("%s: %s", id, what), patience, func() bool {
		var err error

		rec, err = f.rows.Get(f.t.Context(), id)
		require.NoError(f.t, err)

		return rec.Lease.Owner == "" && ok(rec)
	})

	return rec
}

// serves waits until a tier serves the tenant and all is done.
func (f *fleet) serves(id tenant.ID, tier string) tenant.Record {
	f.t.Helper()

	return f.row(id, "to be served by "+tier, func(rec tenant.Record) bool {
		// A tenant that was deleted remembers its tier.
		return f.done(rec) && rec.Applied.Spec.Tier == tier && rec.Applied.Spec.Phase != tenant.PhaseAbsent
	})
}

// done reports whether all that is known of a tenant is applied. It must not fail,
// unless a test has seen that already.
func (f *fleet) done(rec tenant.Record) bool {
	f.t.Helper()

	if rec.FailedSeq > rec.AppliedSeq {
		require.LessOrEqual(f.t, rec.FailedSeq, f.failures[rec.ID], "%s: %+v", rec.ID, rec.Last)

		return false
	}

	return !rec.NeedsWork() && rec.Applied != nil
}

// givenUp waits until a change of a tenant is given up on.
func (f *fleet) givenUp(id tenant.ID) tenant.Record {
	f.t.Helper()

	rec := f.row(id, "to be given up on", func(rec tenant.Record) bool {
		return rec.FailedSeq == rec.DesiredSeq && rec.FailedSeq > f.failures[id]
	})
	f.failures[id] = rec.FailedSeq

	return rec
}

// retire ends the bake time of a tenant.
func (f *fleet) retire(id tenant.ID) { f.say(tenant.EventRetire, id, nil) }

// single waits until nothing stands beside what serves.
func (f *fleet) single(id tenant.ID) tenant.Record {
	f.t.Helper()

	return f.row(id, "to have one topology", func(rec tenant.Record) bool {
		return f.done(rec) && rec.Change == nil
	})
}

// gone waits until a tenant is deleted.
func (f *fleet) gone(id tenant.ID) tenant.Record {
	f.t.Helper()

	return f.row(id, "to be gone", func(rec tenant.Record) bool {
		return !rec.NeedsWork() && rec.Applied != nil && rec.Applied.Spec.Phase == tenant.PhaseAbsent
	})
}

// enqueue runs the command as people do.
func (f *fleet) enqueue(args ...string) (code int, text string) {
	f.t.Helper()

	cmd := exec.CommandContext(f.t.Context(), os.Args[0], args...)
	cmd.Env = append(slices.Clone(f.env), workerVariable+"=", enqueueVariable+"=1")

	out, err := cmd.CombinedOutput()
	if err != nil {
		require.ErrorAs(f.t, err, new(*exec.ExitError))
	}

	return cmd.ProcessState.ExitCode(), string(out)
}

// backups are those that DynamoDB took of the tables of a tenant.
func (f *fleet) backups(id tenant.ID) int {
	f.t.Helper()

	list, err := local.Cloud().List(f.t.Context(), cloudsim.Filter{Type: cloudsim.TypeBackup})
	require.NoError(f.t, err)

	n := 0

	for _, backup := range list {
		if strings.HasPrefix(backup.Text("tableName"), id.String()+"-t") {
			n++
		}
	}

	return n
}

// sameOutputs compares what a tenant's readers get.
func (f *fleet) sameOutputs(want, have tenant.Record) {
	f.t.Helper()

	text := func(rec tenant.Record) map[string]string {
		outputs := map[string]string{}
		for name, value := range maps.All(rec.Outputs) {
			outputs[name] = string(value)
		}

		return outputs
	}

	require.Equal(f.t, text(want), text(have))
}
