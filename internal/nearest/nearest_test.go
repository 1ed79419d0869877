package nearest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/internal/nearest"
)

func TestTo(t *testing.T) {
	t.Parallel()

	known := []string{"program", "parameters", "onCreate", "wave"}

	for name, c := range map[string]struct{ word, want string }{
		"a letter too many":     {"programm", "program"},
		"a letter is missing":   {"parameters", "parameters"},
		"neighbours swapped":    {"wvae", "wave"},
		"wrong letter":          {"wade", "wave"},
		"case":                  {"oncreate", "onCreate"},
		"nothing like it":       {"colour", ""},
		"short and all wrong":   {"xy", ""},
		"the empty word":        {"", ""},
		"too far from anything": {"parachute", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, nearest.To(c.word, known))
		})
	}
}

func TestToWithoutKnownWords(t *testing.T) {
	t.Parallel()
	require.Empty(t, nearest.To("wave", nil))
}
