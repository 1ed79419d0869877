package checkpoint_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
)

const (
	stackURN    = "urn:pulumi:s::p::pulumi:pulumi:Stack::p-s"
	providerURN = "urn:pulumi:s::p::pulumi:providers:aws::eu"
	providerRef = providerURN + "::id-1"
	vpcURN      = "urn:pulumi:s::p::aws:ec2/vpc:Vpc::vpc"
	subnetURN   = "urn:pulumi:s::p::aws:ec2/subnet:Subnet::subnet"
	missingURN  = "urn:pulumi:s::p::aws:ec2/vpc:Vpc::missing"
)

// sound returns a stack, a provider, a VPC and a subnet that depends on it.
func sound() []checkpoint.Resource {
	return []checkpoint.Resource{
		{URN: stackURN, Type: "pulumi:pulumi:Stack"},
		{URN: providerURN, Type: "pulumi:providers:aws", ID: "id-1", Parent: stackURN, Custom: true},
		{URN: vpcURN, Type: "aws:ec2/vpc:Vpc", ID: "vpc-1", Parent: stackURN, Provider: providerRef, Custom: true},
		{
			URN: subnetURN, Type: "aws:ec2/subnet:Subnet", ID: "subnet-1", Parent: stackURN, Provider: providerRef, Custom: true,
			Dependencies: []string{vpcURN}, PropertyDependencies: map[string][]string{"vpcId": {vpcURN}, "a": {}},
			DeletedWith: vpcURN, ReplaceWith: []string{vpcURN},
		},
	}
}

// integrityCase is a sound list of resources with one change.
type integrityCase struct {
	name   string
	change func(r []checkpoint.Resource) []checkpoint.Resource
	want   string // "" if it stays sound
	// stricter is set where the CLI takes a URN that other parts of it panic on.
	stricter bool
}

