package enqueuecli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/inventory"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

const (
	ec2ARN = "arn:aws:ec2:eu-west-1:111122223333:"
	keyARN = "arn:aws:kms:eu-west-1:111122223333:key/"
	rdsARN = "arn:aws:rds:eu-west-1:111122223333:"
	role   = "arn:aws:iam::111122223333:role/tenants"
)

// tagged is a resource of a tenant, with more tags as NAME=VALUE.
func tagged(arn, owner string, more ...string) inventory.Resource {
	r := inventory.Resource{ARN: arn, Tags: map[string]string{"managed-by": "lessor", "tenant-id": owner}}

	for _, tag := range more {
		name, value, _ := strings.Cut(tag, "=")
		r.Tags[name] = value
	}

	return r
}

// stateOf is the checkpoint of acme with a VPC, and the creation of a subnet
// that was cut short.
func stateOf(pending bool) string {
	const (
		stackURN = "urn:pulumi:acme::lessor::pulumi:pulumi:Stack::lessor-acme"
		provider = "urn:pulumi:acme::lessor::pulumi:providers:aws::t1-aws"
	)

	operations := ""
	if pending {
		operations = `, "pending_operations": [{"type": "creating", "resource": {
			"urn": "urn:pulumi:acme::lessor::aws:ec2/subnet:Subnet::t1-private-1", "custom": true, "type": "aws:ec2/subnet:Subnet",
			"parent": "` + stackURN + `", "provider": "` + provider + `::1", "inputs": {"tags": {"Name": "acme-t1-private-1"}}}}]`
	}

	return fmt.Sprintf(`{"version": 3, "checkpoint": {"stack": "organization/lessor/acme", "latest": {"resources": [
		{"urn": %q, "type": "pulumi:pulumi:Stack"},
		{"urn": %q, "type": "pulumi:providers:aws", "custom": true, "id": "1", "inputs": {"region": "eu-west-1"}},
		{"urn": "urn:pulumi:acme::lessor::aws:ec2/vpc:Vpc::t1-vpc", "type": "aws:ec2/vpc:Vpc", "custom": true, "id": "vpc-1",
			"parent": %q, "provider": "%s::1", "outputs": {"arn": "%svpc/vpc-1"}}
	]%s}}}`, stackURN, provider, stackURN, provider, ec2ARN, operations)
}

const storedAcme = "state-b/lessor/acme"

// tidy is a world in which the state of acme knows all there is.
func tidy() *world {
	w := withAcme()
	w.stored = map[string]string{storedAcme: stateOf(false)}
	w.clouds = map[string][]inventory.Resource{"eu-west-1": {tagged(ec2ARN+"vpc/vpc-1", "acme")}}

	return w
}

// untidy is one with something of every kind that is listed.
func untidy() *world {
	w := tidy()
	w.stored[storedAcme] = stateOf(true)
	w.clouds["eu-west-1"] = append(w.clouds["eu-west-1"],
		tagged(ec2ARN+"vpc/vpc-2", "acme", "Name=acme-t1-vpc"),
		tagged(ec2ARN+"subnet/subnet-1", "acme", "Name=acme-t1-private-1"),
		tagged(keyARN+"kept", "acme", "kept-for=acme-final-1"),
		tagged(keyARN+"dying", "acme"),
		tagged(rdsARN+"snapshot:acme-final-1", "acme"),
		tagged(ec2ARN+"vpc/vpc-3", "initech"),
		tagged(ec2ARN+"vpc/vpc-4", "no tenant's id"),
		tagged(ec2ARN+"vpc/vpc-5", "globex"),
	)
	w.dying = []string{keyARN + "dying"}
	w.fold(at(tenant.EventCreated, noon(), func(e *tenant.Event) { e.Tenant, e.Tier, e.Region = "globex", "free", "us-east-1" }))

	return w
}

func gone(w *world) {
	w.fold(at(tenant.EventDeleted, noon(), nil))
	settle(w)
}

func inRole(w *world) {
	change(func(rec *tenant.Record) { rec.Applied.Blueprint.RoleARN = role })(w)
	w.clouds["eu-west-1 as "+role] = w.clouds["eu-west-1"]
	delete(w.clouds, "eu-west-1")
}

