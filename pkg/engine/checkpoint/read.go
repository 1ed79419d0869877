package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// MaxBytes is the size of the largest checkpoint that is read, 64 MiB. The CLI
// writes the whole of it at every step: one of this size is of no use.
const MaxBytes = 64 << 20

// The CLI also reads versions 0 to 2, which it has not written since 2019, but
// for one case: `stack init` begins with a checkpoint of version 0 that names
// the stack and holds nothing.
const (
	oldestVersion = 3
	newestVersion = 4
)

// ErrUnreadable is what errors about a checkpoint wrap that cannot be parsed.
var ErrUnreadable = errors.New("unreadable checkpoint")

// document is the part of a checkpoint file that State needs. R is what is read
// of a resource.
type document[R any] struct {
	Version    int `json:"version"`
	Checkpoint *struct {
		Stack  string         `json:"stack"`
		Latest *deployment[R] `json:"latest"`
	} `json:"checkpoint"`
}

type deployment[R any] struct {
	Manifest         manifest `json:"manifest"`
	SecretsProviders *struct {
		Type string `json:"type"`
	} `json:"secrets_providers"` //nolint:tagliatelle // Pulumi's name
	Resources []R          `json:"resources"`
	Pending   []pending[R] `json:"pending_operations"` //nolint:tagliatelle // Pulumi's name
	Snippets  []snippet    `json:"snippets"`
}

type pending[R any] struct {
	Operation string `json:"type"`
	Resource  R      `json:"resource"`
}

// outline is a resource without its properties. They must be objects.
type outline struct {
	Resource

	Inputs  struct{} `json:"inputs"`
	Outputs struct{} `json:"outputs"`
}

type manifest struct {
	Magic   string `json:"magic"`
	Version string `json:"version"`
}

type snippet struct {
	UUID string `json:"uuid"`
}

// Read parses a checkpoint file and verifies it. White space around it is
// normal. Errors wrap ErrUnreadable or, with the State beside them,
// ErrIntegrity. They are one line and hold no values of properties.
func Read(data []byte) (State, error) {
	return read(data, func(r Resource) Resource { return r })
}

// Outline is Read without the properties of resources: Inputs and Outputs are
// nil. They are most of a checkpoint, so that it takes a small part of the memory.
func Outline(data []byte) (State, error) {
	return read(data, func(r outline) Resource { return r.Resource })
}

func read[R any](data []byte, resource func(R) Resource) (State, error) {
	if len(data) > MaxBytes {
		return State{}, fmt.Errorf("%w: %d bytes, more than %d", ErrUnreadable, len(data), MaxBytes)
	}

	// It refuses nesting that is too deep, at the same depth as the CLI.
	var doc document[R]
	if err := json.Unmarshal(data, &doc); err != nil {
		return State{}, fmt.Errorf("%w: %s", ErrUnreadable, explain(err, len(data)))
	}

	begun := doc.Version == 0 && doc.Checkpoint != nil && doc.Checkpoint.Stack != "" && doc.Checkpoint.Latest == nil
	if !begun && (doc.Version < oldestVersion || doc.Version > newestVersion) {
		return State{}, fmt.Errorf("%w: its version is %d, not %d or %d", ErrUnreadable, doc.Version, oldestVersion, newestVersion)
	}

	if doc.Checkpoint == nil {
		return State{}, fmt.Errorf(`%w: it has no "checkpoint"`, ErrUnreadable)
	}

	s := State{Stack: doc.Checkpoint.Stack}

	if latest := doc.Checkpoint.Latest; latest != nil {
		s.manifest, s.snippets = latest.Manifest, latest.Snippets

		s.Resources = slices.Grow(s.Resources, len(latest.Resources))
		for _, r := range latest.Resources {
			s.Resources = append(s.Resources, resource(r))
		}

		for _, p := range latest.Pending {
			s.Pending = append(s.Pending, Pending{Operation: p.Operation, Resource: resource(p.Resource)})
		}

		if latest.SecretsProviders != nil {
			s.SecretsProvider = latest.SecretsProviders.Type
		}
	}

	return s, s.Verify()
}

// explain says where parsing failed. The texts of encoding/json would quote
// from the checkpoint.
func explain(err error, size int) string {
	var (
		syntax   *json.SyntaxError
		mistyped *json.UnmarshalTypeError
	)

	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("no JSON at byte %d of %d", syntax.Offset, size)
	case errors.As(err, &mistyped):
		return fmt.Sprintf("the value of %q at byte %d of %d has the wrong type, want %s",
			mistyped.Field, mistyped.Offset, size, mistyped.Type.Kind())
	default:
		return "no JSON"
	}
}

// Blank returns the checkpoint of a stack without resources and without a
// secrets provider. The CLI lists, selects, exports and removes such a stack.
func Blank(project, stack string) []byte {
	// A string always marshals.
	name, _ := json.Marshal("organization/" + project + "/" + stack) //nolint:errchkjson // as said

	return fmt.Appendf(nil, "{\"version\":%d,\"checkpoint\":{\"stack\":%s}}\n", oldestVersion, name)
}
