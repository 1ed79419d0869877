package checkpoint

import (
	"encoding/json"
	"fmt"
)

const creating = "creating"

// Adopt resolves creations that were cut short: those with an id in ids, by URN,
// become resources with that id and no outputs, which a refresh reads from the
// provider or drops if there is nothing. The others are forgotten. Everything
// else in the checkpoint stays as it is.
//
// `pulumi refresh --import-pending-creates` only marks them as importing, which
// nothing acts on afterwards (read in the source of 3.274.1).
func Adopt(data []byte, ids map[string]string) ([]byte, error) {
	file, err := fields(data, "checkpoint")
	if err != nil {
		return nil, err
	}

	point, err := fields(file["checkpoint"], "latest")
	if err != nil {
		return nil, err
	}

	latest, err := fields(point["latest"], "pending_operations")
	if err != nil {
		return nil, err
	}

	if err := adopt(latest, ids); err != nil {
		return nil, err
	}

	if point["latest"], err = json.Marshal(latest); err != nil {
		return nil, fmt.Errorf("encoding the checkpoint: %w", err)
	}

	if file["checkpoint"], err = json.Marshal(point); err != nil {
		return nil, fmt.Errorf("encoding the checkpoint: %w", err)
	}

	adopted, err := json.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("encoding the checkpoint: %w", err)
	}

	return adopted, nil
}

type object = map[string]json.RawMessage

// fields reads an object that has a field.
func fields(data []byte, wanted string) (object, error) {
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrUnreadable, explain(err, len(data)))
	}

	if _, found := o[wanted]; !found {
		return nil, fmt.Errorf("%w: it has no %q", ErrUnreadable, wanted)
	}

	return o, nil
}

func adopt(latest object, ids map[string]string) error {
	var (
		resources []object
		pending   []struct {
			Type     string `json:"type"`
			Resource object `json:"resource"`
		}
	)

	if raw, found := latest["resources"]; found {
		if err := json.Unmarshal(raw, &resources); err != nil {
			return fmt.Errorf("%w: %s", ErrUnreadable, explain(err, len(raw)))
		}
	}

	raw := latest["pending_operations"]
	if err := json.Unmarshal(raw, &pending); err != nil {
		return fmt.Errorf("%w: %s", ErrUnreadable, explain(err, len(raw)))
	}

	kept := pending[:0]

	for _, p := range pending {
		if p.Type != creating {
			kept = append(kept, p)

			continue
		}

		id, found := ids[textOf(p.Resource["urn"])]
		if !found {
			continue
		}

		encoded, err := json.Marshal(id)
		if err != nil {
			return fmt.Errorf("encoding an id: %w", err)
		}

		// A creation that replaces a resource makes that one wait for its
		// deletion, as the engine does once the creation has succeeded.
		for _, r := range resources {
			if textOf(r["urn"]) == textOf(p.Resource["urn"]) {
				r["delete"] = json.RawMessage("true")
			}
		}

		p.Resource["id"] = encoded
		delete(p.Resource, "outputs")

		resources = append(resources, p.Resource)
	}

	var err error
	if latest["resources"], err = json.Marshal(resources); err != nil {
		return fmt.Errorf("encoding resources: %w", err)
	}

	delete(latest, "pending_operations")

	if len(kept) == 0 {
		return nil
	}

	if latest["pending_operations"], err = json.Marshal(kept); err != nil {
		return fmt.Errorf("encoding pending operations: %w", err)
	}

	return nil
}

func textOf(raw json.RawMessage) string {
	var s string
	// What is no text equals no URN.
	_ = json.Unmarshal(raw, &s)

	return s
}
