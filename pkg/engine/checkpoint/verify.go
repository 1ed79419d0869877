package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

const (
	urnPrefix    = "urn:pulumi:"
	urnDelimiter = "::"
	// unknownID stands in references for the ID that a provider does not have.
	unknownID = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
)

// ErrIntegrity is what errors about a checkpoint wrap that the CLI refuses to
// work on.
var ErrIntegrity = errors.New("inconsistent checkpoint")

// Verify checks what the CLI checks before it works on a checkpoint: resources
// stand after their providers, parents and dependencies, nothing refers to what
// is missing, and at most one resource of a URN does not wait for deletion.
// Errors wrap ErrIntegrity and name the URN.
func (s State) Verify() error {
	if s.manifest.Magic != magic(s.manifest.Version) {
		return violation("the manifest's magic does not fit its version")
	}

	v := verifier{resources: s.Resources, seen: make(map[string]int, len(s.Resources)), providers: map[string]bool{}}

	for i, r := range s.Resources {
		if err := v.verify(i, r); err != nil {
			return err
		}
	}

	uuids := make(map[string]bool, len(s.snippets))

	for i, snippet := range s.snippets {
		if snippet.UUID == "" {
			return violation("snippet %d has no UUID", i)
		}

		if uuids[snippet.UUID] {
			return violation("snippet %d has the UUID of another", i)
		}

		uuids[snippet.UUID] = true
	}

	return nil
}

// magic is how the CLI marks a manifest.
func magic(version string) string {
	if version == "" {
		return ""
	}

	sum := sha256.Sum256([]byte(version))

	return hex.EncodeToString(sum[:])
}

func violation(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrIntegrity, fmt.Sprintf(format, args...))
}

// verifier goes through the resources in order.
type verifier struct {
	resources []Resource
	seen      map[string]int  // URN ▶ how many of them do not wait for deletion
	providers map[string]bool // by reference
}

func (v verifier) verify(i int, r Resource) error {
	switch {
	case r.URN == "":
		return violation("resource %d has no URN", i)
	case !validURN(r.URN):
		return violation("resource %q: this is no URN", r.URN)
	case r.Type == "":
		return violation("resource %q has no type", r.URN)
	case !r.Custom && r.ID != "":
		return violation("resource %q has an ID, but is not a custom resource", r.URN)
	}

	if err := v.verifyProvider(r); err != nil {
		return err
	}

	for kind, urn := range references(r) {
		if _, known := v.seen[urn]; known {
			continue
		}

		later := slices.ContainsFunc(v.resources[i+1:], func(other Resource) bool { return other.URN == urn })
		if later {
			return violation("resource %q stands before its %s %q", r.URN, kind, urn)
		}

		return violation("resource %q: its %s %q is missing", r.URN, kind, urn)
	}

	if !r.Delete {
		v.seen[r.URN]++
	} else if _, known := v.seen[r.URN]; !known {
		v.seen[r.URN] = 0
	}

	if v.seen[r.URN] > 1 {
		return violation("resource %q is there twice", r.URN)
	}

	return nil
}

func (v verifier) verifyProvider(r Resource) error {
	if r.provider() {
		if !providerURN(r.URN) {
			return violation("provider %q: its URN has another type", r.URN)
		}

		id := r.ID
		if id == "" {
			id = unknownID
		}

		v.providers[r.URN+urnDelimiter+id] = true
	}

	if r.Provider == "" {
		return nil
	}

	end := strings.LastIndex(r.Provider, urnDelimiter)
	if end < 0 || !providerURN(r.Provider[:end]) {
		return violation("resource %q: its provider %q is no reference to one", r.URN, r.Provider)
	}

	// What a replacement deleted first may outlive the provider it was made with.
	if !v.providers[r.Provider] && !r.PendingReplacement {
		return violation("resource %q: its provider %q is missing or stands after it", r.URN, r.Provider)
	}

	return nil
}

// references yields the URNs that a resource refers to, with what they are to it.
func references(r Resource) iter.Seq2[string, string] {
	return func(yield func(kind, urn string) bool) {
		each := func(kind string, urns ...string) bool {
			for _, urn := range urns {
				if urn != "" && !yield(kind, urn) {
					return false
				}
			}

			return true
		}

		if !each("parent", r.Parent) || !each("dependency", r.Dependencies...) {
			return
		}

		for _, property := range slices.Sorted(maps.Keys(r.PropertyDependencies)) {
			if !each("property dependency", r.PropertyDependencies[property]...) {
				return
			}
		}

		if each("deleted-with", r.DeletedWith) {
			each("replace-with", r.ReplaceWith...)
		}
	}
}

// validURN is as strict as the CLI: urn:pulumi:<stack>::<project>::<type>::<name>.
func validURN(urn string) bool {
	const delimiters = 3

	return strings.HasPrefix(urn, urnPrefix) && strings.Count(urn, urnDelimiter) >= delimiters
}

// providerURN reports whether a URN is a provider's by its type.
func providerURN(urn string) bool {
	if !validURN(urn) {
		return false
	}

	const typePart = 2

	qualified := strings.Split(strings.TrimPrefix(urn, urnPrefix), urnDelimiter)[typePart]
	own := qualified[strings.LastIndex(qualified, "$")+1:]

	return len(own) > len(providerPrefix) && strings.HasPrefix(own, providerPrefix)
}
