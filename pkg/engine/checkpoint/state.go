package checkpoint

import "strings"

const (
	stackType      = "pulumi:pulumi:Stack"
	providerPrefix = "pulumi:providers:"
)

// Resource is one resource of a stack's state. Values of Inputs and Outputs may
// be secrets, as ciphertext or where a program failed to mark them.
type Resource struct {
	URN      string `json:"urn"`
	Type     string `json:"type"`
	ID       string `json:"id"`
	Parent   string `json:"parent"`
	Provider string `json:"provider"` // <URN of the provider>::<its ID>

	Custom   bool `json:"custom"`   // a plugin manages it; the others are components and the stack
	External bool `json:"external"` // it was read, not made
	Delete   bool `json:"delete"`   // it was replaced and waits for its deletion
	Protect  bool `json:"protect"`
	// PendingReplacement is set while a resource that is deleted before its
	// replacement is made does not exist.
	PendingReplacement bool `json:"pendingReplacement"`

	Inputs  map[string]any `json:"inputs"`
	Outputs map[string]any `json:"outputs"`

	// These are URNs.
	Dependencies         []string            `json:"dependencies"`
	PropertyDependencies map[string][]string `json:"propertyDependencies"`
	DeletedWith          string              `json:"deletedWith"`
	ReplaceWith          []string            `json:"replaceWith"`
	ViewOf               string              `json:"viewOf"` // the resource whose provider manages this one

	RetainOnDelete bool `json:"retainOnDelete"`
	// AdditionalSecretOutputs are outputs that are secret, by name.
	AdditionalSecretOutputs []string `json:"additionalSecretOutputs"`
	// CustomTimeouts are in seconds: create, update, delete.
	CustomTimeouts map[string]float64 `json:"customTimeouts"`
}

// ARN returns the output "arn", or "" where there is none.
func (r Resource) ARN() string {
	arn, _ := r.Outputs["arn"].(string)

	return arn
}

// Cloud reports whether the resource stands for something outside of Pulumi: it
// is managed by a plugin, has an ID, and is neither a provider nor the stack.
func (r Resource) Cloud() bool {
	return r.Custom && r.ID != "" && r.Type != stackType && !r.provider()
}

// Unread reports whether the resource was adopted and no provider has read it
// since: it has an import id, and no outputs.
func (r Resource) Unread() bool { return r.Cloud() && len(r.Outputs) == 0 }

func (r Resource) provider() bool {
	return len(r.Type) > len(providerPrefix) && strings.HasPrefix(r.Type, providerPrefix)
}

// Pending is an operation that was under way when the state was last written.
type Pending struct {
	Operation string   `json:"type"` // creating, updating, deleting, reading or importing
	Resource  Resource `json:"resource"`
}

// State is what a checkpoint says.
type State struct {
	// Stack is the full name: organization/<project>/<stack>.
	Stack string
	// Resources stand in the order of the checkpoint: dependencies first.
	Resources []Resource
	Pending   []Pending
	// SecretsProvider is the type of the secrets provider: cloud, passphrase. It
	// is "" in a blank checkpoint and where a stack init was cut short.
	SecretsProvider string

	manifest manifest
	snippets []snippet
}

// Empty reports whether nothing is left: no resource but the stack and
// providers, and no operation under way.
func (s State) Empty() bool {
	for _, r := range s.Resources {
		if r.Type != stackType && !r.provider() {
			return false
		}
	}

	return len(s.Pending) == 0
}
