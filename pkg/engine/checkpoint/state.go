package checkpoint

// Resource is one resource of a stack's state.
type Resource struct {
	URN, Type, ID, Parent, Provider   string
	Custom, External, Delete, Protect bool

	Inputs, Outputs map[string]any
	Dependencies    []string
}

// Pending is an operation that was under way when the state was last written:
// creating, updating, deleting, reading or importing.
type Pending struct {
	Operation string
	Resource  Resource
}

// State is what a checkpoint says.
type State struct {
	// Stack is the full name: organization/<project>/<stack>.
	Stack     string
	Resources []Resource
	Pending   []Pending
	// SecretsProvider is the type of the secrets provider. It is "" where the
	// creation of the stack was cut short.
	SecretsProvider string
}
