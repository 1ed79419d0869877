package checkpoint_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
)

// FuzzRead: no input brings the reader down, every refusal is one short line
// under one of two sentinels, a stamp changes nothing, and an outline says the same.
func FuzzRead(f *testing.F) {
	for _, name := range []string{"fresh", "full", "pending"} {
		data := fixture(f, name)
		f.Add(data)
		f.Add(data[:len(data)/2])
		f.Add([]byte(strings.Replace(string(data), "::eu::", "::gone::", 1)))
		f.Add([]byte(strings.Replace(string(data), `"parent":"urn`, `"parent":"nru`, 1)))
	}

	f.Add(checkpoint.Blank("lessor", "tenant"))

	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := checkpoint.Read(data)

		again, errAgain := checkpoint.Read(append(slices.Clip(data), " \t\n"...))
		require.Equal(t, s, again)

		for _, sentinel := range []error{checkpoint.ErrUnreadable, checkpoint.ErrIntegrity} {
			require.Equal(t, errors.Is(err, sentinel), errors.Is(errAgain, sentinel))
		}

		s.Empty()

		// A number in a property may be too large for Read, which Outline passes over.
		outline, errOutline := checkpoint.Outline(data)
		if !errors.Is(err, checkpoint.ErrUnreadable) {
			require.Equal(t, withoutProperties(s), outline)
			require.Equal(t, err, errOutline)
		}

		if err == nil {
			require.NoError(t, s.Verify())

			return
		}

		require.NotContains(t, err.Error(), "\n")
		require.NotEqual(t, errors.Is(err, checkpoint.ErrUnreadable), errors.Is(err, checkpoint.ErrIntegrity))
	})
}