func TestOrphans(t *testing.T) {
	t.Parallel()

	edit := func(change func(w *world)) func() *world { return with(untidy, change) }

	runCases(t, []runCase{
		{name: "none", args: []string{"orphans", "acme"}, world: tidy},
		{name: "none as json", args: []string{"orphans", "acme", "-o", "json"}, world: tidy},
		{name: "none in the fleet", args: []string{"orphans"}, world: tidy},
		{name: "of a tenant", code: 8, args: []string{"orphans", "acme"}, world: untidy},
		{name: "of a tenant as json", code: 8, args: []string{"orphans", "acme", "-o", "json"}, world: untidy},
		{name: "of a tenant with a role", code: 8, args: []string{"orphans", "acme"}, world: edit(inRole)},
		{name: "of a deleted tenant", code: 8, args: []string{"orphans", "acme"}, world: edit(gone)},
		{name: "while it works", args: []string{"orphans", "acme"}, world: edit(leased)},
		{name: "of the fleet", code: 8, args: []string{"orphans"}, world: untidy},
		{name: "of the fleet on a terminal", code: 8, args: []string{"orphans"}, world: edit(func(w *world) { w.width = 100 })},
		{name: "of a stranger", code: 4, args: []string{"orphans", "initech"}, world: untidy},
		{name: "of a bad id", code: 3, args: []string{"orphans", "a b"}, world: untidy},
		{name: "region is denied", code: 1, args: []string{"orphans"}, world: edit(func(w *world) { w.fail["us-east-1"] = errBroken })},
		{name: "role is denied", code: 1, args: []string{"orphans", "acme", "-o", "json"}, world: edit(func(w *world) {
			inRole(w)
			w.fail["eu-west-1 as "+role] = errBroken
		})},
		{name: "key is denied", code: 1, args: []string{"orphans", "acme"}, world: edit(func(w *world) { w.fail["inspect"] = errBroken })},
		{name: "state is denied", code: 1, args: []string{"orphans", "acme"}, world: edit(func(w *world) { w.fail["states"] = errBroken })},
		{name: "state is lost", code: 1, args: []string{"orphans", "acme"}, world: edit(func(w *world) { delete(w.stored, storedAcme) })},
		{name: "state is broken", code: 1, args: []string{"orphans"}, world: edit(func(w *world) { w.stored[storedAcme] = "{" })},
		{name: "state is inconsistent", code: 8, args: []string{"orphans", "acme"}, world: edit(func(w *world) {
			w.stored[storedAcme] = strings.Replace(stateOf(true), `"parent": "urn`, `"parent": "gone`, 1)
		})},
		{name: "state was never made", code: 8, args: []string{"orphans", "acme"}, world: edit(func(w *world) {
			delete(w.stored, storedAcme)
			change(func(rec *tenant.Record) { rec.Stack.Created = false })(w)
		})},
		{name: "rows fail", code: 1, args: []string{"orphans", "acme"}, world: edit(func(w *world) { w.fail["get"] = errBroken })},
		{name: "list fails", code: 1, args: []string{"orphans"}, world: edit(func(w *world) { w.fail["list"] = errBroken })},
		{name: "of two", code: 2, args: []string{"orphans", "acme", "globex"}, world: untidy},
	})
}

// Each place is looked at once, however many tenants are there.
func TestOrphansLooksWhereTheRowsSay(t *testing.T) {
	t.Parallel()

	w := untidy()
	w.env["LESSOR_REGIONS"] = "eu-west-1, eu-north-1"
	w.fold(at(tenant.EventSuspended, noon(), func(e *tenant.Event) { e.Tenant = "early" }))
	w.run(t.Context(), "orphans")
	require.Equal(t, []string{"eu-north-1", "eu-west-1", "us-east-1"}, w.looked)

	w = untidy()
	inRole(w)
	w.run(t.Context(), "orphans", "acme")
	require.Equal(t, []string{"eu-west-1 as " + role}, w.looked)

	w = tidy()
	w.run(t.Context(), "orphans", "acme")
	require.Equal(t, []string{"eu-west-1"}, w.looked)
}
