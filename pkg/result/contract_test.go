package result_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The results that docs/contract.md shows are the golden files.
func TestTheContractIsUpToDate(t *testing.T) {
	t.Parallel()

	contract, err := os.ReadFile(filepath.Join("..", "..", "docs", "contract.md"))
	require.NoError(t, err)

	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)

	for _, file := range files {
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(contract), "```json\n"+string(want)+"```", "docs/contract.md must show %s as it is", file)
	}
}
