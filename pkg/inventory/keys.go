package inventory

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/kms"
	kmstypes "github.com/aws/aws-sdk-go-v2/service/kms/types"
)

// Keys is the part of KMS that is needed.
type Keys interface {
	DescribeKey(ctx context.Context, in *kms.DescribeKeyInput, opts ...func(*kms.Options)) (*kms.DescribeKeyOutput, error)
}

// Inspect marks the KMS keys among resources that wait for their deletion: they
// carry their tags for 7 to 30 days more, and nothing in the tags tells. A key
// that KMS does not know any more is left out. It makes one call for each key.
func (i *Inventory) Inspect(ctx context.Context, resources []Resource) ([]Resource, error) {
	inspected := make([]Resource, 0, len(resources))

	for _, r := range resources {
		name := parse(r.ARN)
		if i.keys == nil || name.service != serviceKMS || name.kind != kindKey {
			inspected = append(inspected, r)

			continue
		}

		// The id alone: the client is of the key's region, and stand-ins for
		// KMS do not all know ARNs.
		described, err := i.keys.DescribeKey(ctx, &kms.DescribeKeyInput{KeyId: &name.id})

		if _, gone := errors.AsType[*kmstypes.NotFoundException](err); gone {
			continue
		}

		if err != nil {
			return nil, fmt.Errorf("looking at key %s: %w", name.id, err)
		}

		if key := described.KeyMetadata; key != nil {
			r.PendingDeletion = key.KeyState == kmstypes.KeyStatePendingDeletion ||
				key.KeyState == kmstypes.KeyStatePendingReplicaDeletion
		}

		inspected = append(inspected, r)
	}

	return inspected, nil
}
