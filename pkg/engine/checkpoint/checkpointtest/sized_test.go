package checkpointtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/engine/checkpoint/checkpointtest"
)

func TestSizedIsSoundAndOfItsSize(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(4<<10, 64<<10).Draw(t, "size")
		data := checkpointtest.Sized(size)
		require.Equal(t, size, len(data)) //nolint:testifylint // a message with all of it helps nobody

		s, err := checkpoint.Read(data)
		require.NoError(t, err)
		require.False(t, s.Empty())
	})
}
