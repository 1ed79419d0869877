// Package checkpointtest makes checkpoints for tests.
package checkpointtest

import (
	"bytes"
	"fmt"
	"strings"
)

const (
	head = `{"version":3,"checkpoint":{"stack":"organization/lessor/acme","latest":{` +
		`"manifest":{"time":"2026-03-01T12:00:00.123456789Z","magic":"","version":""},` +
		`"secrets_providers":{"type":"cloud","state":{"url":"awskms:///alias/lessor?region=eu-west-1","encryptedkey":"AQICAHi"}},` +
		`"resources":[` +
		`{"urn":"` + stack + `","custom":false,"type":"pulumi:pulumi:Stack","outputs":{"endpoint":"acme.example"}},` +
		`{"urn":"` + provider + `","custom":true,"id":"11111111-2222-3333-4444-555555555555","type":"pulumi:providers:aws",` +
		`"inputs":{"region":"eu-west-1"},"outputs":{"region":"eu-west-1"},"parent":"` + stack + `"}`
	tail = `],"metadata":{}}}}`

	stack    = "urn:pulumi:acme::lessor::pulumi:pulumi:Stack::lessor-acme"
	provider = "urn:pulumi:acme::lessor::pulumi:providers:aws::eu"

	// resource has the length and the mix of a security group that pulumi-aws
	// made: 1 is its number, 2 what it depends on, 3 a text of any length.
	resource = `,{"urn":"urn:pulumi:acme::lessor::lessor:infra:Silo$aws:ec2/securityGroup:SecurityGroup::t1-group-%[1]d",` +
		`"custom":true,"id":"sg-%017[1]x","type":"aws:ec2/securityGroup:SecurityGroup",` +
		`"inputs":{"__defaults":["revokeRulesOnDelete"],"description":"%[3]s","egress":[` + rule + `],"ingress":[` + rule + `],` +
		`"name":"acme-t1-group-%[1]d","revokeRulesOnDelete":false,"tags":` + tags + `,"tagsAll":` + tags + `,` +
		`"vpcId":"vpc-0a1b2c3d4e5f60718"},"outputs":{` +
		`"__meta":"{\"e2bfb730-ecaa-11e6-8f88-34363bc7c4c0\":{\"create\":600000000000,\"delete\":900000000000}}",` +
		`"arn":"arn:aws:ec2:eu-west-1:123456789012:security-group/sg-%017[1]x","description":"%[3]s","egress":[` + rule + `],` +
		`"id":"sg-%017[1]x","ingress":[` + rule + `],"name":"acme-t1-group-%[1]d","namePrefix":"","ownerId":"123456789012",` +
		`"region":"eu-west-1","revokeRulesOnDelete":false,"tags":` + tags + `,"tagsAll":` + tags + `,"timeouts":null,` +
		`"vpcId":"vpc-0a1b2c3d4e5f60718"},"parent":"` + stack + `","dependencies":["%[2]s"],` +
		`"provider":"` + provider + `::11111111-2222-3333-4444-555555555555",` +
		`"propertyDependencies":{"description":[],"egress":[],"ingress":["%[2]s"],"name":[],"tags":[],"vpcId":["%[2]s"]},` +
		`"created":"2026-03-01T12:00:00.123456789Z","modified":"2026-03-01T12:00:00.123456789Z"}`
	rule = `{"cidrBlocks":["10.64.0.0/16"],"description":"","fromPort":443,"ipv6CidrBlocks":[],"prefixListIds":[],` +
		`"protocol":"tcp","securityGroups":[],"self":false,"toPort":443}`
	tags = `{"managed-by":"lessor","tenant-id":"acme","tier":"enterprise"}`
)

// Sized returns a sound checkpoint of the stack acme of the project lessor with
// so many bytes, in the form that the CLI writes. Four KiB is the least.
func Sized(size int) []byte {
	var b bytes.Buffer

	b.WriteString(head)

	last := provider
	add := func(i, padding int) {
		fmt.Fprintf(&b, resource, i, last, strings.Repeat("x", padding))
		last = fmt.Sprintf("urn:pulumi:acme::lessor::lessor:infra:Silo$aws:ec2/securityGroup:SecurityGroup::t1-group-%d", i)
	}

	const room = 3 * len(resource)

	i := 1
	for ; size-b.Len() > room+len(tail); i++ {
		add(i, 0)
	}

	rest, before, from := size-b.Len()-len(tail), b.Len(), last

	add(i, 0)

	// The description, which fills the rest, is there twice.
	padding := (rest - (b.Len() - before)) / 2 //nolint:mnd // see above
	last = from

	b.Truncate(before)
	add(i, max(padding, 0))
	b.WriteString(tail)

	return append(b.Bytes(), bytes.Repeat([]byte(" "), max(size-b.Len(), 0))...)
}