func integrityCases() []integrityCase {
	type list = []checkpoint.Resource

	swap := func(r list, i, j int) list {
		r[i], r[j] = r[j], r[i]

		return r
	}
	subnet := func(edit func(r *checkpoint.Resource)) func(list) list {
		return func(r list) list {
			r[3].Dependencies, r[3].PropertyDependencies, r[3].DeletedWith, r[3].ReplaceWith = nil, nil, "", nil
			edit(&r[3])

			return r
		}
	}

	return []integrityCase{
		{name: "sound", change: func(r list) list { return r }},
		{name: "nothing", change: func(list) list { return nil }},
		{
			name: "no URN", change: subnet(func(r *checkpoint.Resource) { r.URN = "" }),
			want: `resource 3 has no URN`,
		},
		{
			name: "no URN in form", change: subnet(func(r *checkpoint.Resource) { r.URN = "urn:pulumi:s::p::x" }),
			want: `resource "urn:pulumi:s::p::x": this is no URN`, stricter: true,
		},
		{
			name: "no type", change: subnet(func(r *checkpoint.Resource) { r.Type = "" }),
			want: `resource "` + subnetURN + `" has no type`,
		},
		{
			name: "component with ID", change: subnet(func(r *checkpoint.Resource) { r.Custom = false }),
			want: `resource "` + subnetURN + `" has an ID, but is not a custom resource`,
		},
		{
			name: "parent after child", change: func(r list) list { return swap(r, 0, 1) },
			want: `resource "` + providerURN + `" stands before its parent "` + stackURN + `"`,
		},
		{
			name: "no parent", change: func(r list) list { return r[1:] },
			want: `resource "` + providerURN + `": its parent "` + stackURN + `" is missing`,
		},
		{
			name: "own parent", change: subnet(func(r *checkpoint.Resource) { r.Parent = subnetURN }),
			want: `resource "` + subnetURN + `": its parent "` + subnetURN + `" is missing`,
		},
		{
			name: "dependency later", change: func(r list) list { return swap(r, 2, 3) },
			want: `resource "` + subnetURN + `" stands before its dependency "` + vpcURN + `"`,
		},
		{
			name: "no dependency", change: subnet(func(r *checkpoint.Resource) { r.Dependencies = []string{"", vpcURN, missingURN} }),
			want: `resource "` + subnetURN + `": its dependency "` + missingURN + `" is missing`,
		},
		{
			name: "no property dependency",
			change: subnet(func(r *checkpoint.Resource) {
				r.PropertyDependencies = map[string][]string{"a": {vpcURN}, "b": {missingURN}}
			}),
			want: `resource "` + subnetURN + `": its property dependency "` + missingURN + `" is missing`,
		},
		{
			name: "property dependency later",
			change: func(r list) list {
				r[2].PropertyDependencies = map[string][]string{"b": {subnetURN}}

				return r
			},
			want: `resource "` + vpcURN + `" stands before its property dependency "` + subnetURN + `"`,
		},
		{
			name: "no deleted-with", change: subnet(func(r *checkpoint.Resource) { r.DeletedWith = missingURN }),
			want: `resource "` + subnetURN + `": its deleted-with "` + missingURN + `" is missing`,
		},
		{
			name: "no replace-with", change: subnet(func(r *checkpoint.Resource) { r.ReplaceWith = []string{missingURN} }),
			want: `resource "` + subnetURN + `": its replace-with "` + missingURN + `" is missing`,
		},
		{
			name: "no provider", change: subnet(func(r *checkpoint.Resource) { r.Provider = providerURN + "::id-2" }),
			want: `resource "` + subnetURN + `": its provider "` + providerURN + `::id-2" is missing or stands after it`,
		},
		{
			name: "provider later", change: func(r list) list { return swap(r, 1, 2) },
			want: `resource "` + vpcURN + `": its provider "` + providerRef + `" is missing or stands after it`,
		},
		{
			name: "no reference", change: subnet(func(r *checkpoint.Resource) { r.Provider = "nonsense" }),
			want: `resource "` + subnetURN + `": its provider "nonsense" is no reference to one`,
		},
		{
			name: "reference to another type", change: subnet(func(r *checkpoint.Resource) { r.Provider = vpcURN + "::vpc-1" }),
			want: `resource "` + subnetURN + `": its provider "` + vpcURN + `::vpc-1" is no reference to one`,
		},
		{
			name: "reference without ID", change: subnet(func(r *checkpoint.Resource) { r.Provider = providerURN }),
			want: `resource "` + subnetURN + `": its provider "` + providerURN + `" is no reference to one`,
		},
		{
			name: "provider that is none", change: func(r list) list {
				r[1].URN = "urn:pulumi:s::p::aws:ec2/vpc:Vpc::eu"

				return r
			},
			want: `provider "urn:pulumi:s::p::aws:ec2/vpc:Vpc::eu": its URN has another type`,
		},
		{
			name: "provider without ID", change: func(r list) list {
				r[1].ID = ""
				r[2].Provider, r[3].Provider = "", providerURN+"::04da6b54-80e4-46f7-96ec-b56ff0331ba9"

				return r
			},
		},
		{
			name: "provider of a component", change: func(r list) list {
				r[1].URN = "urn:pulumi:s::p::lessor:infra:Silo$pulumi:providers:aws::eu"
				r[2].Provider, r[3].Provider = r[1].URN+"::id-1", r[1].URN+"::id-1"

				return r
			},
		},
		{
			name: "replacement outlives its provider", change: subnet(func(r *checkpoint.Resource) {
				r.Provider, r.PendingReplacement = providerURN+"::id-0", true
			}),
		},
		{
			name: "waiting for deletion with another provider", change: subnet(func(r *checkpoint.Resource) {
				r.Provider, r.Delete = providerURN+"::id-0", true
			}),
			want: `resource "` + subnetURN + `": its provider "` + providerURN + `::id-0" is missing or stands after it`,
		},
		{
			name: "twice", change: func(r list) list { return append(r, r[3]) },
			want: `resource "` + subnetURN + `" is there twice`,
		},
		{
			name: "old ones beside a new one", change: func(r list) list {
				old := r[3]
				old.Delete = true

				return append(r[:3:3], old, r[3], old)
			},
		},
		{
			name: "twice beside an old one", change: func(r list) list {
				old := r[3]
				old.Delete = true

				return append(r, old, r[3])
			},
			want: `resource "` + subnetURN + `" is there twice`,
		},
		{
			name: "only old ones", change: func(r list) list {
				r[3].Delete = true

				return append(r, r[3])
			},
		},
		{
			name: "depending on what waits for deletion", change: func(r list) list {
				r[2].Delete = true

				return r
			},
		},
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()

	for _, tt := range integrityCases() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			s := checkpoint.State{Resources: tt.change(sound())}

			read, readErr := checkpoint.Read(encode(t, s.Resources))
			require.Len(t, read.Resources, len(s.Resources), "what was read is returned with the error")

			if tt.want == "" {
				require.NoError(t, s.Verify())
				require.NoError(t, readErr)

				return
			}

			err := s.Verify()
			require.ErrorIs(t, err, checkpoint.ErrIntegrity)
			require.EqualError(t, err, "inconsistent checkpoint: "+tt.want)
			require.EqualError(t, readErr, err.Error())
			require.ErrorIs(t, readErr, checkpoint.ErrIntegrity)
		})
	}
}

func TestVerifyTheRest(t *testing.T) {
	t.Parallel()

	full := string(fixture(t, "full"))

	for name, tt := range map[string]struct{ old, replacement, want string }{
		"magic":           {`"magic":"bb3f`, `"magic":"bb3e`, "the manifest's magic does not fit its version"},
		"version":         {`"version":"3.274.1"`, `"version":"3.274.0"`, "the manifest's magic does not fit its version"},
		"no version":      {`"version":"3.274.1"`, `"version":""`, "the manifest's magic does not fit its version"},
		"snippet":         {`"metadata":{}`, `"snippets":[{"uuid":"a"},{}]`, "snippet 1 has no UUID"},
		"snippet twice":   {`"metadata":{}`, `"snippets":[{"uuid":"a"},{"uuid":"a"}]`, "snippet 1 has the UUID of another"},
		"a line in a URN": {`"parent":"urn:pulumi:full`, `"parent":"urn:\npulumi:full`, `its parent "urn:\npulumi:full`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			require.Contains(t, full, tt.old)

			_, err := checkpoint.Read([]byte(strings.Replace(full, tt.old, tt.replacement, 1)))
			require.ErrorIs(t, err, checkpoint.ErrIntegrity)
			require.ErrorContains(t, err, tt.want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

// encode writes resources as a checkpoint of the stack s of the project p.
func encode(t *testing.T, resources []checkpoint.Resource) []byte {
	t.Helper()

	list, err := json.Marshal(resources)
	require.NoError(t, err)

	return fmt.Appendf(nil, `{"version":3,"checkpoint":{"stack":"organization/p/s","latest":{"resources":%s}}}`, list)
}
