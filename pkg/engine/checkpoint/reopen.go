package checkpoint

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Lost lists, by URN, the creations that before has under way and of which after
// says nothing: the CLI was told that they failed.
func Lost(before, after State) []string {
	var lost []string

	for _, p := range before.Pending {
		if p.Operation == creating && !after.Mentions(p.Resource.URN) {
			lost = append(lost, p.Resource.URN)
		}
	}

	return lost
}

// Mentions reports whether a creation is under way, or has made something.
func (s State) Mentions(urn string) bool {
	return slices.ContainsFunc(s.Pending, func(p Pending) bool { return p.Operation == creating && p.Resource.URN == urn }) ||
		slices.ContainsFunc(s.Resources, func(r Resource) bool { return r.URN == urn && !r.Delete })
}

// Creation returns the entry of a creation that a checkpoint has under way, or
// nil.
func Creation(data []byte, urn string) json.RawMessage {
	var file struct {
		Checkpoint struct {
			Latest struct {
				Pending []json.RawMessage `json:"pending_operations"` //nolint:tagliatelle // Pulumi's name
			} `json:"latest"`
		} `json:"checkpoint"`
	}

	// What cannot be read has none.
	_ = json.Unmarshal(data, &file)

	for _, raw := range file.Checkpoint.Latest.Pending {
		var p Pending
		if json.Unmarshal(raw, &p) == nil && p.Operation == creating && p.Resource.URN == urn {
			return raw
		}
	}

	return nil
}

// Reopen puts creations back among what is under way. Everything else in the
// checkpoint stays as it is.
func Reopen(data []byte, creations []json.RawMessage) ([]byte, error) {
	file, err := fields(data, "checkpoint")
	if err != nil {
		return nil, err
	}

	point, err := fields(file["checkpoint"], "latest")
	if err != nil {
		return nil, err
	}

	var latest object
	if err := json.Unmarshal(point["latest"], &latest); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrUnreadable, explain(err, len(point["latest"])))
	}

	var pending []json.RawMessage

	if raw, found := latest["pending_operations"]; found {
		if err := json.Unmarshal(raw, &pending); err != nil {
			return nil, fmt.Errorf("%w: %s", ErrUnreadable, explain(err, len(raw)))
		}
	}

	for _, step := range []struct {
		into  object
		name  string
		value any
	}{
		{latest, "pending_operations", slices.Concat(pending, creations)}, {point, "latest", latest}, {file, "checkpoint", point},
	} {
		if step.into[step.name], err = json.Marshal(step.value); err != nil {
			return nil, fmt.Errorf("encoding the checkpoint: %w", err)
		}
	}

	reopened, err := json.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("encoding the checkpoint: %w", err)
	}

	return reopened, nil
}
