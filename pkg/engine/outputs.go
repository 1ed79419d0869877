package engine

import (
	"encoding/json"
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
)

// secretText stands for every secret value.
const secretText = "[secret]"

// maxOutputs keeps outputs from breaking the protocol. The row allows less, but
// that is for the caller to judge.
const maxOutputs = 1 << 20

var errOutputsTooLarge = fmt.Errorf("the outputs are larger than %d bytes", maxOutputs)

// exportable makes the stack's outputs fit to be handed out. Engine events hold
// a secret as an object with a signature, which nothing of it survives.
func exportable(outputs map[string]any) (map[string]json.RawMessage, error) {
	exported := make(map[string]json.RawMessage, len(outputs))
	total := 0

	for name, value := range outputs {
		raw, err := json.Marshal(mask(value))
		if err != nil {
			return nil, fmt.Errorf("encoding output %s: %w", name, err)
		}

		if total += len(name) + len(raw); total > maxOutputs {
			return nil, errOutputsTooLarge
		}

		exported[name] = raw
	}

	return exported, nil
}

func mask(value any) any {
	switch v := value.(type) {
	case map[string]any:
		if signature, special := v[resource.SigKey]; special {
			return maskSpecial(signature, v)
		}

		masked := make(map[string]any, len(v))
		for name, element := range v {
			masked[name] = mask(element)
		}

		return masked
	case []any:
		masked := make([]any, 0, len(v))
		for _, element := range v {
			masked = append(masked, mask(element))
		}

		return masked
	default:
		return value
	}
}

// maskSpecial replaces what is no plain JSON. What is not known is taken for a
// secret.
func maskSpecial(signature any, v map[string]any) any {
	switch signature {
	case resource.ResourceReferenceSig:
		return v["urn"]
	case resource.AssetSig, resource.ArchiveSig:
		return "[asset]"
	default:
		return secretText
	}
}
