package checkpoint

import (
	"encoding/json"
	"fmt"
)

// Unprotect ends the protection of every resource. Everything else in the
// checkpoint stays as it is.
func Unprotect(data []byte) ([]byte, error) {
	file, err := fields(data, "checkpoint")
	if err != nil {
		return nil, err
	}

	point, err := fields(file["checkpoint"], "latest")
	if err != nil {
		return nil, err
	}

	latest, err := fields(point["latest"], "resources")
	if err != nil {
		return nil, err
	}

	var resources []object
	if err := json.Unmarshal(latest["resources"], &resources); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrUnreadable, explain(err, len(latest["resources"])))
	}

	for _, r := range resources {
		delete(r, "protect")
	}

	for _, step := range []struct {
		into  object
		name  string
		value any
	}{
		{latest, "resources", resources}, {point, "latest", latest}, {file, "checkpoint", point},
	} {
		if step.into[step.name], err = json.Marshal(step.value); err != nil {
			return nil, fmt.Errorf("encoding the checkpoint: %w", err)
		}
	}

	unprotected, err := json.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("encoding the checkpoint: %w", err)
	}

	return unprotected, nil
}
