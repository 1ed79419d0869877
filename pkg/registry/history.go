package registry

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/lessor-dev/lessor/pkg/tenant"
)

// historyDocument encodes the last operations, and forgets the oldest ones where
// all of them together are too long.
func historyDocument(history []tenant.Past) (types.AttributeValue, error) {
	for {
		encoded, err := document(history)
		if err != nil || len(textOf(encoded)) <= maxHistoryBytes || len(history) == 0 {
			return encoded, err
		}

		history = history[:len(history)-1]
	}
}
