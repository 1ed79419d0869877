package event_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
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
		requireTold(t, contract, "`"+event.TypeName(kind)+"`")
	}

	for _, name := range goldenNames(t) {
		if kind := kindOf(t, name); kind == tenant.EventNudged || kind == tenant.EventDue {
			continue
		}

		want, err := os.ReadFile(filepath.Join("testdata", "valid", name+".json"))
		require.NoError(t, err)
		require.True(t, have[string(want)], "docs/contract.md must show testdata/valid/%s.json as it is", name)
	}

	for _, code := range event.Codes() {
		requireTold(t, contract, "\n| `"+code+"` |")
	}

	for _, kind := range tenant.Kinds() {
		requireTold(t, contract, "`"+string(kind)+"`")
	}
}

// requireTold does not print the whole document where something is missing.
func requireTold(t *testing.T, contract, what string) {
	t.Helper()

	require.True(t, strings.Contains(contract, what), "docs/contract.md must tell of %q", what) //nolint:testifylint // see above
}
