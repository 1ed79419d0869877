package engine

import (
	"fmt"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/tokens"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
)

// declaration is a resource as the state has it, but for what guards it.
type declaration struct {
	checkpoint.Resource
	unguarded

	name string
	// version and downloadURL lead to the same default provider again. They are ""
	// where the provider is declared as well.
	version, downloadURL string
}

// undeclarableError is a resource that cannot be declared as the state has it.
type undeclarableError struct{ urn, reason string }

func (e *undeclarableError) Error() string {
	return fmt.Sprintf("%s cannot be declared from the state: %s", describe(e.urn), e.reason)
}

// declarations are what an up declares of topologies in place of their programs,
// so that they can be deleted: all that the state has of them, in its order, and
// nothing that it has not. What belongs to no topology goes with the last one if
// there is no program that could declare it, or the up would delete it already.
//
// An up of a program would set what the program says by now. This one sets nothing
// but what ends protection: every other input is ignored, so that it stays.
func declarations(resources []checkpoint.Resource, topologies []Topology, alone bool) ([]declaration, error) {
	var (
		list      []declaration
		known     = map[string]checkpoint.Resource{}
		owner     = map[string]int{}
		snapshots = map[int]bool{}
	)

	for _, r := range resources {
		if r.Delete {
			continue
		}

		known[r.URN] = r

		mine, found := ownerOf(r, owner, topologies)
		if !found && alone {
			mine, found = len(topologies)-1, true
		}

		if !found || !declarable(r) {
			continue
		}

		owner[r.URN] = mine
		_, name := splitURN(r.URN)
		d := declaration{Resource: r, name: name}

		if reason := d.place(known, owner); reason != "" {
			return nil, &undeclarableError{r.URN, reason}
		}

		kept := topologies[mine].FinalSnapshot
		snapshot := ""

		if takesSnapshot(r) && kept != "" {
			// Two snapshots cannot have one name.
			if snapshot = kept; snapshots[mine] {
				snapshot += "-" + strings.ToLower(name)
			}

			snapshots[mine] = true
		}

		d.unguarded = unguard(r, snapshot, kept)
		list = append(list, d)
	}

	return list, nil
}

// ownerOf tells which of the topologies a resource belongs to, by its name or by
// what it is a part of.
func ownerOf(r checkpoint.Resource, owner map[string]int, topologies []Topology) (int, bool) {
	_, name := splitURN(r.URN)

	for i, t := range topologies {
		if strings.HasPrefix(name, t.Name("")) {
			return i, true
		}
	}

	i, found := owner[r.Parent]

	return i, found
}

// declarable reports whether a program declares a resource, and the resource is
// there. What was only read is read no more, which deletes nothing.
func declarable(r checkpoint.Resource) bool {
	return r.Type != stackType && !defaultProvider(r) && !r.External && !r.PendingReplacement && r.ViewOf == ""
}

// defaultProvider reports whether the engine makes a provider by itself.
func defaultProvider(r checkpoint.Resource) bool {
	_, name := splitURN(r.URN)

	return strings.HasPrefix(r.Type, providerPrefix) && (name == "default" || strings.HasPrefix(name, "default_"))
}

// place finds provider and parent, and tells what is in the way of the same URN: a
// resource under another one would be a second.
func (d *declaration) place(known map[string]checkpoint.Resource, declared map[string]int) string {
	urn := resource.URN(d.URN)

	var within tokens.Type

	if parent, found := known[d.Parent]; found && parent.Type != stackType {
		if _, declared := declared[d.Parent]; !declared {
			return "its parent is not"
		}

		within = resource.URN(d.Parent).QualifiedType()
	}

	if want := resource.NewURN(urn.Stack(), urn.Project(), within, tokens.Type(d.Type), d.name); want != urn {
		return "its parent is another"
	}

	provider := providerURN(d.Provider)
	if _, found := declared[provider]; d.Provider == "" || found {
		return ""
	}

	by, found := known[provider]
	if !found || !defaultProvider(by) {
		return "its provider is not"
	}

	d.version, _ = by.Inputs["version"].(string)
	d.downloadURL, _ = by.Inputs["pluginDownloadURL"].(string)

	return ""
}

// providerURN is the part of a reference that is not the id.
func providerURN(reference string) string {
	return reference[:max(0, strings.LastIndex(reference, "::"))]
}

// declare declares resources in their order.
func declare(ctx *pulumi.Context, list []declaration) error {
	made := map[string]pulumi.Resource{}

	for i := range list {
		d := &list[i]

		r, err := d.declare(ctx, d.options(made))
		if err != nil {
			return fmt.Errorf("declaring %s from the state: %w", describe(d.URN), err)
		}

		made[d.URN] = r
	}

	return nil
}

func (d *declaration) declare(ctx *pulumi.Context, opts []pulumi.ResourceOption) (pulumi.Resource, error) {
	inputs := pulumi.ToMap(d.set)

	switch {
	case strings.HasPrefix(d.Type, providerPrefix):
		r := &pulumi.ProviderResourceState{}

		return r, ctx.RegisterResource(d.Type, d.name, inputs, r, opts...) //nolint:wrapcheck // by the caller
	case d.Custom:
		r := &pulumi.CustomResourceState{}

		return r, ctx.RegisterResource(d.Type, d.name, inputs, r, opts...) //nolint:wrapcheck // by the caller
	default:
		r := &pulumi.ResourceState{}

		return r, ctx.RegisterComponentResourceV2(d.Type, d.name, inputs, r, opts...) //nolint:wrapcheck // by the caller
	}
}

// options are those that the deletion heeds, and those that make it the resource
// that it is.
func (d *declaration) options(made map[string]pulumi.Resource) []pulumi.ResourceOption {
	opts := []pulumi.ResourceOption{
		pulumi.Protect(false), pulumi.RetainOnDelete(d.retain || d.RetainOnDelete), pulumi.IgnoreChanges(d.kept),
		// What an update reads again is a secret still.
		pulumi.AdditionalSecretOutputs(d.AdditionalSecretOutputs),
		pulumi.Timeouts(&pulumi.CustomTimeouts{
			Create: seconds(d.CustomTimeouts["create"]), Update: seconds(d.CustomTimeouts["update"]),
			Delete: seconds(d.CustomTimeouts["delete"]),
		}),
		pulumi.DependsOn(d.dependencies(made)),
	}

	if parent, found := made[d.Parent]; found {
		opts = append(opts, pulumi.Parent(parent))
	}

	if with, found := made[d.DeletedWith]; found {
		opts = append(opts, pulumi.DeletedWith(with))
	}

	if provider, ok := made[providerURN(d.Provider)].(pulumi.ProviderResource); ok {
		return append(opts, pulumi.Provider(provider))
	}

	if d.version != "" {
		opts = append(opts, pulumi.Version(d.version))
	}

	if d.downloadURL != "" {
		opts = append(opts, pulumi.PluginDownloadURL(d.downloadURL))
	}

	return opts
}

// dependencies keep the order in which resources are deleted. That of a component
// are its parts, which the state names beside it.
func (d *declaration) dependencies(made map[string]pulumi.Resource) []pulumi.Resource {
	var list []pulumi.Resource

	for _, urn := range d.Dependencies {
		if r, custom := made[urn].(pulumi.CustomResource); custom {
			list = append(list, r)
		}
	}

	return list
}

// seconds is a duration as programs give it.
func seconds(n float64) string {
	if n == 0 {
		return ""
	}

	return time.Duration(n * float64(time.Second)).String()
}
