package catalog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// Parameters of programs whose networks can be peered.
const (
	parameterPeer      = "peerVpcId"
	parameterPeerRange = "peerCidr"
	parameterRange     = "cidr"
)

// claim is a range of addresses that a tier uses, and where the catalog says so.
type claim struct {
	path  string
	line  int
	value netip.Prefix
	// pool is nil where the range is one network, or that of a hub.
	pool *tenant.AddressPool
}

// network reads where the networks of a tier get their ranges from.
func (r *reader) network(fields map[string]entry, path string, b *tenant.Blueprint) {
	if e, ok := fields["addresses"]; ok {
		r.addresses(e, path+".addresses", b)
	}

	if _, peered := b.Parameters[parameterPeer]; !peered {
		return
	}

	parameters := fields["parameters"]
	path += ".parameters"

	if _, given := fields["addresses"]; !given {
		r.add(r.lineOf(parameters.value, parameterPeer, parameters.line), join(path, parameterPeer),
			"a network can be peered only if no other has its range, and the tenants of this tier would all have the same",
			"add `addresses: {range: 10.64.0.0/10, prefix: 20}` to the tier, so that each gets a block of its own")
	}

	for _, name := range []string{parameterRange, parameterPeerRange} {
		var text string

		// What is no range is for the program to refuse.
		_ = json.Unmarshal(b.Parameters[name], &text)
		if value, err := netip.ParsePrefix(text); err == nil {
			r.claims = append(r.claims, claim{
				path: join(path, name), line: r.lineOf(parameters.value, name, parameters.line), value: value.Masked(),
			})
		}
	}
}

func (r *reader) addresses(e entry, path string, b *tenant.Blueprint) {
	fields, ok := r.mapping(e.value, path, []string{"range", "prefix"})
	if !ok {
		return
	}

	sound := true

	for _, name := range []string{"range", "prefix"} {
		if _, given := fields[name]; !given {
			r.add(e.line, join(path, name), "missing", "write `addresses: {range: 10.64.0.0/10, prefix: 20}`")

			sound = false
		}
	}

	if !sound {
		return
	}

	var pool tenant.AddressPool

	text, sound := r.text(fields["range"], join(path, "range"))
	if sound {
		var err error
		if pool.Range, err = netip.ParsePrefix(text); err != nil {
			r.add(fields["range"].line, join(path, "range"), fmt.Sprintf("%q is no range", text), "give one such as 10.64.0.0/10")

			sound = false
		}
	}

	prefix, ok := r.integer(fields["prefix"], join(path, "prefix"), tenant.MinBlockBits, tenant.MaxBlockBits)
	if !ok || !sound {
		return
	}

	pool.Prefix = prefix

	if invalid, refused := errors.AsType[*tenant.InvalidError](pool.Validate()); refused {
		r.add(fields[invalid.Field].line, join(path, invalid.Field), invalid.Message, invalid.Advice())

		return
	}

	b.Addresses = &pool
	r.claims = append(r.claims, claim{path: path, line: e.line, value: pool.Range, pool: &pool})
}

// apart refuses pools that overlap: each other, unless they are the same, and the
// networks and hubs of tiers that are peered.
func (r *reader) apart() {
	slices.SortFunc(r.claims, func(a, b claim) int { return cmp.Or(a.line-b.line, cmp.Compare(a.path, b.path)) })

	for i, later := range r.claims {
		for _, earlier := range r.claims[:i] {
			if later.pool == nil && earlier.pool == nil || !later.value.Overlaps(earlier.value) {
				continue
			}

			if later.pool != nil && earlier.pool != nil && *later.pool == *earlier.pool {
				continue
			}

			fix := "choose a range that is apart from the other one"
			if later.pool != nil && earlier.pool != nil {
				fix = "give both tiers the same range and prefix, or ranges that are apart"
			}

			r.add(later.line, later.path, fmt.Sprintf("%s overlaps %s of %s (line %d)",
				later.value, earlier.value, earlier.path, earlier.line), fix)
		}
	}
}
