package cloudsim

import (
	"maps"
	"net/netip"
	"slices"
	"time"
)

// State is where a resource is in its life.
type State string

// The states. A resource in PendingDeletion is a KMS key that can no longer be
// used; a Deleting one still blocks what it depends on.
const (
	StateCreating        State = "creating"
	StateAvailable       State = "available"
	StateModifying       State = "modifying"
	StateDeleting        State = "deleting"
	StatePendingDeletion State = "pending-deletion"
)

// TagTenant is the tag that says whose a resource is.
const TagTenant = "tenant-id"

// Resource is one resource of the simulated account.
type Resource struct {
	// Type is the Pulumi type token, such as aws:ec2/vpc:Vpc.
	Type   string `json:"type"`
	ID     string `json:"id"`
	Region string `json:"region"`
	State  State  `json:"state"`
	// Inputs are the properties that were asked for, Outputs those that AWS
	// adds.
	Inputs    map[string]any    `json:"inputs,omitempty"`
	Outputs   map[string]any    `json:"outputs,omitempty"`
	Tags      map[string]string `json:"tags,omitempty"`
	CreatedAt time.Time         `json:"createdAt"`
	UpdatedAt time.Time         `json:"updatedAt"`

	// settlesAt is when a state that passes by itself ends.
	settlesAt time.Time
	// claimEnds is set while the resource is only a claim to its name.
	claimEnds time.Time
}

// Tenant is the tenant that the resource is tagged with, or "".
func (r *Resource) Tenant() string { return r.Tags[TagTenant] }

// Text returns a property as text: an input or, failing that, an output.
func (r *Resource) Text(name string) string {
	if s, ok := r.Inputs[name].(string); ok {
		return s
	}

	s, _ := r.Outputs[name].(string)

	return s
}

// claim reports whether the resource does not exist yet.
func (r *Resource) claim() bool { return !r.claimEnds.IsZero() }

func (r *Resource) flag(name string) bool {
	b, _ := r.Inputs[name].(bool)

	return b
}

// number returns a numeric input. JSON makes all numbers float64; code of this
// package may use int.
func (r *Resource) number(name string) (int, bool) {
	switch n := r.Inputs[name].(type) {
	case float64:
		return int(n), true
	case int:
		return n, true
	default:
		return 0, false
	}
}

func (r *Resource) texts(name string) []string {
	list, ok := r.Inputs[name].([]any)
	if !ok {
		return nil
	}

	texts := make([]string, 0, len(list))

	for _, item := range list {
		if s, ok := item.(string); ok {
			texts = append(texts, s)
		}
	}

	return texts
}

// parts are the objects in a property: one, or a list of them.
func (r *Resource) parts(name string) []*Resource {
	list, ok := r.Inputs[name].([]any)
	if !ok {
		list = []any{r.Inputs[name]}
	}

	var parts []*Resource

	for _, item := range list {
		if properties, ok := item.(map[string]any); ok {
			parts = append(parts, &Resource{Inputs: properties})
		}
	}

	return parts
}

func (r *Resource) cidr() (netip.Prefix, bool) {
	prefix, err := netip.ParsePrefix(r.Text("cidrBlock"))
	if err != nil || !prefix.Addr().Is4() || prefix != prefix.Masked() {
		return netip.Prefix{}, false
	}

	return prefix, true
}

func (r *Resource) set(name string, value any) {
	if r.Outputs == nil {
		r.Outputs = map[string]any{}
	}

	r.Outputs[name] = value
}

// clone copies what a caller could change under the simulator's feet. Values
// inside the properties are replaced as a whole and never modified.
func (r *Resource) clone() Resource {
	c := *r
	c.Inputs = maps.Clone(r.Inputs)
	c.Outputs = maps.Clone(r.Outputs)
	c.Tags = maps.Clone(r.Tags)

	return c
}

// uses reports whether one of the named properties refers to id.
func (r *Resource) uses(id string, properties ...string) bool {
	for _, name := range properties {
		if r.Text(name) == id || slices.Contains(r.texts(name), id) {
			return true
		}
	}

	return false
}

// Creation asks for a resource.
type Creation struct {
	Type    string            `json:"type"`
	Region  string            `json:"region"`
	Inputs  map[string]any    `json:"inputs,omitempty"`
	Outputs map[string]any    `json:"outputs,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"`
	// Claim takes the name and asks the rules, for a resource that has data in
	// the emulator. It exists once a Change completes it; a claim that nobody
	// completes is void after a while.
	Claim bool `json:"claim,omitempty"`
}

// Change replaces the inputs of a resource and its tags where they are not
// nil, and adds outputs.
type Change struct {
	Type    string            `json:"type"`
	Region  string            `json:"region"`
	ID      string            `json:"id"`
	Inputs  map[string]any    `json:"inputs,omitempty"`
	Outputs map[string]any    `json:"outputs,omitempty"`
	Tags    map[string]string `json:"tags,omitempty"`
	// Completes turns a claim into a resource, and NewID is the id that the
	// emulator chose for it, if it did.
	Completes bool   `json:"completes,omitempty"`
	NewID     string `json:"newId,omitempty"`
	// Behind makes the change behind everybody's back: no rule is asked and
	// no fault strikes. It is how tests make drift.
	Behind bool `json:"behind,omitempty"`
}

// Removal deletes a resource.
type Removal struct {
	Type   string `json:"type"`
	Region string `json:"region"`
	ID     string `json:"id"`
	// Arguments are those of AWS's delete call, such as skipFinalSnapshot.
	Arguments map[string]any `json:"arguments,omitempty"`
	// Behind is as for Change.
	Behind bool `json:"behind,omitempty"`
}

// Filter selects resources. Its zero value selects all but deleted keys.
type Filter struct {
	Type   string
	Region string
	Tags   map[string]string
	// Texts are inputs, or what AWS adds, as text.
	Texts map[string]string
	// PendingDeletion includes keys that are scheduled for deletion.
	PendingDeletion bool
}

func (f Filter) matches(r *Resource) bool {
	if f.Type != "" && f.Type != r.Type || f.Region != "" && f.Region != r.Region {
		return false
	}

	if r.claim() || r.State == StatePendingDeletion && !f.PendingDeletion {
		return false
	}

	for name, value := range f.Tags {
		if r.Tags[name] != value {
			return false
		}
	}

	for name, value := range f.Texts {
		if r.Text(name) != value {
			return false
		}
	}

	return true
}
