package event_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lessor-dev/lessor/pkg/event"
	"github.com/lessor-dev/lessor/pkg/tenant"
)

// The examples that upstream copies are the golden files, and every code and
// schema is told of.
func TestTheContractIsUpToDate(t *testing.T) {
	t.Parallel()

	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "contract.md"))
	require.NoError(t, err)

	contract := string(text)
	examples := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(contract, -1)

	have := map[string]bool{}
	for _, e := range examples {
		have[e[1]] = true
	}

	for _, kind := range event.Types() {
		require.Contains(t, contract, "`"+event.TypeName(kind)+"`")

		if kind == tenant.EventNudged {
			continue
		}

		want, err := os.ReadFile(filepath.Join("testdata", "valid", string(kind)+".json"))
		require.NoError(t, err)
		require.True(t, have[string(want)], "docs/contract.md must show testdata/valid/%s.json as it is", kind)
	}

	for _, code := range event.Codes() {
		require.Contains(t, contract, "\n| `"+code+"` |")
	}

	for _, kind := range tenant.Kinds() {
		require.Contains(t, contract, "`"+string(kind)+"`", "reason code")
	}
}
