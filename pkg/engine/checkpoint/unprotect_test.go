package checkpoint_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/engine/checkpoint"
)

func TestUnprotect(t *testing.T) {
	t.Parallel()

	want := sound()
	protected := sound()

	for i := range protected {
		want[i].Protect, protected[i].Protect = false, true
	}

	unprotected, err := checkpoint.Unprotect(encode(t, protected))
	require.NoError(t, err)

	state, err := checkpoint.Read(unprotected)
	require.NoError(t, err)
	require.Equal(t, want, state.Resources)

	for _, bad := range []string{
		"", "{}", `{"checkpoint":{}}`, `{"checkpoint":{"latest":{}}}`, `{"checkpoint":{"latest":{"resources":1}}}`,
	} {
		_, err := checkpoint.Unprotect([]byte(bad))
		require.ErrorIs(t, err, checkpoint.ErrUnreadable, bad)
	}
}
