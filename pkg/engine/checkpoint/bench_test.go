package checkpoint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
	"github.com/lessor-dev/lessor/pkg/engine/checkpoint/checkpointtest"
)

// sizes are of the shipped enterprise tier and of a stack with hundreds of
// resources.
var sizes = []struct { //nolint:gochecknoglobals // a constant
	name  string
	bytes int
}{{"37KB", 37 << 10}, {"1MB", 1 << 20}}

func BenchmarkRead(b *testing.B) { benchmarkRead(b, checkpoint.Read) }

func BenchmarkOutline(b *testing.B) { benchmarkRead(b, checkpoint.Outline) }

func benchmarkRead(b *testing.B, read func([]byte) (checkpoint.State, error)) {
	b.Helper()

	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			data := checkpointtest.Sized(size.bytes)
			require.Equal(b, size.bytes, len(data)) //nolint:testifylint // a message with all of it helps nobody

			b.ReportAllocs()
			b.SetBytes(int64(len(data)))

			for b.Loop() {
				if s, err := read(data); err != nil || s.Empty() {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, size := range sizes {
		b.Run(size.name, func(b *testing.B) {
			s, err := checkpoint.Read(checkpointtest.Sized(size.bytes))
			require.NoError(b, err)

			b.ReportAllocs()

			for b.Loop() {
				if err := s.Verify(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
